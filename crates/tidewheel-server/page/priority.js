// Another priority: the order is shown as it is and as it would be, before anything is changed.
import { ask, dialog, element, quoted, short, toast } from './acts.js';

const LEVELS = { critical: 100, high: 80, normal: 50, low: 20, background: 0 };
const SHOWN = 12;

const time = (seconds) => (seconds === undefined ? 'nobody knows when' : seconds < 1 ? 'at once' : seconds < 100 ? `in ${Math.round(seconds)} s` : `in ${Math.round(seconds / 60)} min`);
const same = (one) => (other) => one.run_id === other.run_id && one.step === other.step;

/** What becomes of those whose priority it is, in a sentence. */
function summary({ before, after }) {
  const place = after.findIndex((it) => it.changed), it = after[place];
  if (!it) return 'No step waits that would have it.';
  const was = before.findIndex(same(it)), other = before[was];
  if (was === place) return `It stays at place ${place + 1}, and starts ${time(it.expected_start_seconds)}.`;
  return `It would be at place ${place + 1} instead of ${was + 1}, and start ${time(it.expected_start_seconds)} instead of ${time(other?.expected_start_seconds)}.`;
}

function rows({ before, after, more }) {
  const row = (it, place) => {
    const was = before.findIndex(same(it)), moved = was < 0 || was === place ? '' : was > place ? `↑ from ${was + 1}` : `↓ from ${was + 1}`;
    return element('tr', { class: it.changed ? 'changed' : undefined }, element('td', { class: 'number dim' }, `${place + 1}`),
      element('th', { scope: 'row' }, element('bdi', {}, it.step), element('div', { class: 'dim small' }, element('bdi', {}, it.flow ?? it.run_id))),
      element('td', { class: 'number' }, `${it.priority}`), element('td', { class: 'dim' }, moved), element('td', { class: 'number' }, time(it.expected_start_seconds)));
  };
  const rest = Math.max(0, after.length - SHOWN) + more;
  const head = ['No.', 'Step', 'Priority', 'Moves', 'Expected'].map((name) => element('th', {}, name));
  return [element('p', {}, element('b', {}, summary({ before, after }))),
    element('table', { class: 'small-table' }, element('thead', {}, element('tr', {}, ...head)), element('tbody', {}, ...after.slice(0, SHOWN).map(row))),
    rest > 0 && element('p', { class: 'dim small' }, `${rest} more wait behind these.`)].filter(Boolean);
}

/** Asks which priority a step of a run, or all of it, shall have, shows the order, and changes it. */
export async function raise(run, step, now) {
  const address = `/runs/${encodeURIComponent(run)}/priority`;
  const value = element('input', { type: 'number', name: 'priority', min: 0, max: 100, step: 1, required: true, value: Object.values(LEVELS).reverse().find((it) => it > now) ?? 100 });
  const whole = element('input', { type: 'checkbox', name: 'whole' });
  const order = element('div', { class: 'order', role: 'status' });
  const wish = () => ({ step: whole.checked ? null : step, priority: Number(value.value) });
  const command = () => `tidewheel priority ${short(run)}${whole.checked ? '' : ` ${quoted(step)}`} ${value.value}`;
  let newest = 0;
  const look = async () => {
    const number = ++newest;
    if (!value.validity.valid) return;
    const content = await ask('POST', `${address}/preview`, wish()).then(rows, (error) => [element('p', { class: 'late' }, error.message)]);
    if (number === newest) order.replaceChildren(...content);
  };
  await look();
  for (const field of [value, whole]) field.addEventListener('input', look);
  const level = ([name, number]) => element('button', { type: 'button', onclick: () => ((value.value = number), value.dispatchEvent(new Event('input', { bubbles: true }))) }, name);
  const content = [element('p', {}, element('bdi', {}, step), element('span', { class: 'dim' }, ` has priority ${now}.`)),
    element('label', {}, 'Priority, 0 to 100 ', value), element('div', { class: 'levels', role: 'group', 'aria-label': 'Levels' }, ...Object.entries(LEVELS).map(level)),
    element('label', {}, whole, ' Of the whole run, but for steps that were given their own'), order];
  if (!(await dialog('Change the priority', content, { yes: 'Change it', command }))) return;
  const changed = await ask('POST', address, wish());
  toast(changed.heard ? `Priority ${changed.priority}.` : 'It was asked for, and has not been answered yet.');
}

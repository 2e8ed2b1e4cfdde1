// What can be done: buttons say it in their attributes, dialogs show first what would come of it.
import { refresh } from './live.js';
import { base } from './times.js';
import { track } from './updates.js';

const api = `${base}/api/v1`;
let word;

/** Asks the server to do something; throws what it says if it does not. */
export const ask = (method, path, body) => track(answerOf(method, path, body));

async function answerOf(method, path, body) {
  word ??= (await (await fetch(`${api}/me`)).json()).csrf;
  const headers = { 'X-Tidewheel-CSRF': word || '' };
  if (body !== undefined) headers['Content-Type'] = 'application/json';
  const answer = await fetch(api + path, { method, headers, body: body === undefined ? undefined : JSON.stringify(body) });
  const document = await answer.json().catch(() => ({}));
  if (answer.ok) return document;
  throw Object.assign(new Error(document.detail || `the server said ${answer.status}`), { hint: document.hint, status: answer.status });
}

export function element(name, attributes = {}, ...children) {
  const it = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith('on')) it.addEventListener(key.slice(2), value);
    else if (value !== undefined && value !== false) it.setAttribute(key, value === true ? '' : value);
  }
  it.append(...children.filter((child) => child !== undefined && child !== false));
  return it;
}

export function toast(text, { undo, bad, command } = {}) {
  const it = element('div', { class: bad ? 'toast bad' : 'toast', role: bad ? 'alert' : 'status' }, element('span', {}, text));
  if (command) it.append(shell(command));
  if (undo) it.append(element('button', { type: 'button', onclick: () => (it.remove(), undo()) }, 'Undo'));
  document.getElementById('toasts').append(it);
  setTimeout(() => it.remove(), bad ? 12000 : 7000);
}

const complain = (error) => toast(error.hint ? `${error.message}. ${error.hint}` : error.message, { bad: true });

/** One press at a time. The button is not disabled: it would lose the focus. */
export async function attempt(button, work) {
  if (button.hasAttribute('aria-disabled')) return;
  button.setAttribute('aria-disabled', 'true');
  try {
    await work();
    refresh(0);
  } catch (error) {
    complain(error);
  } finally {
    button.removeAttribute('aria-disabled');
  }
}

/** A command to be copied, with the mouse or with Enter. */
const shell = (text) => element('code', { class: 'command', tabindex: 0 }, text);

/** A dialog; resolves to what was entered, or to nothing. Its command is a text, or made of what is entered so far. */
export function dialog(title, content, { yes = 'Yes', command, danger } = {}) {
  return new Promise((resolve) => {
    const form = element('form', { method: 'dialog' }, element('h2', {}, title), ...content);
    if (command) {
      const shown = shell('');
      const say = () => (shown.textContent = typeof command === 'function' ? command(Object.fromEntries(new FormData(form))) : command);
      form.append(element('p', { class: 'dim small' }, 'The same from a shell:'), shown);
      form.addEventListener('input', say);
      say();
    }
    form.append(element('div', { class: 'acts' },
      // Not one that submits: Enter in a field means yes.
      element('button', { type: 'button', onclick: () => it.close('no') }, 'Leave it'),
      element('button', { value: 'yes', class: danger ? 'primary danger' : 'primary' }, yes)));
    const it = element('dialog', { 'aria-label': title }, form);
    it.addEventListener('close', () => {
      const values = Object.fromEntries(new FormData(form));
      it.remove();
      resolve(it.returnValue === 'yes' ? values : undefined);
    });
    document.body.append(it);
    it.showModal();
    form.querySelector('input, textarea, .primary').focus();
  });
}

export const bold = (text) => element('b', {}, `${text}`);
export const short = (run) => run.slice(0, 13);
export const quoted = (text) => (/^[\w.\/:=@%+,-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`);
const list = (names) => element('ul', {}, ...names.slice(0, 50).map((name) => element('li', {}, element('bdi', {}, name))),
  names.length > 50 && element('li', { class: 'dim' }, `${names.length - 50} more`));

async function retry(run, from, note) {
  const wish = { from }, address = `/runs/${run}/retry`;
  const preview = await ask('POST', `${address}/preview`, wish), changed = preview.changed_files ?? [];
  const content = [note && element('p', { class: 'late', role: 'alert' }, note),
    element('p', {}, bold(preview.run_again.length), ' to be run again, ', bold(preview.reused.length), ' reused as they are.'), list(preview.run_again),
    changed.length > 0 && element('p', { class: 'late' }, `What it was started with counts, although these say something else by now: ${changed.join(', ')}.`)];
  const command = `tidewheel retry ${short(run)}${from ? ` --from ${quoted(from)}` : ''}`;
  if (!(await dialog(from ? `Retry from ${from}` : 'Retry', content.filter(Boolean), { yes: 'Retry', command }))) return;
  try {
    const started = await ask('POST', address, { ...wish, preview: preview.digest });
    location.assign(`${base}/runs/${started.run_id}`);
  } catch (error) {
    const now = error.status === 409 && (await ask('POST', `${address}/preview`, wish).catch(() => undefined));
    if (!now || now.digest === preview.digest) throw error;
    await retry(run, from, 'Something has changed meanwhile, and nothing was done. This is what it would do now.');
  }
}

/** Ends a run, or one step of it, once somebody has said yes. */
async function end(run, step, [title, yes, done], ...content) {
  const command = `tidewheel cancel ${short(run)}${step ? ` ${quoted(step)}` : ''}`;
  if (!(await dialog(title, [element('p', {}, ...content)], { yes, command, danger: true }))) return;
  const asked = await ask('POST', `/runs/${run}/cancel`, { step });
  toast(asked.heard ? done : 'It was asked to end, and has not answered yet.');
}

async function cancel(run) {
  const { letters } = await ask('GET', `/runs/${run}/steps?limit=0`);
  const [running, left] = ['R', 'P'].map((letter) => letters.split(letter).length - 1);
  await end(run, undefined, ['Cancel the run', 'Cancel the run', 'Cancelled.'],
    bold(running), ` running step${running === 1 ? ' is' : 's are'} told to stop, `, bold(left), ` ${left === 1 ? 'is' : 'are'} never started. What cleans up is still done.`);
}

const skip = (run, step) => end(run, step, [`Skip ${step}`, 'Skip it', 'Skipped.'], 'It is ended, or never begun. What needs it is skipped; everything else goes on.');

async function answer(run, step, isYes) {
  const { approvals } = await ask('GET', '/approvals');
  const wantsCode = isYes && approvals.some((it) => it.run_id === run && it.step === step && it.wants_code);
  const field = wantsCode ? ['One-time code ', element('input', { name: 'code', type: 'password', autocomplete: 'one-time-code', required: true })]
    : ['Note ', element('input', { name: 'note', autocomplete: 'off' })];
  const content = [element('p', {}, element('bdi', {}, step)), element('label', {}, ...field)];
  const word = isYes ? (wantsCode ? ' --code' : '') : ' --reject';
  const command = ({ note }) => `tidewheel approve ${short(run)} ${quoted(step)}${word}${note ? ` --note ${quoted(note)}` : ''}`;
  const values = await dialog(isYes ? 'Say yes' : 'Say no', content, { yes: isYes ? 'Yes' : 'No, reject it', command });
  if (!values) return;
  const { name } = await ask('GET', '/me');
  await ask('POST', `/runs/${run}/steps/${encodeURIComponent(step)}/answer`, { approved: isYes, by: name, note: values.note || null, ...(wantsCode && { code: values.code }) });
  toast(isYes ? 'Approved.' : 'Rejected.');
}

async function backfill(schedule) {
  const content = [
    element('label', {}, element('input', { type: 'checkbox', name: 'missed', checked: true }), ' Only instants that did not run'),
    ...['From', 'Until'].map((word) => element('label', {}, `${word} `, element('input', { type: 'datetime-local', name: word.toLowerCase() }))),
    element('label', {}, element('input', { type: 'checkbox', name: 'at_once' }), ' Beside each other instead of one after the other')];
  const at = (text) => (text ? new Date(text).toISOString() : null);
  const wishOf = ({ missed, at_once, from, until }) => ({ missed: missed === 'on', at_once: at_once === 'on', from: at(from), until: at(until) });
  const command = (values) => {
    const { missed, at_once, from, until } = wishOf(values);
    return [`tidewheel schedule backfill ${quoted(decodeURIComponent(schedule))}`, missed && '--missed', from && `--from ${from}`, until && `--until ${until}`, at_once && '--at-once'].filter(Boolean).join(' ');
  };
  const values = await dialog('Backfill', content, { yes: 'Look at them…', command });
  if (!values) return;
  const wish = wishOf(values), { next } = await ask('POST', `/schedules/${schedule}/backfill/preview`, wish);
  if (next.length === 0) return toast('There is nothing to fire.');
  const instants = [element('p', {}, bold(next.length), ` to be fired, ${wish.at_once ? 'beside each other' : 'one after the other'}.`), list(next.map((it) => it.local))];
  if (!(await dialog('Backfill', instants, { yes: 'Fire them', command: command(values) }))) return;
  // Never more than were shown.
  const asked = await ask('POST', `/schedules/${schedule}/backfill`, { ...wish, max: next.length });
  toast(`${asked.firings ?? 0} firings were asked for.`);
}

const copy = (command) => navigator.clipboard && track(navigator.clipboard.writeText(command.textContent)).then(() => toast('Copied.'), () => toast('It cannot be copied here.', { bad: true }));
document.addEventListener('keydown', (event) => event.key === 'Enter' && event.target.matches?.('code.command') && (event.preventDefault(), copy(event.target)));

document.addEventListener('click', (event) => {
  const button = event.target.closest('button');
  const command = event.target.closest('code.command');
  if (command) return void copy(command);
  if (!button) return;
  // As they are now: when it has been done, the button may be for something else.
  const data = { ...button.dataset };
  const work = data.do ? async () => {
    await ask('POST', data.do);
    toast(data.said || 'Done.', { undo: data.undo && (() => attempt(button, () => ask('POST', data.undo))), command: data.command });
  } : data.remove ? async () => {
    if (!(await dialog('Are you sure?', [element('p', {}, data.ask)], { yes: 'End it', danger: true, command: data.command }))) return;
    await ask('DELETE', data.remove);
    toast(data.said);
  } : data.retry ? () => retry(data.retry, data.from)
    : data.cancel ? () => cancel(data.cancel)
    : data.skip ? () => skip(data.skip, data.step)
    : data.answer ? () => answer(data.run, data.step, data.answer === 'yes')
    : data.backfill ? () => backfill(data.backfill)
    : data.priority && (async () => (await track(import('./priority.js'))).raise(data.run, data.step, Number(data.priority)));
  if (work) attempt(button, work);
});

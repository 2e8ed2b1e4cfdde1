// Runs that are picked from a list, and what is done with all of them; and views, which are addresses under a name.
import { ask, attempt, bold, dialog, element, short, toast } from './acts.js';
import { onEvent } from './live.js';
import { base } from './times.js';

const bar = document.getElementById('picked');
const boxes = () => [...document.querySelectorAll('[data-pick]')];
const picked = () => boxes().filter((box) => box.checked);

function show() {
  const all = picked();
  bar.hidden = !all.length;
  bar.firstElementChild.textContent = `${all.length} selected`;
  const goOn = all.filter((box) => 'goesOn' in box.dataset).length;
  bar.querySelector('[data-bulk=cancel]').disabled = !goOn;
  bar.querySelector('[data-bulk=retry]').disabled = goOn === all.length;
  const whole = document.querySelector('[data-pick-all]');
  if (whole) [whole.checked, whole.indeterminate] = [all.length > 0 && all.length === boxes().length, all.length > 0 && all.length < boxes().length];
}

const commands = (word, runs) => (runs.length === 1 ? `tidewheel ${word} ${short(runs[0])}` : `for run in ${runs.map(short).join(' ')}; do tidewheel ${word} $run; done`);

/** One after the other, and what was refused is said at the end. */
async function each(runs, doing, done) {
  const refused = [];
  for (const [place, run] of runs.entries()) {
    bar.firstElementChild.textContent = `${place + 1} of ${runs.length}`;
    await doing(run).catch((error) => refused.push(`${short(run)}: ${error.message}`));
  }
  toast(`${runs.length - refused.length} ${done}${refused.length ? `; ${refused.length} refused: ${refused[0]}` : ''}`, { bad: refused.length > 0 });
  for (const box of picked()) box.checked = false;
  show();
}

async function cancel(runs) {
  const content = [element('p', {}, bold(runs.length), ` run${runs.length > 1 ? 's' : ''} of those selected go on. They are told to stop; what cleans up is still done.`)];
  if (!(await dialog('Cancel runs', content, { yes: `Cancel ${runs.length}`, command: commands('cancel', runs), danger: true }))) return;
  await each(runs, (run) => ask('POST', `/runs/${run}/cancel`, {}), 'cancelled');
}

async function retry(runs) {
  let again = 0, reused = 0;
  const able = new Map(), unable = [];
  for (const run of runs) {
    try {
      const preview = await ask('POST', `/runs/${run}/retry/preview`, {});
      [again, reused] = [again + preview.run_again.length, reused + preview.reused.length];
      able.set(run, preview.digest);
    } catch (error) {
      unable.push(`${short(run)}: ${error.message}`);
    }
  }
  if (!able.size) return toast(unable[0], { bad: true });
  const content = [element('p', {}, bold(able.size), ` run${able.size > 1 ? 's' : ''}: `, bold(again), ' steps to be run again, ', bold(reused), ' reused as they are.'),
    unable.length > 0 && element('p', { class: 'late' }, `${unable.length} cannot be: ${unable[0]}`)];
  if (!(await dialog('Retry runs', content.filter(Boolean), { yes: `Retry ${able.size}`, command: commands('retry', [...able.keys()]) }))) return;
  await each([...able.keys()], (run) => ask('POST', `/runs/${run}/retry`, { preview: able.get(run) }), 'started again');
}

if (bar) {
  document.addEventListener('change', ({ target }) => {
    if ('pickAll' in target.dataset) for (const box of boxes()) box.checked = target.checked;
    if ('pickAll' in target.dataset || 'pick' in target.dataset) show();
  });
  bar.addEventListener('click', ({ target }) => {
    const runs = (goOn) => picked().filter((box) => 'goesOn' in box.dataset === goOn).map((box) => box.dataset.pick);
    const { bulk } = target.dataset;
    if (bulk === 'cancel') attempt(target, () => cancel(runs(true)));
    else if (bulk === 'retry') attempt(target, () => retry(runs(false)));
    else if (bulk) {
      for (const box of picked()) box.checked = false;
      show();
    }
  });
  onEvent((happened) => happened?.what === 'refreshed' && show());
  // A browser that goes back fills in what was picked.
  show();
}

// Views of this browser; the address is the view, so any of them can be sent.
const KEPT = 'tidewheel-views';
export const views = () => JSON.parse(localStorage.getItem(KEPT) ?? '[]');
const keepAll = (all) => (localStorage.setItem(KEPT, JSON.stringify(all)), draw());
function draw() {
  const place = document.getElementById('views');
  place?.replaceChildren(...views().map(({ name, query }) => element('span', { class: 'view' },
    element('a', { href: `${base}/runs${query}`, 'aria-current': location.search === query && 'page' }, element('bdi', {}, name)),
    element('button', { type: 'button', class: 'quiet', 'aria-label': `Forget ${name}`, onclick: () => keepAll(views().filter((it) => it.name !== name)) }, '×'))));
}
draw();
document.getElementById('keep')?.addEventListener('click', async () => {
  const values = await dialog('Keep this view', [element('label', {}, 'Name ', element('input', { name: 'name', required: true, maxlength: 40, autocomplete: 'off' }))], { yes: 'Keep it' });
  if (values?.name) keepAll([...views().filter((it) => it.name !== values.name), { name: values.name, query: location.search }]);
});

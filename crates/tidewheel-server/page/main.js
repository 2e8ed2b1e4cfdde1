// Enlivens a page that the server has made: without it everything can be read, and commands say what to do instead.
import { base, localise } from './times.js';
import { loadChunks } from './parts.js';
import { begin, onEvent } from './live.js';
import { track } from './updates.js';
import './acts.js';
import './keys.js';
import './palette.js';

const root = document.documentElement;
root.classList.add('script');
localise(document);
loadChunks(document);

// On a narrow screen the bar is longer than what is seen of it.
document.querySelector('.bar nav [aria-current]')?.scrollIntoView({ block: 'nearest', inline: 'center' });

const main = document.getElementById('main'), log = document.getElementById('log');
function show({ mountLog }) {
  const { grown, ready } = mountLog(log, { ...log.dataset, api: `${base}/api/v1`, begin: document.getElementById('lines')?.href, track });
  track(ready);
  onEvent((happened) => happened?.what === 'log' && grown(happened));
  if (document.activeElement === document.body) log.querySelector('.log-view').focus({ preventScroll: true });
}
// Whoever is to hear of something is there before it is told.
const hearing = track(main.dataset.view ? import('./run.js').then((it) => it.run(main)) : log ? import('./log.js').then((it) => show(it)) : Promise.resolve());
if (document.getElementById('lamp')) hearing.finally(begin);
const picture = !main.dataset.view && document.querySelector('.picture');
if (picture) track(import('./picture.js').then((it) => it.zoomable(picture)));
if (document.getElementById('p-runs')) track(import('./runs.js'));
if (document.getElementById('form')) track(import('./form.js'));
document.getElementById('theme')?.addEventListener('click', () => {
  const isDark = root.dataset.theme ? root.dataset.theme === 'dark' : matchMedia('(prefers-color-scheme: dark)').matches;
  root.dataset.theme = isDark ? 'light' : 'dark';
  document.cookie = `tidewheel-theme=${root.dataset.theme}; Path=/; Max-Age=31536000; SameSite=Strict`;
});

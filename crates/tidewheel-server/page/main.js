// Enlivens a page that the server has made: without it everything can be read, and commands say what to do instead.
import { base, localise } from './times.js';
import { loadChunks } from './parts.js';
import { begin } from './live.js';
import './acts.js';
import './keys.js';
import './palette.js';

const root = document.documentElement;
root.classList.add('script');
localise(document);
loadChunks(document);

const main = document.getElementById('main');
// Whoever is to hear of something is there before it is told.
const hearing = main.dataset.run ? import('./run.js').then((it) => it.run(main)) : Promise.resolve();
if (document.getElementById('lamp')) hearing.finally(begin);
if (document.getElementById('p-runs')) import('./runs.js');
if (document.getElementById('form')) import('./form.js');
const log = document.getElementById('log');
if (log) {
  import('./log.js').then((it) => it.mountLog && it.mountLog(log, { ...log.dataset, api: `${base}/api/v1` }));
}

document.getElementById('theme')?.addEventListener('click', () => {
  const isDark = root.dataset.theme ? root.dataset.theme === 'dark' : matchMedia('(prefers-color-scheme: dark)').matches;
  root.dataset.theme = isDark ? 'light' : 'dark';
  document.cookie = `tidewheel-theme=${root.dataset.theme}; Path=/; Max-Age=31536000; SameSite=Strict`;
});

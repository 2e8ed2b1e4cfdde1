// Keys that work everywhere. None does anything in a field, and all single ones can be switched off.
import { base } from './times.js';

const OFF = 'tidewheel-keys-off';
const isOff = () => localStorage.getItem(OFF) === 'yes';
const box = document.getElementById('keys-off');
if (box) {
  box.checked = isOff();
  box.addEventListener('change', () => localStorage.setItem(OFF, box.checked ? 'yes' : 'no'));
}

const rows = () => [...document.querySelectorAll('[data-row]')].filter((row) => row.offsetParent);
function move(by) {
  const all = rows();
  if (!all.length) return;
  const here = all.findIndex((row) => 'here' in row.dataset);
  const next = all[Math.min(Math.max(here + by, 0), all.length - 1)];
  if (here >= 0) delete all[here].dataset.here;
  next.dataset.here = '';
  next.scrollIntoView({ block: 'nearest' });
  const link = next.querySelector('a');
  link?.focus({ preventScroll: true });
}

export const inField = (target) => target.closest?.('input, textarea, select, [contenteditable], dialog');
let isGoing = 0;

document.addEventListener('keydown', (event) => {
  if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return;
  if (inField(event.target)) {
    if (event.key === 'Escape' && !event.target.closest('dialog')) event.target.blur();
    return;
  }
  if (isOff() || document.querySelector('#log[data-mounted]:focus-within')) return;
  const { key } = event;
  if (performance.now() < isGoing) {
    isGoing = 0;
    const entry = document.querySelector(`.bar nav a[data-key="${CSS.escape(key)}"]`);
    if (entry) return void (event.preventDefault(), entry.click());
  }
  const click = (selector) => {
    const it = document.querySelector(selector);
    if (it) (event.preventDefault(), it.click());
  };
  if (key === 'g') isGoing = performance.now() + 1500;
  else if (key === 'j') move(1);
  else if (key === 'k') move(-1);
  else if (key === 'x') click('[data-here] [data-pick]');
  else if (key === '?') location.assign(`${base}/keys`);
  else if (key === '.') click('main .acts button, main .acts .button');
  else if (key === '/') {
    const field = document.querySelector('[data-slash]');
    if (field) (event.preventDefault(), field.focus(), field.select());
  } else if (/^[1-9]$/.test(key)) click(`[data-digit="${key}"]`);
  else if (/^[a-z]$/i.test(key)) click(`[data-letter="${key}"]`);
});

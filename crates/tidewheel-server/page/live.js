// What happens, as it happens: one stream a page, of its run and its log if it has one, and a lamp that says whether there is one.
import { fetchPage, replaceParts } from './parts.js';
import { base, stopClocks } from './times.js';
import { pause, track } from './updates.js';

const main = document.getElementById('main');
const lamp = document.getElementById('lamp');
const hears = new Set((main.dataset.hears || '').split(' ').filter(Boolean));
const listeners = new Set();
// The server says something every fifteen seconds.
const SILENCE = 35000;
let at = document.documentElement.dataset.at;
let stream, silence, retry, wait = 1000, isLost = false, lostAt, missedFrom;

/** Calls back with everything that happens on this page, or with nothing after a gap. */
export const onEvent = (listener) => listeners.add(listener);

let pending, isAsking = false, again, last = 0, due;
/** Asks for the page again, soon, and at most so often. What happens while it is asked for may not be in the answer. */
export function refresh(least = 1000) {
  if (isAsking) return void (again = Math.min(again ?? least, least));
  if (pending) return;
  const wait = Math.max(30, last + least - performance.now());
  // Only what is due at once is an update that is pending: with events that come all the time there is always one that is due later.
  pending = (least ? new Promise((resolve) => setTimeout(resolve, wait)) : pause(wait)).then(() => track(load()));
}

async function load() {
  [pending, isAsking] = [undefined, true];
  try {
    // Where it is said, a page stays about what it was about when it was opened.
    const fresh = await fetchPage(main.dataset.src ?? location.href);
    replaceParts(fresh);
    aim();
    if (missedFrom) catchUp(fresh.documentElement.dataset.at);
    for (const listener of listeners) listener({ what: 'refreshed', fresh });
  } catch { /* the lamp says it */ }
  [last, isAsking] = [performance.now(), false];
  if (again !== undefined) refresh(again);
  again = undefined;
}

// Some of what is shown is ended by time alone, of which nobody tells: the page says when that is next.
function aim() {
  clearTimeout(due);
  const next = [...document.querySelectorAll('[data-due]')].map((it) => Date.parse(it.dataset.due)).filter((at) => at > Date.now());
  if (next.length) due = setTimeout(() => !document.hidden && !isLost && refresh(), Math.min(2 ** 31 - 1, Math.min(...next) - Date.now() + 250));
}

/** Says that what was missed is here, for a while, and how much it was where everything is heard. Numbers of another server count something else. */
function catchUp(now) {
  const [[epoch, from], [is, to]] = [missedFrom.split(':'), now.split(':')];
  missedFrom = undefined;
  if (isLost) return;
  show('live', epoch === is && !main.dataset.run ? `caught up: ${to - from || 'no'} change${to - from === 1 ? '' : 's'}` : 'caught up');
  setTimeout(() => !isLost && show('live', 'live'), 8000);
}

function show(state, text) {
  // Of much that happens nothing is to be seen here.
  if (lamp.dataset.state === state && lamp.lastElementChild.textContent === text) return;
  lamp.dataset.state = state;
  lamp.lastElementChild.textContent = text;
  document.documentElement.classList.toggle('lost', state === 'lost');
  stopClocks(state === 'lost');
}

function alive() {
  clearTimeout(silence);
  silence = setTimeout(lose, SILENCE);
  wait = 1000;
  if (isLost) {
    isLost = false;
    // A server that was stopping has stopped.
    for (const button of document.querySelectorAll('[data-drained]')) Object.assign(button, { disabled: false, title: '' });
    refresh(0);
  }
  if (!lamp.lastElementChild.textContent.startsWith('caught')) show('live', 'live');
}

function lose() {
  stream?.close();
  stream = undefined;
  clearTimeout(silence);
  if (!isLost) [lostAt, missedFrom] = [new Date(), at];
  isLost = true;
  let left = Math.ceil((wait * (0.75 + Math.random() / 2)) / 1000);
  wait = Math.min(wait * 2, 30000);
  clearInterval(retry);
  const tick = () => {
    show('lost', `not live since ${lostAt.toLocaleTimeString()}, again in ${left} s`);
    if (left-- <= 0) {
      clearInterval(retry);
      open();
    }
  };
  tick();
  retry = setInterval(tick, 1000);
  leave();
}

/** A session ends with its server: whoever is not known any more is told so, and not asked to wait. */
async function leave() {
  const answer = await fetch(`${base}/api/v1/me`).catch(() => undefined);
  if (answer?.status !== 401 || !isLost) return;
  clearInterval(retry);
  show('lost', 'logged out');
  say('Your session has ended. On the machine of the server, tidewheel login makes a link that logs you in again.');
}

/** A sentence above the page. */
function say(textContent) {
  document.getElementById('bands').replaceChildren(Object.assign(document.createElement('p'), { className: 'band', textContent }));
}

function hear(event) {
  alive();
  if (event.lastEventId) at = event.lastEventId;
  const happened = JSON.parse(event.data);
  for (const listener of listeners) listener(happened);
  const isOwn = (what) => !main.dataset[what] || !happened[what] || happened[what] === main.dataset[what];
  if (hears.has(happened.what) && isOwn('flow') && isOwn('step')) refresh();
}

function drain() {
  alive();
  if (document.querySelector('.band')) return;
  say('The server is stopping: running steps finish, nothing new starts.');
  for (const button of document.querySelectorAll('#form [type=submit]:enabled')) Object.assign(button, { disabled: true, title: 'Nothing new starts: the server is stopping.' }).dataset.drained = '';
}

function open() {
  clearInterval(retry);
  if (stream || document.hidden) return;
  const { run, step, log } = main.dataset, of = new URLSearchParams({ ...(run && { run }), ...(log !== undefined && { log: step }), after: at });
  stream = new EventSource(`${base}/api/v1/events?${of}`);
  stream.addEventListener('open', alive);
  stream.addEventListener('happened', hear);
  stream.addEventListener('quiet', alive);
  stream.addEventListener('log', (event) => {
    alive();
    for (const listener of listeners) listener({ ...JSON.parse(event.data), what: 'log' });
  });
  stream.addEventListener('gap', () => {
    missedFrom ??= at;
    alive();
    for (const listener of listeners) listener(undefined);
    refresh(0);
  });
  stream.addEventListener('drain', drain);
  stream.addEventListener('error', lose);
  silence = setTimeout(lose, SILENCE);
}

/** Opens the stream, and closes it while nobody looks. */
export function begin() {
  show('begin', 'connecting');
  open();
  let hidden;
  document.addEventListener('visibilitychange', () => {
    clearTimeout(hidden);
    if (!document.hidden) {
      if (!stream) {
        open();
        refresh(0);
      }
      return;
    }
    hidden = setTimeout(() => {
      stream?.close();
      stream = undefined;
      clearTimeout(silence);
    }, 5000);
  });
  addEventListener('online', () => !stream && open());
  // Whoever logs in does it in another tab, and comes back.
  addEventListener('focus', () => !stream && open());
  addEventListener('pageshow', (event) => event.persisted && (open(), refresh(0)));
  addEventListener('pagehide', () => (stream?.close(), (stream = undefined)));
  aim();
}

// A run as it goes on: states change where they stand, the panel shows the step that was chosen, pictures have a size.
import { onEvent, refresh } from './live.js';
import { fill, partOf } from './parts.js';
import { inField } from './keys.js';
import { base } from './times.js';

const WORDS = { P: 'pending', R: 'running', S: 'succeeded', F: 'failed', K: 'skipped', C: 'cancelled', U: 'unknown' };
const LETTERS = Object.fromEntries(Object.entries(WORDS).map(([letter, word]) => [word, letter]));
const WORST = 'FURCPKS';
// With so many steps only what changed is changed; with fewer the server makes the parts anew.
const MANY = 300;

export function run(main) {
  const id = main.dataset.run;
  const holder = document.getElementById('letters');
  let letters = [...holder.dataset.letters];
  const isLarge = letters.length > MANY;
  let nodes = new Map();
  const places = new Map();
  let dirty = new Set(), frame;

  function collect() {
    nodes = new Map();
    // With links in it, it is no mere image.
    document.querySelector('.picture svg')?.setAttribute('role', 'group');
    for (const node of document.querySelectorAll('.picture [data-step]')) {
      nodes.set(node.dataset.step, node);
      node.setAttribute('tabindex', '0');
      node.setAttribute('role', 'link');
    }
  }

  function columnsOf(place) {
    const strip = document.querySelector('.strip');
    const count = strip.children.length;
    const column = Math.min(count - 1, Math.floor((place * count) / letters.length));
    const from = Math.floor((column * letters.length) / count), to = Math.floor(((column + 1) * letters.length) / count);
    let worst = WORST.length - 1;
    for (let it = from; it < to; it++) worst = Math.min(worst, WORST.indexOf(letters[it]));
    strip.children[column]?.setAttribute('class', `is-${WORDS[WORST[worst]]}`);
  }

  function paint() {
    frame = undefined;
    for (const [step, word] of dirty) {
      const node = nodes.get(step);
      if (node) {
        for (const name of [...node.classList]) if (name.startsWith('state-')) node.classList.remove(name);
        node.classList.add(`state-${word}`);
      }
      const place = places.get(step);
      if (place !== undefined && letters[place]) {
        letters[place] = LETTERS[word];
        columnsOf(place);
      }
      const row = document.querySelector(`.step-row[data-step="${CSS.escape(step)}"] [role=cell]`);
      if (row) {
        const mark = row.querySelector('.mark');
        mark?.setAttribute('class', `mark is-${word}`);
        mark?.querySelector('use').setAttribute('href', `#m-${word}`);
        if (row.lastElementChild) row.lastElementChild.textContent = word;
      }
    }
    dirty = new Map();
    const states = document.querySelector('.states');
    if (isLarge && states) {
      const counts = {};
      for (const letter of letters) counts[letter] = (counts[letter] ?? 0) + 1;
      for (const link of states.children) {
        const word = link.querySelector('.mark').classList[1].slice(3);
        link.querySelector('b').textContent = counts[LETTERS[word]] ?? 0;
      }
    }
  }
  dirty = new Map();

  collect();
  // Which letter is whose, asked for when something changes.
  let asked = false;
  async function askPlaces() {
    if (asked) return;
    asked = true;
    try {
      for (let from = 0; from < letters.length; from += 500) {
        const answer = await fetch(`${base}/api/v1/runs/${id}/steps?from=${from}&limit=500`);
        if (!answer.ok) return;
        for (const row of (await answer.json()).steps) places.set(row.step, row.place);
      }
    } catch { /* the next refresh has the letters */ }
  }

  onEvent((happened) => {
    if (!happened) return;
    if (happened.what === 'refreshed') {
      const fresh = happened.fresh.getElementById('letters');
      if (fresh) letters = [...fresh.dataset.letters];
      const picture = document.getElementById('p-picture'), news = happened.fresh.getElementById('p-picture');
      if (picture && news && !isLarge) {
        const { scrollLeft, scrollTop } = picture;
        fill(picture, news);
        Object.assign(picture, { scrollLeft, scrollTop });
        collect();
        zoomTo(scale);
        mark();
      }
      return;
    }
    const word = happened.what === 'step-started' ? 'running' : happened.what === 'step-ended' ? happened.state : happened.what === 'step-retries' ? 'pending' : undefined;
    if (word && happened.step) {
      if (isLarge) askPlaces();
      dirty.set(happened.step, word);
      frame ??= requestAnimationFrame(paint);
    }
    const parts = isLarge ? ['p-head', 'p-broken', 'panel', 'p-strip'] : undefined;
    if (happened.what !== 'log') refresh(happened.what.startsWith('run-') ? 200 : isLarge ? 3000 : 700, parts);
  });

  // The step beside the picture.
  const panel = document.getElementById('panel');
  const stepOf = (href) => decodeURIComponent(new URL(href, location.href).pathname.split('/steps/')[1] ?? '');
  function mark() {
    const chosen = panel?.querySelector('.panel')?.dataset.step;
    for (const [step, node] of nodes) node.toggleAttribute('data-chosen', step === chosen);
  }
  async function choose(step, shallFocus) {
    const address = `${base}/runs/${id}/steps/${encodeURIComponent(step)}`;
    if (!panel || matchMedia('(max-width: 1000px)').matches) return location.assign(address);
    const url = new URL(location.href);
    url.searchParams.set('step', step);
    history.replaceState(null, '', url);
    try {
      fill(panel, await partOf(address, 'panel'));
    } catch {
      location.assign(address);
    }
    mark();
    nodes.get(step)?.scrollIntoView({ block: 'nearest', inline: 'nearest' });
    if (shallFocus) panel.querySelector('a')?.focus();
  }
  mark();
  document.querySelector('.run-body').addEventListener('click', (event) => {
    if (event.ctrlKey || event.metaKey || event.shiftKey) return;
    const vertex = event.target.closest('.picture [data-step]');
    const link = event.target.closest('.run-view a[href*="/steps/"]');
    if (vertex && !vertex.classList.contains('shape-more')) choose(vertex.dataset.step);
    else if (vertex) location.assign(`${base}/runs/${id}?view=list`);
    else if (link && panel) (event.preventDefault(), choose(stepOf(link.href)));
  });

  // Size of the picture.
  let scale = 1;
  const svg = () => document.querySelector('#p-picture svg');
  function zoomTo(to) {
    const it = svg();
    if (!it) return;
    scale = Math.min(3, Math.max(0.2, to));
    const { width, height } = it.viewBox.baseVal;
    it.setAttribute('width', width * scale);
    it.setAttribute('height', height * scale);
  }
  const box = document.getElementById('p-picture');
  if (box && svg().viewBox.baseVal.width > box.clientWidth) zoomTo(Math.max(0.5, (box.clientWidth - 8) / svg().viewBox.baseVal.width));

  const failed = () => [...nodes].filter(([, node]) => node.classList.contains('state-failed')).map(([step]) => step);
  function next(by) {
    const all = failed();
    if (!all.length) return;
    const here = all.indexOf(panel?.querySelector('.panel')?.dataset.step);
    choose(all[(here + by + all.length) % all.length]);
  }
  function window(change) {
    const { begin, end } = document.getElementById('p-gantt').dataset;
    const [from, to] = change(Number(begin), Number(end));
    const url = new URL(location.href);
    url.searchParams.set('begin', Math.max(0, from).toFixed(3));
    url.searchParams.set('end', to.toFixed(3));
    location.replace(url);
  }
  // A part of the time, chosen by dragging over it.
  const gantt = document.getElementById('p-gantt');
  gantt?.addEventListener('pointerdown', (event) => {
    const track = event.target.closest('.track, .ticks');
    if (!track || event.button !== 0 || event.target.closest('a')) return;
    event.preventDefault();
    const { left, width } = track.getBoundingClientRect(), box = gantt.getBoundingClientRect();
    const share = (x) => Math.min(1, Math.max(0, (x - left) / width));
    const from = share(event.clientX);
    const shade = gantt.appendChild(Object.assign(document.createElement('div'), { className: 'shade' }));
    const move = ({ clientX }) => {
      const [a, b] = [from, share(clientX)].sort((one, other) => one - other);
      shade.style.left = `${left - box.left + a * width}px`;
      shade.style.width = `${(b - a) * width}px`;
    };
    const end = ({ clientX }) => {
      removeEventListener('pointermove', move);
      shade.remove();
      const [a, b] = [from, share(clientX)].sort((one, other) => one - other);
      if ((b - a) * width > 8) window((begin, end) => [begin + a * (end - begin), begin + b * (end - begin)]);
    };
    addEventListener('pointermove', move);
    addEventListener('pointerup', end, { once: true });
  });
  document.addEventListener('keydown', (event) => {
    if (inField(event.target) || event.ctrlKey || event.metaKey || event.altKey) return;
    const vertex = event.target.closest?.('.picture [data-step]');
    if (vertex && event.key === 'Enter') choose(vertex.dataset.step, true);
    else if (event.key === 'f') next(1);
    else if (event.key === 'F') next(-1);
    else if (box && event.key === '+') zoomTo(scale * 1.2);
    else if (box && event.key === '-') zoomTo(scale / 1.2);
    else if (box && event.key === '0') zoomTo(1);
    else if (document.getElementById('p-gantt') && 'wsad'.includes(event.key)) {
      const moves = {
        w: (a, b) => [a + (b - a) / 4, b - (b - a) / 4],
        s: (a, b) => [a - (b - a) / 2, b + (b - a) / 2],
        a: (a, b) => [a - (b - a) / 4, b - Math.min(a, (b - a) / 4)],
        d: (a, b) => [a + (b - a) / 4, b + (b - a) / 4],
      };
      window(moves[event.key]);
    }
  });
}

// A run as it goes on: states change where they stand, the panel shows the step that was chosen, pictures have a size.
import { ask } from './acts.js';
import { onEvent, refresh } from './live.js';
import { fill, partOf } from './parts.js';
import { inField } from './keys.js';
import { zoomable } from './picture.js';
import { base } from './times.js';
import { nextFrame } from './updates.js';

const WORDS = { P: 'pending', R: 'running', S: 'succeeded', F: 'failed', K: 'skipped', C: 'cancelled', U: 'unknown' };
const LETTERS = Object.fromEntries(Object.entries(WORDS).map(([letter, word]) => [word, letter]));
const WORST = 'FURCPKS';
const VERTICES = '.picture :is([data-step], [data-more])';
// With so many steps what has changed is changed at once, and the server makes the parts anew now and then; with fewer it does so soon.
const MANY = 300, PACE = 3000;

export function run(main) {
  const id = main.dataset.run;
  const holder = document.getElementById('letters');
  let letters = [...holder.dataset.letters];
  const isLarge = letters.length > MANY;
  let nodes = new Map();
  let dirty = new Map(), frame, slow;

  function collect() {
    nodes = new Map();
    // With links in it, it is no mere image.
    document.querySelector('.picture svg')?.setAttribute('role', 'group');
    for (const node of document.querySelectorAll(VERTICES)) {
      if (node.dataset.step) nodes.set(node.dataset.step, node);
      node.setAttribute('tabindex', '0');
      node.setAttribute('role', 'link');
    }
  }

  /** The strip and the counts, from the letters. */
  function drawLetters() {
    const strip = document.querySelector('.strip'), columns = strip?.children.length, edge = (column) => Math.floor((column * letters.length) / columns);
    for (let column = 0; column < columns; column++) {
      let worst = WORST.length - 1;
      for (let it = edge(column); it < edge(column + 1); it++) worst = Math.min(worst, WORST.indexOf(letters[it]));
      const word = `is-${WORDS[WORST[worst]]}`, rect = strip.children[column];
      if (rect.getAttribute('class') !== word) rect.setAttribute('class', word);
    }
    const counts = {};
    for (const letter of letters) counts[letter] = (counts[letter] ?? 0) + 1;
    for (const link of document.querySelectorAll('.states a')) {
      const letter = LETTERS[link.querySelector('.mark').classList[1].slice(3)];
      link.querySelector('b').textContent = counts[letter] ?? 0;
      delete counts[letter];
    }
    // The first in a state has no place yet.
    if (Object.keys(counts).length) refresh();
  }

  function paint() {
    frame = undefined;
    for (const [step, word] of dirty) {
      const node = nodes.get(step);
      if (node) {
        node.setAttribute('class', node.getAttribute('class').replace(/state-\w+/, `state-${word}`));
      }
      const mark = document.getElementById(`s-${step}`)?.querySelector('.mark');
      if (mark) {
        mark.setAttribute('class', `mark is-${word}`);
        mark.querySelector('use').setAttribute('href', `#m-${word}`);
        if (mark.nextElementSibling) mark.nextElementSibling.textContent = word;
      }
    }
    dirty = new Map();
  }

  // Of many steps, a letter each: ten thousand are ten kilobytes.
  let asking;
  function askLetters() {
    asking ??= setTimeout(async () => {
      try {
        letters = [...(await ask('GET', `/runs/${id}/steps?limit=0`)).letters];
        nextFrame().then(drawLetters);
      } catch { /* the lamp says it */ }
      asking = undefined;
    }, 1000);
  }

  collect();

  onEvent((happened) => {
    if (!happened) return;
    if (happened.what === 'refreshed') {
      const fresh = happened.fresh.getElementById('letters');
      if (fresh) letters = [...fresh.dataset.letters];
      const picture = document.getElementById('p-picture'), news = happened.fresh.getElementById('p-picture');
      if (picture && news) {
        const { scrollLeft, scrollTop } = picture;
        fill(picture, news);
        Object.assign(picture, { scrollLeft, scrollTop });
        collect();
        redraw();
        mark();
      }
      return;
    }
    const word = { 'step-started': 'running', 'step-ended': happened.state, 'step-retries': 'pending' }[happened.what];
    if (word && happened.step) {
      dirty.set(happened.step, word);
      frame ??= nextFrame().then(paint);
    }
    if (!isLarge) return refresh(happened.what.startsWith('run-') ? 200 : 700);
    askLetters();
    // Where more is to be said than a state, sooner.
    const isTold = word !== undefined && word !== 'failed' && happened.step !== panel?.querySelector('.panel')?.dataset.step;
    if (!isTold) refresh(PACE);
    else slow ??= setTimeout(() => ((slow = undefined), refresh(PACE)), PACE);
  });

  // What stands for many is opened as a list: of the elements of a step, or of all if they have no name in common.
  const openMore = ({ dataset: { more } }) => location.assign(`${base}/runs/${id}?view=list${more.startsWith('…') ? '' : `&q=${encodeURIComponent(more)}`}`);

  const vertexAt = (target) => ['step', 'more'].map((what) => target.closest?.(`.picture [data-${what}]`));

  // The step beside the picture.
  const panel = document.getElementById('panel');
  // That of a link in a drawing is no text.
  const stepOf = (link) => decodeURIComponent(new URL(link.getAttribute('href'), location.href).pathname.split('/steps/')[1] ?? '');
  function mark() {
    const chosen = panel?.querySelector('.panel')?.dataset.step;
    for (const [step, node] of nodes) node.toggleAttribute('data-chosen', step === chosen);
  }
  async function choose(step, shallFocus) {
    const address = `${base}/runs/${id}/steps/${encodeURIComponent(step)}`;
    if (!panel || matchMedia('(max-width: 1000px)').matches) return location.assign(address);
    const url = new URL(location.href);
    url.searchParams.set('step', step);
    history.replaceState(history.state, '', url);
    try {
      // What is around it has its own place on each page.
      fill(panel.querySelector('.panel'), (await partOf(address, 'panel')).querySelector('.panel'));
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
    const [vertex, more] = vertexAt(event.target);
    const link = event.target.closest('.run-view a[href*="/steps/"]');
    if (vertex) choose(vertex.dataset.step);
    else if (more) openMore(more);
    else if (link && panel) (event.preventDefault(), choose(stepOf(link)));
  });

  const box = document.getElementById('p-picture');
  const redraw = box ? zoomable(box) : () => {};
  nodes.get(panel?.querySelector('.panel')?.dataset.step)?.scrollIntoView({ block: 'nearest', inline: 'nearest' });

  function next(by) {
    const all = [...nodes].filter(([, node]) => node.classList.contains('state-failed')).map(([step]) => step);
    if (!all.length) return;
    const here = all.indexOf(panel?.querySelector('.panel')?.dataset.step);
    choose(all[(here + by + all.length) % all.length]);
  }
  const gantt = document.getElementById('p-gantt');
  function window(change, { begin, end } = gantt.dataset) {
    const [from, to] = change(Number(begin), Number(end));
    const url = new URL(location.href);
    url.searchParams.set('begin', Math.max(0, from).toFixed(3));
    url.searchParams.set('end', to.toFixed(3));
    location.replace(url);
  }
  // A part of the time, chosen by dragging over it.
  gantt?.addEventListener('pointerdown', (event) => {
    const track = event.target.closest('.track, .ticks');
    if (!track || event.button !== 0 || event.target.closest('a')) return;
    event.preventDefault();
    // The axis may go on meanwhile, and what is drawn over it is not part of it.
    const axis = { ...gantt.dataset }, { left, width } = track.getBoundingClientRect(), box = gantt.parentElement.getBoundingClientRect();
    const share = (x) => Math.min(1, Math.max(0, (x - left) / width));
    const from = share(event.clientX), part = (x) => [from, share(x)].sort((one, other) => one - other);
    const shade = gantt.parentElement.appendChild(Object.assign(document.createElement('div'), { className: 'shade' }));
    shade.style.height = `${gantt.offsetHeight}px`;
    const move = ({ clientX }) => {
      const [a, b] = part(clientX);
      shade.style.left = `${left - box.left + a * width}px`;
      shade.style.width = `${(b - a) * width}px`;
    };
    const end = ({ clientX }) => {
      removeEventListener('pointermove', move);
      shade.remove();
      const [a, b] = part(clientX);
      if ((b - a) * width > 8) window((begin, end) => [begin + a * (end - begin), begin + b * (end - begin)], axis);
    };
    addEventListener('pointermove', move);
    addEventListener('pointerup', end, { once: true });
  });
  // Who has a slot is said in words too: a bar may be too narrow for its name.
  const said = document.querySelector('.slot-said');
  for (const what of ['focusin', 'pointerover']) said && gantt.addEventListener(what, ({ target }) => (said.textContent = target.closest('.lane a')?.ariaLabel ?? said.textContent));
  // Along the edges, as they are drawn: to what is nearest in that direction.
  function walk(from, [x, y]) {
    const middle = (node) => {
      const { left, top, width, height } = node.getBoundingClientRect();
      return [left + width / 2, top + height / 2];
    };
    const [here, all] = [middle(from), [...document.querySelectorAll(VERTICES)]];
    const far = (node) => {
      const [a, b] = middle(node), along = (a - here[0]) * x + (b - here[1]) * y, aside = Math.abs((a - here[0]) * y + (b - here[1]) * x);
      return along > 4 ? along + 2 * aside : Infinity;
    };
    const next = all.reduce((best, node) => (far(node) < far(best) ? node : best), from);
    next.focus();
    next.scrollIntoView({ block: 'nearest', inline: 'nearest' });
  }
  const ARROWS = { ArrowRight: [1, 0], ArrowLeft: [-1, 0], ArrowDown: [0, 1], ArrowUp: [0, -1] };
  document.addEventListener('keydown', (event) => {
    if (inField(event.target) || event.ctrlKey || event.metaKey || event.altKey) return;
    const [vertex, more] = vertexAt(event.target);
    if (vertex && event.key === 'Enter') choose(vertex.dataset.step, true);
    else if (more && event.key === 'Enter') openMore(more);
    else if ((vertex ?? more) && ARROWS[event.key]) (event.preventDefault(), walk(vertex ?? more, ARROWS[event.key]));
    else if (event.key === 'f') next(1);
    else if (event.key === 'F') next(-1);
    else if (gantt && 'wsad'.includes(event.key)) {
      const [left, right] = { w: [1, -1], s: [-2, 2], a: [-1, -1], d: [1, 1] }[event.key];
      // At the beginning nothing moves on.
      window((a, b, by = (b - a) / 4) => [a + left * by, b + (event.key === 'a' ? -Math.min(a, by) : right * by)]);
    }
  });
}

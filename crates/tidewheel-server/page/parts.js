// Parts of a page made anew by the server, and put in place of the old without losing focus, scroll or selection.
import { localise } from './times.js';
import { nextFrame, track } from './updates.js';

// The one place where text becomes markup: pages of our own server, made by its templates.
const policy = globalThis.trustedTypes?.createPolicy('fragment', { createHTML: (text) => text });

const fetchText = async (address) => {
  const answer = await fetch(address, { headers: { Accept: 'text/html' }, cache: 'no-store' });
  if (!answer.ok) throw new Error(`${answer.status}`);
  return answer.text();
};

export async function fetchPage(address) {
  const text = await track(fetchText(address));
  return new DOMParser().parseFromString(policy ? policy.createHTML(text) : text, 'text/html');
}

const keyOf = (node) => node.id ?? '';

/** Makes `old` like `fresh`, touching only what differs. */
function morph(old, fresh) {
  if (old.nodeType !== fresh.nodeType || old.nodeName !== fresh.nodeName) return old.replaceWith(fresh);
  if (old.nodeType !== 1) {
    if (old.nodeValue !== fresh.nodeValue) old.nodeValue = fresh.nodeValue;
    return;
  }
  if (old.nodeName === 'TIME' && old.dateTime === fresh.dateTime) return;
  // A chunk that came by itself comes anew by itself.
  if (old.matches('.chunk') && !('loaded' in fresh.dataset)) return void (old.dataset.src = fresh.dataset.src);
  if (old.nodeName === 'DETAILS' && old.open) fresh.setAttribute('open', '');
  for (const { name } of [...old.attributes]) {
    if (!fresh.hasAttribute(name) && !/^(data-here|style|title)$/.test(name)) old.removeAttribute(name);
  }
  for (const { name, value } of fresh.attributes) if (old.getAttribute(name) !== value) old.setAttribute(name, value);
  if ((old.nodeName === 'INPUT' || old.nodeName === 'TEXTAREA') && old === document.activeElement) return;
  morphInside(old, fresh);
}

function morphInside(old, fresh) {
  const known = new Map();
  for (const child of old.childNodes) if (keyOf(child)) known.set(keyOf(child), child);
  let place = old.firstChild;
  for (const child of [...fresh.childNodes]) {
    const same = keyOf(child) && known.get(keyOf(child));
    if (same && same.nodeName === child.nodeName) {
      if (same === place) place = place.nextSibling;
      else old.insertBefore(same, place);
      morph(same, child);
    } else if (place && !keyOf(place) && !keyOf(child) && place.nodeName === child.nodeName) {
      const next = place.nextSibling;
      morph(place, child);
      place = next;
    } else {
      old.insertBefore(child, place);
    }
  }
  while (place) {
    const next = place.nextSibling;
    place.remove();
    place = next;
  }
}

const within = (part) => [...part.querySelectorAll('a[href], button, input, select, textarea, summary, [tabindex="0"]')];

/** Changes a part. Who was on something that has moved is still there, and on what has gone is on what took its place. */
function change(part, news, how = morph) {
  const was = part.contains(document.activeElement) && document.activeElement;
  const place = was && within(part).indexOf(was);
  how(part, news);
  if (!was || document.activeElement === was) return;
  const all = within(part);
  (was.isConnected ? was : all[Math.min(place, all.length - 1)] ?? document.getElementById('main')).focus({ preventScroll: true });
}

/** Puts the parts of a page that was fetched in place of those that are here. */
export function replaceParts(fresh) {
  for (const part of document.querySelectorAll('[data-part]')) {
    const news = fresh.getElementById(part.id);
    if (news) change(part, news);
  }
  const title = fresh.querySelector('title');
  if (title && document.title !== title.textContent) document.title = title.textContent;
  for (const link of document.querySelectorAll('.bar nav a')) {
    const news = fresh.querySelector(`.bar nav a[data-key="${link.dataset.key}"]`);
    if (news) morph(link, news);
  }
  localise(document);
  loadChunks(document);
  for (const chunk of document.querySelectorAll('[data-part] .chunk[data-loaded=late]')) fetchChunk(chunk);
}

/** One part of another page, for a place on this one. */
export async function partOf(address, id) {
  const page = await fetchPage(address);
  return page.getElementById(id);
}

export function fill(place, part) {
  change(place, part);
  localise(place);
}

// Long lists come in chunks, which are there only while they are near what is seen.
const near = new IntersectionObserver(
  (seen) => {
    for (const { target, isIntersecting } of seen) {
      if (isIntersecting) load(target);
      else if (target.dataset.loaded === 'late') unload(target);
    }
  },
  { rootMargin: '600px' },
);

function unload(chunk) {
  chunk.style.height = `${chunk.offsetHeight}px`;
  chunk.replaceChildren();
  delete chunk.dataset.loaded;
}

// Chunks that come at the same time are put in place one a frame, so that no frame takes long.
let turn = Promise.resolve();
const frame = () => track(turn = turn.then(nextFrame));

function load(chunk) {
  if ('loaded' in chunk.dataset) return;
  chunk.dataset.loaded = 'late';
  fetchChunk(chunk);
}

async function fetchChunk(chunk) {
  // What was asked for before it says less.
  const asked = (chunk.asked = {});
  try {
    const fresh = await partOf(chunk.dataset.src, chunk.id);
    await frame();
    if (!('loaded' in chunk.dataset) || chunk.asked !== asked) return;
    change(chunk, fresh, morphInside);
    chunk.style.height = '';
    localise(chunk);
  } catch {
    // What is there stays; what is not is asked for when it is near again.
    if (!chunk.children.length) delete chunk.dataset.loaded;
  }
}

// A row for a finger is higher than the server thinks.
const high = matchMedia('(pointer: coarse)').matches ? 44 : 0;

export function loadChunks(within) {
  const chunks = within.querySelectorAll('.chunk[data-src]');
  for (const chunk of chunks) {
    if (!('loaded' in chunk.dataset)) {
      chunk.style.height = `${chunk.dataset.rows * Math.max(high, chunk.dataset.height)}px`;
      chunk.replaceChildren();
    }
    near.observe(chunk);
  }
  // Those that are near are known a frame later.
  if (chunks.length) track(nextFrame().then(nextFrame));
}

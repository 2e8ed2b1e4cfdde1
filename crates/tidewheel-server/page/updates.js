// Whether the page shows all that it has requested: `data-updates` of the document is `pending` or `settled`. It is missing until modules have started.
const root = document.documentElement;
let count = 0;
const write = () => (root.dataset.updates = count ? 'pending' : 'settled');
const end = () => (count--, write());

/** Counts a promise as a pending update until it is settled; returns the promise. */
export function track(update) {
  count++;
  write();
  update.then(end, end);
  return update;
}

/** Resolves in the next frame, and is pending until then. */
export const nextFrame = () => track(new Promise(requestAnimationFrame));

/** Resolves after a time, and is pending until then. */
export const pause = (ms) => track(new Promise((resolve) => setTimeout(resolve, ms)));

// Nothing that is done here reaches the next page.
addEventListener('beforeunload', () => (root.dataset.updates = 'pending'));
// A browser may restore a page that was left.
addEventListener('pageshow', write);

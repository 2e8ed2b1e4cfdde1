// A picture as large as somebody wants it. One that is too wide for its place is smaller at first, but can be read.
import { inField } from './keys.js';

// A finger needs more room than a mouse.
const LEAST = matchMedia('(pointer: coarse)').matches ? 1 : 0.75;

/** Keys change the size of what is drawn in `box`; says how to draw it at that size again. */
export function zoomable(box) {
  let scale = history.state?.zoom;
  function draw() {
    const svg = box.querySelector('svg');
    if (!svg) return;
    const { width, height } = svg.viewBox.baseVal;
    const is = scale ?? Math.min(1, Math.max(LEAST, (box.clientWidth - 8) / width));
    svg.setAttribute('width', width * is);
    svg.setAttribute('height', height * is);
    return is;
  }
  function zoomTo(to) {
    scale = Math.min(3, Math.max(0.2, to));
    // Whoever comes back finds it as it was.
    history.replaceState({ ...history.state, zoom: scale }, '');
    draw();
  }
  document.addEventListener('keydown', (event) => {
    if (inField(event.target) || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === '+') zoomTo(draw() * 1.2);
    else if (event.key === '-') zoomTo(draw() / 1.2);
    else if (event.key === '0') zoomTo(1);
  });
  draw();
  return draw;
}

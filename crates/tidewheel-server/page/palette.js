// One box that reaches everything: pages, flows, schedules, runs, steps, actions.
import { element } from './acts.js';
import { base } from './times.js';

let known, knownAt = 0;
const path = encodeURIComponent, go = (to) => () => location.assign(base + to);

async function get(what) {
  const answer = await fetch(`${base}/api/v1/${what}`).catch(() => ({}));
  return answer.ok ? answer.json() : {};
}
const runLine = (run) => [`${run.flow ?? 'run'} ${run.run_id.slice(0, 13)}`, run.state, go(`/runs/${run.run_id}`)];

async function everything() {
  if (known && performance.now() - knownAt < 20000) return known;
  const [flows, schedules, runs] = await Promise.all([get('flows'), get('schedules'), get('runs?limit=50')]);
  const entries = [...document.querySelectorAll('.bar nav a')].map((link) => [link.textContent.trim(), 'page', () => link.click()]);
  for (const { name } of flows.flows ?? []) {
    entries.push([name, 'flow', go(`/flows/${path(name)}`)], [`Run ${name}…`, 'action', go(`/flows/${path(name)}/run`)]);
  }
  for (const { name } of schedules.schedules ?? []) entries.push([name, 'schedule', go(`/schedules/${path(name)}`)]);
  for (const run of runs.runs ?? []) entries.push(runLine(run));
  for (const { name, query } of JSON.parse(localStorage.getItem('tidewheel-views') ?? '[]')) entries.push([name, 'view of runs', go(`/runs${query}`)]);
  known = entries;
  knownAt = performance.now();
  return entries;
}

function ofThisPage() {
  const actions = [...document.querySelectorAll('main .acts button, main .acts .button')].filter((it) => it.offsetParent);
  const entries = actions.map((button) => [button.textContent.trim(), 'action', () => button.click()]);
  for (const step of document.querySelectorAll('.picture [data-step], .step-row .name a, .gantt-row .name a')) {
    entries.push([step.dataset.step ?? step.textContent.trim(), 'step', () => step.dispatchEvent(new MouseEvent('click', { bubbles: true, cancelable: true }))]);
  }
  return entries;
}

/** What is in no list that is here: any step of this run, and any run by the beginning of its id. */
async function further(text) {
  const run = location.pathname.match(/\/runs\/([^/]+)/)?.[1], isId = /^[0-9a-f][0-9a-f-]{3,35}$/.test(text);
  const [steps, runs] = await Promise.all([run ? get(`runs/${run}/steps?limit=20&text=${path(text)}`) : {}, isId ? get(`runs?limit=10&id=${text}`) : {}]);
  return [...(steps.steps ?? []).map(({ step }) => [step, 'step', go(`/runs/${run}/steps/${path(step)}`)]), ...(runs.runs ?? []).map(runLine)];
}

function matches(entries, text, more) {
  let wanted = text.trim().toLowerCase();
  const onlyActions = wanted.startsWith('>');
  if (onlyActions) wanted = wanted.slice(1).trim();
  const found = [];
  for (const entry of entries) {
    if (onlyActions && entry[1] !== 'action') continue;
    const place = entry[0].toLowerCase().indexOf(wanted);
    if (place >= 0) found.push([place, entry]);
  }
  found.sort((one, other) => one[0] - other[0]);
  const shown = found.slice(0, 40).map((it) => it[1]);
  shown.push(...more.filter(([name]) => !shown.some((it) => it[0] === name)));
  if (/^[0-9a-f-]{4,36}$/.test(wanted)) shown.push([`Run ${wanted}`, 'by its id', () => location.assign(`${base}/runs/${wanted}`)]);
  return shown;
}

function open() {
  if (document.querySelector('dialog[open]')) return;
  const input = element('input', { type: 'text', role: 'combobox', 'aria-expanded': 'true', 'aria-controls': 'found', 'aria-label': 'Search for anything', placeholder: 'Flows, runs, steps, actions (> for actions only)', autocomplete: 'off', spellcheck: 'false' });
  const list = element('ul', { id: 'found', role: 'listbox', 'aria-label': 'Found' });
  const it = element('dialog', { class: 'palette', 'aria-label': 'Search' }, input, list);
  let entries = ofThisPage(), more = [], shown = [], here = 0, asking;
  const choose = (place) => {
    here = Math.min(Math.max(place, 0), shown.length - 1);
    [...list.children].forEach((line, index) => line.setAttribute('aria-selected', index === here));
    list.children[here]?.scrollIntoView({ block: 'nearest' });
    if (list.children[here]) input.setAttribute('aria-activedescendant', `found-${here}`);
    else input.removeAttribute('aria-activedescendant');
  };
  const use = (place) => {
    const entry = shown[place];
    it.close();
    entry?.[2]();
  };
  const draw = (stays = 0) => {
    shown = matches(entries, input.value, more);
    list.replaceChildren(...shown.map(([name, what], index) => element('li', { id: `found-${index}`, role: 'option', onclick: () => use(index) }, element('bdi', {}, name), element('span', { class: 'dim' }, what))));
    choose(stays);
  };
  input.addEventListener('input', () => {
    more = [];
    draw();
    clearTimeout(asking);
    const text = input.value.trim().toLowerCase();
    if (text.length < 2 || text[0] === '>') return;
    asking = setTimeout(async () => {
      const found = await further(text);
      if (text === input.value.trim().toLowerCase()) ((more = found), draw(here));
    }, 120);
  });
  input.addEventListener('keydown', (event) => {
    if (event.key === 'ArrowDown') choose(here + 1);
    else if (event.key === 'ArrowUp') choose(here - 1);
    else if (event.key === 'Enter') use(here);
    else return;
    event.preventDefault();
  });
  it.addEventListener('click', (event) => event.target === it && it.close());
  it.addEventListener('close', () => it.remove());
  document.body.append(it);
  it.showModal();
  draw();
  everything().then((all) => ((entries = [...entries, ...all]), draw(here)));
}

document.getElementById('find')?.addEventListener('click', open);
document.addEventListener('keydown', (event) => {
  if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === 'k') {
    event.preventDefault();
    open();
  }
});

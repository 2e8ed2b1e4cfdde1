// One box that reaches everything: pages, flows, schedules, runs, steps, questions, actions.
import { ask, element, short } from './acts.js';
import { base } from './times.js';
import { pause } from './updates.js';

const ID = /^[0-9a-f-]{4,36}$/;
let known, knownAt = 0;
const path = encodeURIComponent, go = (to) => () => location.assign(base + to);
const get = (what) => ask('GET', what).catch(() => ({}));
const lineOf = ({ flow, run_id: run, state }) => [`${flow ?? 'run'} ${short(run)}`, state, go(`/runs/${run}`)];

async function everything() {
  if (known && performance.now() - knownAt < 20000) return known;
  const [flows, schedules, runs, asks] = await Promise.all([get('/flows'), get('/schedules'), get('/runs?limit=50'), get('/approvals')]);
  const entries = [...document.querySelectorAll('.bar nav a')].map((link) => [link.textContent.trim(), 'page', () => link.click()]);
  entries.push(['Keys', 'page', go('/keys')], ...['store', 'tokens', 'audit'].map((tab) => [`System: ${tab}`, 'page', go(`/system?tab=${tab}`)]));
  for (const { asks: text, run_id: run, step } of asks.approvals ?? []) entries.push([text.replace(/^waits for approval: /, ''), 'question', go(`/runs/${run}/steps/${path(step)}`)]);
  const onlyLooks = document.querySelector('.who')?.title === 'viewer';
  for (const { name } of flows.flows ?? []) {
    entries.push([name, 'flow', go(`/flows/${path(name)}`)]);
    if (!onlyLooks) entries.push([`Run ${name}…`, 'action', go(`/flows/${path(name)}/run`)]);
  }
  for (const { name } of schedules.schedules ?? []) entries.push([name, 'schedule', go(`/schedules/${path(name)}`)]);
  entries.push(...(runs.runs ?? []).map(lineOf));
  for (const { name, query } of JSON.parse(localStorage.getItem('tidewheel-views') ?? '[]')) entries.push([name, 'view of runs', go(`/runs${query}`)]);
  knownAt = performance.now();
  return (known = entries);
}

function ofThisPage() {
  const actions = [...document.querySelectorAll('main .acts button, main .acts .button')].filter((it) => it.offsetParent);
  const entries = actions.map((button) => [button.textContent.trim(), 'action', () => button.click()]);
  for (const step of document.querySelectorAll('.picture [data-step], .step-row .name a, .gantt-row .name a')) {
    entries.push([step.dataset.step ?? step.textContent.trim(), 'step', () => step.dispatchEvent(new MouseEvent('click', { bubbles: true, cancelable: true }))]);
  }
  return entries;
}

/** What is in no list here: any step of this run, any run by the beginning of its id. */
async function further(text) {
  const of = location.pathname.match(/\/runs\/[^/]+/)?.[0];
  const [{ steps = [] }, { runs = [] }] = await Promise.all([of ? get(`${of}/steps?limit=20&text=${path(text)}`) : {}, ID.test(text) ? get(`/runs?id=${text}`) : {}]);
  return [...steps.map(({ step }) => [step, 'step', go(`${of}/steps/${path(step)}`)]), ...runs.map(lineOf)];
}

function matches(entries, text, more) {
  let wanted = text.trim().toLowerCase();
  const onlyActions = wanted.startsWith('>');
  if (onlyActions) wanted = wanted.slice(1).trim();
  const place = ([name]) => name.toLowerCase().indexOf(wanted);
  const found = entries.filter((it) => place(it) >= 0 && (!onlyActions || it[1] === 'action'));
  const shown = found.sort((one, other) => place(one) - place(other)).slice(0, 40);
  shown.push(...more.filter(([name]) => !shown.some((it) => it[0] === name)));
  if (ID.test(wanted)) shown.push([`Run ${wanted}`, 'by its id', go(`/runs/${wanted}`)]);
  return shown;
}

function open() {
  if (document.querySelector('dialog[open]')) return;
  const input = element('input', { type: 'text', role: 'combobox', 'aria-expanded': 'true', 'aria-controls': 'found', 'aria-label': 'Search for anything', placeholder: 'Flows, runs, steps, actions (> for actions only)', autocomplete: 'off', spellcheck: 'false' });
  const list = element('ul', { id: 'found', role: 'listbox', 'aria-label': 'Found' });
  const it = element('dialog', { class: 'palette', 'aria-label': 'Search' }, input, list);
  let entries = ofThisPage(), more = [], shown = [], here = 0;
  const choose = (place) => {
    here = Math.min(Math.max(place, 0), shown.length - 1);
    [...list.children].forEach((line, index) => line.setAttribute('aria-selected', index === here));
    list.children[here]?.scrollIntoView({ block: 'nearest' });
    if (list.children[here]) input.setAttribute('aria-activedescendant', `found-${here}`);
    else input.removeAttribute('aria-activedescendant');
  };
  const use = (place) => (it.close(), shown[place]?.[2]());
  const draw = (stays = 0) => {
    shown = matches(entries, input.value, more);
    list.replaceChildren(...shown.map(([name, what], index) => element('li', { id: `found-${index}`, role: 'option', onclick: () => use(index) }, element('bdi', {}, name), element('span', { class: 'dim' }, what))));
    choose(stays);
  };
  input.addEventListener('input', () => {
    more = [];
    draw();
    const said = input.value, text = said.trim().toLowerCase();
    if (text.length > 1 && text[0] !== '>') pause(120).then(async () => {
      const found = said === input.value && (await further(text));
      if (found && said === input.value) ((more = found), draw(here));
    });
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

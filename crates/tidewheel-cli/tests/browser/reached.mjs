// Who reaches it, and how: with keys alone, by touch, with a reader of screens, without colour.
import assert from 'node:assert/strict';
import { boxes, check, click, evaluate, expectCount, expectThat, fill, focus, keepMessages, press, tap, type } from './actions.mjs';
import { FLOWS as SHARED } from './flows.mjs';

export const FLOWS = {
  ...SHARED,
  'long-named.yaml': `
name: a-flow-whose-name-is-longer-than-any-telephone-is-wide-and-has-no-space-in-it
tags: [one, two, three]
params: { who: { description: Whom it is for }, loud: { type: bool, default: false }, level: { choices: [low, high], default: low } }
flow:
  - { name: a-step-with-a-name-that-is-longer-than-any-telephone-is-wide-and-has-no-space, run: 'printf "%0200d\\n" 7; exit 3' }
`,
  'crowd.yaml': `
name: crowd
limits: { door: { units: 1 } }
flow:
  - { name: inside, run: 'sleep 3600', limits: { door: 1 } }
  - { name: outside, foreach: [1, 2], run: 'true', limits: { door: 1 }, priority: 30 }
`,
};

/** Every page there is, of a run that failed. */
export const PAGES = (run) => ['/', '/flows', '/flows/nightly', '/flows/nightly?tab=history', '/flows/nightly?tab=schedule', '/flows/nightly?tab=file', '/flows/nightly/run', '/runs', '/runs?state=failed', `/runs/${run}`, `/runs/${run}?view=time`, `/runs/${run}?view=slots`, `/runs/${run}?view=list`, `/runs/${run}/steps/test`, `/runs/${run}/steps/test/log`, `/runs/${run}/log`, '/queues', '/schedules', '/schedules/nightly%2Fnightly', '/approvals', '/system', '/system?tab=store', '/system?tab=tokens', '/system?tab=audit', '/keys', '/nothing'];

const INTERACTIVE = 'a[href], button, input:not([type=hidden]), select, textarea, summary, [role=link], [role=button], [tabindex="0"]';

/** What can be used with a mouse and not with keys, what does not show that one is on it, what does something of which no command
 *  is shown (what opens a dialog shows it there), and marks without their words. */
const unreachable = (page) => evaluate(page, (interactive) => {
  const wrong = [], said = (it) => (it.outerHTML ?? '').slice(0, 90);
  for (const it of document.querySelectorAll(interactive)) {
    if (!it.checkVisibility({ visibilityProperty: true }) || it.disabled || it.closest('[inert]')) continue;
    // Lines of a log are chosen with a colon and their numbers.
    if (it.matches('.log-n')) continue;
    it.focus({ preventScroll: true });
    if (document.activeElement !== it || it.tabIndex < 0) wrong.push(`no key reaches ${said(it)}`);
    else if (it.matches('.palette input')) continue;
    else {
      const { outlineStyle, outlineWidth } = getComputedStyle(it);
      if (outlineStyle === 'none' || parseFloat(outlineWidth) < 2) wrong.push(`one does not see to be on ${said(it)}`);
    }
  }
  for (const it of document.querySelectorAll('body *')) {
    const { cursor } = getComputedStyle(it);
    if (/pointer|copy/.test(cursor) && it.checkVisibility() && !it.closest(`${interactive}, label, [role=option], [aria-hidden=true]`)) wrong.push(`only a mouse can press ${said(it)}`);
  }
  for (const it of document.querySelectorAll('main :is([data-do], [data-remove]):not([data-command^="tidewheel "])')) wrong.push(`no command does the same as ${said(it)}`);
  for (const it of document.querySelectorAll('svg.mark')) if (it.checkVisibility() && !it.getAttribute('aria-label') && !it.parentElement.textContent.trim()) wrong.push(`no word beside ${said(it)}`);
  return wrong;
}, INTERACTIVE);

/** What is too small to be touched: what stands by itself is 44 high, and all is 24 wide and high, but a link inside of a sentence, which
 *  is as high as its line, and bars, of which each is also in a list. */
const small = (page) => evaluate(page, (interactive) => {
  const whole = [...document.querySelectorAll('button, .button, select, input:not([type=hidden]), textarea, summary, nav a, .tabs > a, .tile, th a, .lines a, .name a, .foot a, .crumbs a, .states a, .bars a')];
  const isSeen = (it) => it.checkVisibility({ visibilityProperty: true }) && !it.closest('.unseen, p:not(.crumbs), .log-pane, svg');
  const all = [...document.querySelectorAll(interactive)].filter((it) => !it.matches('.tail, .grid-box, .picture, .log-view, pre'));
  const reach = (it) => {
    // What is around a box belongs to it.
    const { width, height, left, top } = (it.closest('label') ?? it).getBoundingClientRect();
    const after = getComputedStyle(it, '::after');
    const [w, h] = after.content === 'none' || after.position !== 'absolute' ? [0, 0] : [parseFloat(after.width), parseFloat(after.height)];
    return [Math.max(width, w), Math.max(height, h), left, top];
  };
  const measured = [...new Set([...whole, ...all])].filter(isSeen).map((it) => [it, reach(it)]);
  return measured.filter(([it, [width, height]]) => height < (whole.includes(it) ? 43.5 : 23.5) || width < 23.5).map(([it, [width, height]]) => `${Math.round(width)}×${Math.round(height)} ${it.outerHTML.slice(0, 80)}`);
}, INTERACTIVE);

const wideness = (page) => evaluate(page, () => {
  const { scrollWidth, clientWidth } = document.documentElement;
  if (scrollWidth <= clientWidth) return [];
  const most = [...document.querySelectorAll('body *')].filter((it) => it.getBoundingClientRect().right > clientWidth + 1).at(-1);
  return [`${scrollWidth} is wider than ${clientWidth}: ${most?.outerHTML.slice(0, 90)}`];
});

export const tests = {
  async 'whatever can be used can be reached with keys, and shows that one is on it and its command'(world, page) {
    const run = await world.run('nightly');
    const asking = await world.submit('release');
    await world.asking(asking);
    const wrong = [];
    for (const path of [...PAGES(run), `/runs/${asking}/steps/ask`]) {
      await world.goto(page, path);
      // Whoever presses a key wants to see where it goes.
      await press(page, 'Tab');
      wrong.push(...(await unreachable(page)).map((it) => `${path}: ${it}`));
    }
    assert.deepEqual(wrong, []);
  },

  async 'a day’s work is done without a mouse'(world, page) {
    await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
    await keepMessages(page);
    const there = async (address) => { await page.waitForURL(address); await page.waitForSelector('#lamp[data-state=live]'); };
    // A flow is found, its form filled in, and the run watched.
    await world.goto(page, '/');
    await there(`${world.base}/`);
    await press(page, 'Control+k');
    await type(page, 'run nightly');
    await page.waitForSelector('#found li[aria-selected=true] >> text=Run nightly…');
    await press(page, 'Enter');
    await there(/\/flows\/nightly\/run/);
    await focus(page, '#param-1');
    await press(page, 'Control+a');
    await type(page, '4');
    await press(page, 'Enter');
    await there(/\/runs\/[0-9a-f-]{36}$/);
    await page.waitForSelector('#p-head .word:text("failed")');
    const first = page.url();
    // Its steps are walked along what connects them, and one is opened.
    await focus(page, '.picture [data-step=fetch]');
    await press(page, 'ArrowRight');
    await expectThat(page, () => document.activeElement.dataset.step, /build|lint/);
    await press(page, 'ArrowLeft', 'Enter');
    await page.waitForSelector('#panel .panel[data-step=fetch]');
    // One is where it was opened.
    await expectThat(page, () => document.getElementById('panel').contains(document.activeElement), true);
    await press(page, 'f');
    await page.waitForSelector('#panel .panel[data-step=test]');
    // Its times are zoomed into and out of.
    await press(page, '2');
    await there(/view=time/);
    await press(page, 'w');
    await page.waitForSelector('.minimap');
    await there(/begin=/);
    const long = () => evaluate(page, () => document.getElementById('p-gantt').dataset.end - document.getElementById('p-gantt').dataset.begin);
    const part = await long(), zoomed = page.url();
    await press(page, 's');
    await there((url) => url.href !== zoomed);
    assert.ok((await long()) > part);
    // What failed is retried: the first action, its preview, yes.
    await world.goto(page, new URL(first).pathname);
    await there(first);
    await press(page, '.');
    await page.waitForSelector('dialog .primary:focus');
    await press(page, 'Enter');
    await page.waitForURL((url) => url.href !== first && url.pathname.startsWith('/runs/'));
    await page.waitForSelector('#p-head .word:text("failed")');
    await page.waitForSelector('#lamp[data-state=live]');
    // Its log is searched, and lines of it are copied.
    await press(page, 'l');
    await page.waitForSelector('.log-row.here >> text=expected 3, found 4');
    await page.waitForSelector('.log-view:focus');
    await press(page, '/');
    await type(page, 'level');
    await press(page, 'Enter');
    await page.waitForSelector('.log-sum >> text=1 of 1');
    await press(page, 'Escape', ':');
    await type(page, '1-2');
    await press(page, 'Enter', 'y');
    await page.waitForSelector('.log-note >> text=2 lines copied');
    assert.equal(await page.evaluate(() => navigator.clipboard.readText()), 'level 4\nexpected 3, found 4\n');
    // A schedule is paused where it stands in the list, and one stays on its button.
    await world.goto(page, '/schedules');
    await page.waitForSelector('#lamp[data-state=live]');
    await focus(page, 'tr:has-text("nightly") button');
    await press(page, 'Enter');
    await page.waitForSelector('tr:has-text("nightly") button:text("Resume"):focus');
    await press(page, 'Enter');
    await page.waitForSelector('tr:has-text("nightly") button:text("Pause"):focus');
    // What the button does is in its message as a command, which Enter copies.
    await page.waitForSelector('.toast code.command >> nth=1');
    await focus(page, '.toast:last-child code.command');
    await press(page, 'Enter');
    await page.waitForSelector('.toast >> text=Copied.');
    assert.equal(await page.evaluate(() => navigator.clipboard.readText()), 'tidewheel schedule resume nightly/nightly');
  },

  async 'who is on something stays on it while the page changes around it'(world, page) {
    const asks = async () => {
      const run = await world.submit('release');
      await world.asking(run);
      return run;
    };
    const runs = [await asks(), await asks(), await asks()];
    const answer = (run) => world.api('POST', `/runs/${run}/steps/ask/answer`, { approved: true, by: '' });
    await world.goto(page, '/approvals');
    await page.waitForSelector('#lamp[data-state=live]');
    const order = await evaluate(page, () => [...document.querySelectorAll('#p-asking [data-answer=yes]')].map((it) => it.dataset.run));
    const [first, second, third] = order.filter((it) => runs.includes(it));
    // What was above it goes: one is on the same question.
    await focus(page, `[data-answer=yes][data-run="${second}"]`);
    await answer(first);
    await page.waitForSelector(`[data-run="${first}"]`, { state: 'detached' });
    await expectThat(page, () => document.activeElement.dataset.run, second);
    // It goes itself: one is on what took its place, and not lost.
    await answer(second);
    await page.waitForSelector(`[data-run="${second}"]`, { state: 'detached' });
    await expectThat(page, () => document.activeElement !== document.body && document.getElementById('main').contains(document.activeElement), true);
    // A dialog gives back what it took.
    await focus(page, `[data-answer=no][data-run="${third}"]`);
    await press(page, 'Enter');
    await page.waitForSelector('dialog input:focus');
    await press(page, 'Escape');
    await page.waitForSelector(`[data-answer=no][data-run="${third}"]:focus`);
    await answer(third);

    // New runs come above it: one is on the same run.
    const run = await world.run('chatty');
    await world.goto(page, '/runs');
    await page.waitForSelector('#lamp[data-state=live]');
    await focus(page, `#r-${run} th a`);
    const newer = await world.run('chatty');
    await page.waitForSelector(`#r-${newer} .word:text("succeeded")`);
    await expectThat(page, () => document.activeElement.closest('tr')?.id, `r-${run}`);
  },

  async 'axe-core finds nothing, on any page, in any theme, width and state'(world, page) {
    const run = await world.run('nightly');
    const odd = await world.run('a-flow-whose-name-is-longer-than-any-telephone-is-wide-and-has-no-space-in-it', { who: 'you' });
    const asking = await world.submit('release');
    const crowd = await world.submit('crowd');
    await world.asking(asking);
    const wrong = [];
    // What is not about colours depends on the width alone.
    const look = async (tab, what) => {
      for (const [width, colorScheme, only] of [[1280, 'light'], [1280, 'dark', ['color-contrast']], [360, 'dark'], [360, 'light', ['color-contrast']]]) {
        await tab.emulateMedia({ colorScheme });
        await tab.setViewportSize({ width, height: 800 });
        const found = [...(await world.axe(tab, only)), ...(await wideness(tab))];
        wrong.push(...found.map((it) => `${what} ${colorScheme} ${width}: ${it}`));
      }
      await tab.setViewportSize({ width: 1280, height: 800 });
    };
    const plain = [...PAGES(run), `/runs/${odd}`, `/runs/${odd}?view=list`, `/runs/${crowd}`, `/runs/${asking}`, '/flows/a-flow-whose-name-is-longer-than-any-telephone-is-wide-and-has-no-space-in-it/run'];
    const states = {
      'filtered away': async (tab) => world.goto(tab, '/runs?flow=nobody'),
      'no step matches': async (tab) => world.goto(tab, `/runs/${run}?view=list&q=nobody`),
      'picked': async (tab) => { await world.goto(tab, '/runs'); await check(tab, `[data-pick="${run}"]`); },
      'a preview': async (tab) => { await world.goto(tab, `/runs/${run}`); await click(tab, '#p-head >> text=Retry…'); await tab.waitForSelector('dialog .command'); },
      'a danger': async (tab) => { await world.goto(tab, `/runs/${crowd}`); await click(tab, '#p-head >> text=Cancel…'); await tab.waitForSelector('dialog .command'); },
      'a question': async (tab) => { await world.goto(tab, '/approvals'); await click(tab, '[data-answer=no]'); await tab.waitForSelector('dialog input'); },
      'a backfill': async (tab) => { await world.goto(tab, '/schedules/nightly%2Fnightly'); await click(tab, 'text=Backfill…'); await tab.waitForSelector('dialog input'); },
      'the palette': async (tab) => { await world.goto(tab, '/'); await press(tab, 'Control+k'); await type(tab, 'n'); await tab.waitForSelector('#found li >> nth=3'); },
      'a message': async (tab) => { await world.goto(tab, `/runs/${crowd}`); await click(tab, '#p-head >> text=Pause'); await tab.waitForSelector('.toast >> text=Undo'); await tab.waitForSelector('#p-head >> text=Resume'); },
      'a wrong field': async (tab) => { await world.goto(tab, '/flows/nightly/run'); await fill(tab, '#param-1', '99'); await click(tab, 'text=Start'); await tab.waitForSelector('[data-wrong]'); },
      'a plan': async (tab) => { await world.goto(tab, '/flows/nightly/run'); await click(tab, '#plan'); await tab.waitForSelector('#planned:not([hidden])'); },
      'a search': async (tab) => { await world.goto(tab, `/runs/${run}/steps/test/log`); await tab.waitForSelector('.log-row'); await fill(tab, '.log-search', 'found'); await tab.waitForSelector('.log-sum >> text=1 of 1'); },
      'a part of its time': async (tab) => world.goto(tab, `/runs/${run}?view=time&begin=0&end=0.01`),
      'not live': async (tab) => { await world.goto(tab, '/'); await tab.waitForSelector('#lamp[data-state=live]'); await tab.context().setOffline(true); await tab.evaluate(() => dispatchEvent(new Event('pagehide'))); await tab.evaluate(() => dispatchEvent(new Event('online'))); await tab.waitForSelector('#lamp[data-state=lost]'); },
    };
    const all = [...plain.map((path) => [path, (tab) => world.goto(tab, path)]), ...Object.entries(states)];
    const tabs = await Promise.all([world.window(), world.window()]);
    const strangers = await world.window({ isLoggedIn: false });
    await Promise.all([...tabs.map(async (tab) => {
      for (let next; (next = all.shift());) {
        const [what, open] = next;
        await open(tab);
        await look(tab, what);
        await tab.context().setOffline(false);
      }
    }), (async () => {
      // Who is not logged in, and who may only look.
      await world.goto(strangers, '/runs');
      await look(strangers, 'a stranger');
      const { secret } = JSON.parse(await world.command('tidewheel token create looker --role viewer --format json'));
      const link = await world.command(`TIDEWHEEL_TOKEN=${secret} tidewheel login ${world.base} --no-open`);
      await world.login(strangers, link.match(/http\S+/)[0], () => look(strangers, 'a login'));
      for (const path of ['/', '/approvals', '/flows/nightly/run', '/system?tab=tokens', `/runs/${run}`, '/schedules']) {
        await world.goto(strangers, path);
        await look(strangers, `who may look, ${path}`);
      }
    })()]);
    assert.deepEqual([...new Set(wrong)], []);
  },

  async 'on a telephone all pages fit and everything can be touched'(world, page) {
    const asking = await world.submit('release');
    const crowd = await world.submit('crowd');
    await world.asking(asking);
    const odd = await world.run('a-flow-whose-name-is-longer-than-any-telephone-is-wide-and-has-no-space-in-it', { who: 'you' });
    const failed = await world.run('nightly');
    const phone = await world.window({ width: 360, height: 740, hasTouch: true, isMobile: true });
    const wrong = [];
    for (const path of [...PAGES(failed), `/runs/${odd}`, `/runs/${odd}?view=time`, `/runs/${odd}?view=list`, `/runs/${crowd}`, `/runs/${crowd}?view=list`, `/runs/${asking}`, `/runs/${odd}/steps/a-step-with-a-name-that-is-longer-than-any-telephone-is-wide-and-has-no-space/log`, '/flows/a-flow-whose-name-is-longer-than-any-telephone-is-wide-and-has-no-space-in-it/run']) {
      await world.goto(phone, path);
      if (path.endsWith('/steps/test/log')) await phone.waitForSelector('.log-row');
      wrong.push(...[...(await wideness(phone)), ...(await small(phone))].map((it) => `${path}: ${it}`));
    }
    assert.deepEqual(wrong, []);

    // Of a long history the newest runs are seen, which stand on the right, without scripts too.
    for (let time = 0; time < 12; time++) await world.run('nightly');
    const plain = await world.window({ width: 360, height: 740, javaScriptEnabled: false });
    for (const tab of [phone, plain]) {
      await world.goto(tab, '/flows/nightly?tab=history');
      const [[box], heads] = [await boxes(tab, '.grid-box'), await boxes(tab, '.grid thead th')];
      const [oldest, newest] = [heads[1], heads.at(-1)];
      assert.ok(oldest.x < box.x, 'there is more than can be seen');
      assert.ok(newest.x > box.x && newest.x + newest.width <= box.x + box.width + 1, `the newest run is at ${newest.x} of ${box.width}`);
    }
    // A log has what is left of the screen, with all of its controls.
    await world.goto(phone, `/runs/${failed}/steps/test/log`);
    await phone.waitForSelector('.log-row');
    const [beyond, high] = await evaluate(phone, () => {
      const parts = [...document.querySelectorAll('.log-bar > *, .log-view, .log-note')].filter((it) => it.checkVisibility());
      const bottom = Math.max(...parts.map((it) => it.getBoundingClientRect().bottom));
      return [Math.max(bottom, document.documentElement.scrollHeight) - innerHeight, document.querySelector('.log-view').clientHeight];
    });
    assert.ok(beyond <= 0, `${beyond} of the log are below the screen`);
    assert.ok(high >= 200, `${high} of its lines are seen`);

    // A run is started, its log read, and a question answered, with nothing but a finger.
    await world.goto(phone, '/flows');
    await tap(phone, 'tr:has-text("nightly") >> text=Run…');
    await phone.waitForURL(/\/flows\/nightly\/run/);
    await tap(phone, '#form [type=submit]');
    await phone.waitForURL(/\/runs\/[0-9a-f-]{36}$/);
    await phone.waitForSelector('#p-head .word:text("failed")');
    await tap(phone, '#p-broken >> text=Log');
    await phone.waitForSelector('.log-row.here >> text=expected 3, found 4');
    await tap(phone, '.bar nav >> text=Approvals');
    await tap(phone, `#p-asking [data-answer=yes][data-run="${asking}"]`);
    await tap(phone, 'dialog .primary');
    await world.until(asking, ['succeeded']);
  },

  async 'the box offers whoever only looks nothing that they may not do'(world, page) {
    const { secret } = JSON.parse(await world.command('tidewheel token create reader --role viewer --format json'));
    const link = await world.command(`TIDEWHEEL_TOKEN=${secret} tidewheel login ${world.base} --no-open`);
    const reader = await world.window({ isLoggedIn: false });
    await world.login(reader, link.match(/http\S+/)[0]);
    for (const [tab, offered] of [[page, 1], [reader, 0]]) {
      await world.goto(tab, '/');
      await press(tab, 'Control+k');
      await type(tab, 'nightly');
      await tab.waitForSelector('#found li:has-text("schedule")');
      await expectCount(tab, '#found li:has-text("Run nightly…")', offered);
    }
  },

  async 'every mark has a shape of its own, without its colour'(world, page) {
    await world.goto(page, '/');
    const symbols = await evaluate(page, () => [...document.querySelectorAll('.sprite symbol[id^=m-]')].map((it) => [it.id.slice(2), it.innerHTML]));
    assert.ok(symbols.length >= 14);
    // Drawn in black on white beside each other, away from the page and its policy.
    const blank = await world.window({ isBlank: true });
    const alike = await blank.evaluate(async (symbols) => {
      const style = '.o{fill:none;stroke:#000;stroke-width:1.6;stroke-linecap:round;stroke-linejoin:round}.f{fill:#000}.x{fill:none;stroke:#fff;stroke-width:1.8;stroke-linecap:round;stroke-linejoin:round}.faint{opacity:.3}.broken{stroke-dasharray:3.4 2.9}';
      const drawn = [];
      for (const [name, inside] of symbols) {
        const image = new Image();
        image.src = `data:image/svg+xml,${encodeURIComponent(`<svg xmlns="http://www.w3.org/2000/svg" width="32" height="32" viewBox="0 0 16 16"><style>${style}</style>${inside}</svg>`)}`;
        await image.decode();
        const pen = Object.assign(document.createElement('canvas'), { width: 32, height: 32 }).getContext('2d');
        pen.fillStyle = '#fff';
        pen.fillRect(0, 0, 32, 32);
        pen.drawImage(image, 0, 0);
        const { data } = pen.getImageData(0, 0, 32, 32);
        drawn.push([name, Array.from({ length: 1024 }, (_, it) => data[it * 4])]);
      }
      const alike = [];
      for (const [place, [one, a]] of drawn.entries()) {
        for (const [other, b] of drawn.slice(place + 1)) {
          const differs = a.filter((grey, it) => Math.abs(grey - b[it]) > 100).length;
          // As much as a sign inside of a ring has.
          if (differs < 60) alike.push(`${one} and ${other}: ${differs}`);
        }
      }
      return alike;
    }, symbols);
    assert.deepEqual(alike, []);
  },
};

/** Errors that a test causes. */
export const expects = {
  'axe-core finds nothing, on any page, in any theme, width and state': [/fetch|EventSource/i],
};

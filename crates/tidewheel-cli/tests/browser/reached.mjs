// Who reaches it, and how: with keys alone, by touch, with a reader of screens, without colour.
import assert from 'node:assert/strict';

export const FLOWS = {
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
const unreachable = (page) => page.evaluate((interactive) => {
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
const small = (page) => page.evaluate((interactive) => {
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

const wideness = (page) => page.evaluate(() => {
  const { scrollWidth, clientWidth } = document.documentElement;
  if (scrollWidth <= clientWidth) return [];
  const most = [...document.querySelectorAll('body *')].filter((it) => it.getBoundingClientRect().right > clientWidth + 1).at(-1);
  return [`${scrollWidth} is wider than ${clientWidth}: ${most?.outerHTML.slice(0, 90)}`];
});

export const tests = {
  async 'whatever can be used can be reached with keys, and shows that one is on it and its command'(world, page) {
    const run = await world.run(page, 'nightly');
    const { run_id: asking } = await world.api(page, 'POST', '/runs', { flow: 'release' });
    await world.asking(page, asking);
    const wrong = [];
    for (const path of [...PAGES(run), `/runs/${asking}/steps/ask`]) {
      await world.goto(page, path);
      await page.waitForSelector('html.script');
      // Whoever presses a key wants to see where it goes.
      await page.keyboard.press('Tab');
      wrong.push(...(await unreachable(page)).map((it) => `${path}: ${it}`));
    }
    await world.api(page, 'POST', `/runs/${asking}/cancel`, {});
    assert.deepEqual(wrong, []);
  },

  async 'a day’s work is done without a mouse'(world, page) {
    await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
    const press = async (...keys) => { for (const key of keys) await page.keyboard.press(key); };
    const there = async (address) => { await page.waitForURL(address); await page.waitForSelector('#lamp[data-state=live]'); };
    // A flow is found, its form filled in, and the run watched.
    await world.goto(page, '/');
    await there(`${world.base}/`);
    await press('Control+k');
    await page.keyboard.type('run nightly');
    await page.waitForSelector('#found li[aria-selected=true] >> text=Run nightly…');
    await press('Enter');
    await there(/\/flows\/nightly\/run/);
    await page.focus('#param-1');
    await press('Control+a');
    await page.keyboard.type('4');
    await press('Enter');
    await there(/\/runs\/[0-9a-f-]{36}$/);
    await page.waitForSelector('#p-head .word:text("failed")');
    const first = page.url();
    // Its steps are walked along what connects them, and one is opened.
    await page.focus('.picture [data-step=fetch]');
    await press('ArrowRight');
    assert.match(await page.evaluate(() => document.activeElement.dataset.step), /build|lint/);
    await press('ArrowLeft', 'Enter');
    await page.waitForSelector('#panel .panel[data-step=fetch]');
    assert.ok(await page.evaluate(() => document.getElementById('panel').contains(document.activeElement)), 'one is where it was opened');
    await press('f');
    await page.waitForSelector('#panel .panel[data-step=test]');
    // Its times are zoomed into and out of.
    await press('2');
    await there(/view=time/);
    await press('w');
    await page.waitForSelector('.minimap');
    await there(/begin=/);
    const long = () => page.evaluate(() => document.getElementById('p-gantt').dataset.end - document.getElementById('p-gantt').dataset.begin);
    const part = await long(), zoomed = page.url();
    await press('s');
    await there((url) => url.href !== zoomed);
    assert.ok((await long()) > part);
    // What failed is retried: the first action, its preview, yes.
    await world.goto(page, new URL(first).pathname);
    await there(first);
    await press('.');
    await page.waitForSelector('dialog .primary:focus');
    await press('Enter');
    await page.waitForURL((url) => url.href !== first && url.pathname.startsWith('/runs/'));
    await page.waitForSelector('#p-head .word:text("failed")');
    await page.waitForSelector('#lamp[data-state=live]');
    // Its log is searched, and lines of it are copied.
    await press('l');
    await page.waitForSelector('.log-row.here >> text=expected 3, found 4');
    await page.waitForSelector('.log-view:focus');
    await press('/');
    await page.keyboard.type('level');
    await press('Enter');
    await page.waitForSelector('.log-sum >> text=1 of 1');
    await press('Escape', ':');
    await page.keyboard.type('1-2');
    await press('Enter', 'y');
    await page.waitForSelector('.log-note >> text=2 lines copied');
    assert.equal(await page.evaluate(() => navigator.clipboard.readText()), 'level 4\nexpected 3, found 4\n');
    // A schedule is paused where it stands in the list, and one stays on its button.
    await world.goto(page, '/schedules');
    await page.waitForSelector('#lamp[data-state=live]');
    await page.focus('tr:has-text("nightly") button');
    await press('Enter');
    await page.waitForSelector('tr:has-text("nightly") button:text("Resume"):focus');
    await press('Enter');
    await page.waitForSelector('tr:has-text("nightly") button:text("Pause"):focus');
    // What the button does is in its message as a command, which Enter copies.
    await page.waitForSelector('.toast code.command >> nth=1');
    await page.focus('.toast:last-child code.command');
    await press('Enter');
    await page.waitForSelector('.toast >> text=Copied.');
    assert.equal(await page.evaluate(() => navigator.clipboard.readText()), 'tidewheel schedule resume nightly/nightly');
  },

  async 'who is on something stays on it while the page changes around it'(world, page) {
    const other = await world.window();
    const asks = async () => {
      const { run_id: run } = await world.api(other, 'POST', '/runs', { flow: 'release' });
      await world.asking(other, run);
      return run;
    };
    const runs = [await asks(), await asks(), await asks()];
    const answer = (run) => world.api(other, 'POST', `/runs/${run}/steps/ask/answer`, { approved: true, by: '' });
    await world.goto(page, '/approvals');
    await page.waitForSelector('#lamp[data-state=live]');
    const order = await page.locator('#p-asking [data-answer=yes]').evaluateAll((all) => all.map((it) => it.dataset.run));
    const [first, second, third] = order.filter((it) => runs.includes(it));
    // What was above it goes: one is on the same question.
    await page.focus(`[data-answer=yes][data-run="${second}"]`);
    await answer(first);
    await page.waitForSelector(`[data-run="${first}"]`, { state: 'detached' });
    assert.equal(await page.evaluate(() => document.activeElement.dataset.run), second);
    // It goes itself: one is on what took its place, and not lost.
    await answer(second);
    await page.waitForSelector(`[data-run="${second}"]`, { state: 'detached' });
    await page.waitForFunction(() => document.activeElement !== document.body);
    assert.ok(await page.evaluate(() => document.getElementById('main').contains(document.activeElement)));
    // A dialog gives back what it took.
    await page.focus(`[data-answer=no][data-run="${third}"]`);
    await page.keyboard.press('Enter');
    await page.waitForSelector('dialog input:focus');
    await page.keyboard.press('Escape');
    await page.waitForSelector(`[data-answer=no][data-run="${third}"]:focus`);
    await answer(third);

    // New runs come above it: one is on the same run.
    const run = await world.run(other, 'chatty');
    await world.goto(page, '/runs');
    await page.waitForSelector('#lamp[data-state=live]');
    await page.focus(`#r-${run} th a`);
    const newer = await world.run(other, 'chatty');
    await page.waitForSelector(`#r-${newer} .word:text("succeeded")`);
    assert.equal(await page.evaluate(() => document.activeElement.closest('tr').id), `r-${run}`);
    await other.context().close();
  },

  async 'axe-core finds nothing, on any page, in any theme, width and state'(world, page) {
    const run = await world.run(page, 'nightly');
    const odd = await world.run(page, 'a-flow-whose-name-is-longer-than-any-telephone-is-wide-and-has-no-space-in-it', { who: 'you' });
    const { run_id: asking } = await world.api(page, 'POST', '/runs', { flow: 'release' });
    const { run_id: crowd } = await world.api(page, 'POST', '/runs', { flow: 'crowd' });
    await world.asking(page, asking);
    const nobody = await world.browser.newContext();
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
      'picked': async (tab) => { await world.goto(tab, '/runs'); await tab.check(`[data-pick="${run}"]`); },
      'a preview': async (tab) => { await world.goto(tab, `/runs/${run}`); await tab.click('#p-head >> text=Retry…'); await tab.waitForSelector('dialog .command'); },
      'a danger': async (tab) => { await world.goto(tab, `/runs/${crowd}`); await tab.click('#p-head >> text=Cancel…'); await tab.waitForSelector('dialog .command'); },
      'a question': async (tab) => { await world.goto(tab, '/approvals'); await tab.click('[data-answer=no]'); await tab.waitForSelector('dialog input'); },
      'a backfill': async (tab) => { await world.goto(tab, '/schedules/nightly%2Fnightly'); await tab.click('text=Backfill…'); await tab.waitForSelector('dialog input'); },
      'the palette': async (tab) => { await world.goto(tab, '/'); await tab.waitForSelector('html.script'); await tab.keyboard.press('Control+k'); await tab.keyboard.type('n'); await tab.waitForSelector('#found li >> nth=3'); },
      'a message': async (tab) => { await world.goto(tab, `/runs/${crowd}`); await tab.click('#p-head >> text=Pause'); await tab.waitForSelector('.toast >> text=Undo'); await tab.waitForSelector('#p-head >> text=Resume'); },
      'a wrong field': async (tab) => { await world.goto(tab, '/flows/nightly/run'); await tab.fill('#param-1', '99'); await tab.click('text=Start'); await tab.waitForSelector('[data-wrong]'); },
      'a plan': async (tab) => { await world.goto(tab, '/flows/nightly/run'); await tab.click('#plan'); await tab.waitForSelector('#planned:not([hidden])'); },
      'a search': async (tab) => { await world.goto(tab, `/runs/${run}/steps/test/log`); await tab.waitForSelector('.log-row'); await tab.fill('.log-search', 'found'); await tab.waitForSelector('.log-sum >> text=1 of 1'); },
      'a part of its time': async (tab) => world.goto(tab, `/runs/${run}?view=time&begin=0&end=0.01`),
      'not live': async (tab) => { await world.goto(tab, '/'); await tab.waitForSelector('#lamp[data-state=live]'); await tab.context().setOffline(true); await tab.evaluate(() => dispatchEvent(new Event('pagehide'))); await tab.evaluate(() => dispatchEvent(new Event('online'))); await tab.waitForSelector('#lamp[data-state=lost]'); },
    };
    const all = [...plain.map((path) => [path, (tab) => world.goto(tab, path)]), ...Object.entries(states)];
    const tabs = await Promise.all([world.window(), world.window()]);
    const strangers = await nobody.newPage();
    await Promise.all([...tabs.map(async (tab) => {
      for (let next; (next = all.shift());) {
        const [what, open] = next;
        await open(tab);
        await tab.waitForSelector('html.script');
        await look(tab, what);
        await tab.context().setOffline(false);
      }
    }), (async () => {
      // Who is not logged in, and who may only look.
      await strangers.goto(`${world.base}/runs`);
      await look(strangers, 'a stranger');
      const { secret } = JSON.parse(await world.command('tidewheel token create looker --role viewer --format json'));
      const link = await world.command(`TIDEWHEEL_TOKEN=${secret} tidewheel login ${world.base} --no-open`);
      await strangers.goto(link.match(/http\S+/)[0]);
      await look(strangers, 'a login');
      await strangers.click('main button.primary');
      await strangers.waitForURL(`${world.base}/`);
      for (const path of ['/', '/approvals', '/flows/nightly/run', '/system?tab=tokens', `/runs/${run}`, '/schedules']) {
        await world.goto(strangers, path);
        await look(strangers, `who may look, ${path}`);
      }
    })()]);
    for (const tab of tabs) {
      assert.deepEqual(tab.wrong.filter((it) => !/fetch|EventSource/i.test(it)), []);
      await tab.context().close();
    }
    await nobody.close();
    for (const it of [asking, crowd]) await world.api(page, 'POST', `/runs/${it}/cancel`, {});
    assert.deepEqual([...new Set(wrong)], []);
  },

  async 'on a telephone all pages fit and everything can be touched'(world, page) {
    const { run_id: asking } = await world.api(page, 'POST', '/runs', { flow: 'release' });
    const { run_id: crowd } = await world.api(page, 'POST', '/runs', { flow: 'crowd' });
    await world.asking(page, asking);
    const odd = await world.run(page, 'a-flow-whose-name-is-longer-than-any-telephone-is-wide-and-has-no-space-in-it', { who: 'you' });
    const failed = await world.run(page, 'nightly');
    const context = await world.browser.newContext({ viewport: { width: 360, height: 740 }, hasTouch: true, isMobile: true, storageState: world.state });
    const phone = await context.newPage();
    const wrong = [];
    for (const path of [...PAGES(failed), `/runs/${odd}`, `/runs/${odd}?view=time`, `/runs/${odd}?view=list`, `/runs/${crowd}`, `/runs/${crowd}?view=list`, `/runs/${asking}`, `/runs/${odd}/steps/a-step-with-a-name-that-is-longer-than-any-telephone-is-wide-and-has-no-space/log`, '/flows/a-flow-whose-name-is-longer-than-any-telephone-is-wide-and-has-no-space-in-it/run']) {
      await world.goto(phone, path);
      await phone.waitForSelector('html.script');
      if (path.endsWith('/steps/test/log')) await phone.waitForSelector('.log-row');
      wrong.push(...[...(await wideness(phone)), ...(await small(phone))].map((it) => `${path}: ${it}`));
    }
    assert.deepEqual(wrong, []);

    // Of a long history the newest runs are seen, which stand on the right, without scripts too.
    for (let time = 0; time < 12; time++) await world.run(page, 'nightly');
    const plain = await world.window({ width: 360, height: 740, javaScriptEnabled: false });
    for (const tab of [phone, plain]) {
      await world.goto(tab, '/flows/nightly?tab=history');
      const box = await tab.locator('.grid-box').boundingBox(), heads = tab.locator('.grid thead th');
      const [oldest, newest] = [await heads.nth(1).boundingBox(), await heads.last().boundingBox()];
      assert.ok(oldest.x < box.x, 'there is more than can be seen');
      assert.ok(newest.x > box.x && newest.x + newest.width <= box.x + box.width + 1, `the newest run is at ${newest.x} of ${box.width}`);
    }
    await plain.context().close();
    // A log has what is left of the screen, with all of its controls.
    await world.goto(phone, `/runs/${failed}/steps/test/log`);
    await phone.waitForSelector('.log-row');
    const [beyond, high] = await phone.evaluate(() => {
      const parts = [...document.querySelectorAll('.log-bar > *, .log-view, .log-note')].filter((it) => it.checkVisibility());
      const bottom = Math.max(...parts.map((it) => it.getBoundingClientRect().bottom));
      return [Math.max(bottom, document.documentElement.scrollHeight) - innerHeight, document.querySelector('.log-view').clientHeight];
    });
    assert.ok(beyond <= 0, `${beyond} of the log are below the screen`);
    assert.ok(high >= 200, `${high} of its lines are seen`);

    // A run is started, its log read, and a question answered, with nothing but a finger.
    await world.goto(phone, '/flows');
    await phone.waitForSelector('html.script');
    await phone.tap('tr:has-text("nightly") >> text=Run…');
    await phone.waitForURL(/\/flows\/nightly\/run/);
    await phone.waitForSelector('html.script');
    await phone.tap('#form [type=submit]');
    await phone.waitForURL(/\/runs\/[0-9a-f-]{36}$/);
    await phone.waitForSelector('#p-head .word:text("failed")');
    await phone.tap('#p-broken >> text=Log');
    await phone.waitForSelector('.log-row.here >> text=expected 3, found 4');
    await phone.tap('.bar nav >> text=Approvals');
    await phone.waitForSelector('html.script');
    await phone.tap(`#p-asking [data-answer=yes][data-run="${asking}"]`);
    await phone.tap('dialog .primary');
    await world.until(page, asking, ['succeeded']);
    await world.api(page, 'POST', `/runs/${crowd}/cancel`, {});
    await context.close();
  },

  async 'the box offers whoever only looks nothing that they may not do'(world, page) {
    const { secret } = JSON.parse(await world.command('tidewheel token create reader --role viewer --format json'));
    const link = await world.command(`TIDEWHEEL_TOKEN=${secret} tidewheel login ${world.base} --no-open`);
    const context = await world.browser.newContext(), reader = await context.newPage();
    await reader.goto(link.match(/http\S+/)[0]);
    await reader.click('main button.primary');
    await reader.waitForURL(`${world.base}/`);
    for (const [tab, offered] of [[page, 1], [reader, 0]]) {
      await world.goto(tab, '/');
      await tab.waitForSelector('html.script');
      await tab.keyboard.press('Control+k');
      await tab.keyboard.type('nightly');
      await tab.waitForSelector('#found li:has-text("schedule")');
      assert.equal(await tab.locator('#found li:has-text("Run nightly…")').count(), offered);
    }
    await context.close();
  },

  async 'every mark has a shape of its own, without its colour'(world, page) {
    await world.goto(page, '/');
    const symbols = await page.locator('.sprite symbol[id^=m-]').evaluateAll((all) => all.map((it) => [it.id.slice(2), it.innerHTML]));
    assert.ok(symbols.length >= 14);
    // Drawn in black on white beside each other, away from the page and its policy.
    const blank = await page.context().newPage();
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
    await blank.close();
    assert.deepEqual(alike, []);
  },
};

// What a person does with the page, in a real browser. Each test is a function whose name says what holds. `run.mjs` runs them.
import assert from 'node:assert/strict';
import { back, box, check, click, drag, evaluate, expect, expectCount, expectText, expectTexts, expectThat, expectVisible, fill, focus, keepMessages, now, press, select, settled, stopClock, text, type } from './actions.mjs';
import { EVIL, FLOWS as SHARED } from './flows.mjs';
import { PAGES } from './reached.mjs';

export const FLOWS = SHARED;

export const tests = {
  async 'a run is started with a param and watched to its end'(world, page) {
    await world.goto(page, '/flows/nightly/run');
    await expectText(page, '[data-param=level] label', /level int, 1 to 9/);
    await fill(page, '[data-param=level] input', '99');
    await click(page, 'text=Start');
    await page.waitForSelector('[data-param=level][data-wrong] .wrong:not([hidden])');
    await expectText(page, '[data-param=level] .wrong', /9/);
    await fill(page, '[data-param=level] input', '5');
    await click(page, 'text=What would it do?');
    await expectText(page, '#planned:not([hidden])', /5 steps/);
    await click(page, 'text=Start');
    await page.waitForURL(/\/runs\/[0-9a-f-]{36}$/);
    // Nobody reloads: it comes to its end by itself.
    await page.waitForSelector('#p-head .word:text("succeeded")');
    await page.waitForSelector('.picture .state-succeeded[data-step=publish]');
    await expectText(page, '#p-params', /level\s*5/);
    await expectText(page, '#p-head .facts', /started by hand/);
    await expectText(page, '#lamp span', 'live');
  },

  async 'what failed is seen first, and retried from a step after a preview'(world, page) {
    const run = await world.run('nightly');
    await world.goto(page, '/');
    await expectText(page, '#p-needs', /nightly.*expected 3, found 4/s);
    await click(page, '#p-needs a:has-text("nightly")');
    await page.waitForURL(`${world.base}/runs/${run}`);
    await expectText(page, '#panel', /exit code 1/);
    await click(page, '#panel >> text=Retry from here…');
    await expectText(page, 'dialog', /2 to be run again, 3 reused/);
    await expectText(page, 'dialog', /tidewheel retry \S+ --from test/);
    await press(page, 'Escape');
    await page.waitForSelector('dialog', { state: 'detached' });
    await settled(page);
    assert.equal(page.url(), `${world.base}/runs/${run}`, 'Esc does nothing');
    await click(page, '#panel >> text=Retry from here…');
    await click(page, 'dialog .primary');
    await page.waitForURL((url) => url.pathname.startsWith('/runs/') && !url.pathname.endsWith(run));
    await page.waitForSelector('#p-head .word:text("failed")');
    await expectText(page, '#p-head .facts', new RegExp(`retry of ${run.slice(0, 13)}`));
  },

  async 'a step is chosen, and its log read'(world, page) {
    const run = await world.run('nightly');
    await world.goto(page, `/runs/${run}`);
    await click(page, '.picture [data-step=lint]');
    await page.waitForSelector('#panel .panel[data-step=lint]');
    await expectText(page, '#panel', /warning: one thing/);
    await click(page, '#panel >> text=Whole log');
    await page.waitForURL(/\/steps\/lint\/log/);
    await page.waitForSelector('#log >> text=one thing');
  },

  async 'somebody says yes by keys, with a note'(world, page) {
    const run = await world.submit('release');
    await world.goto(page, '/approvals');
    await page.waitForSelector('#p-asking >> text=Ship 2.1');
    // A server that is busy leaves the number out.
    const counted = async (path) => (await world.goto(page, path), now.text(page, '.bar nav .count'));
    for (const path of ['/approvals', '/runs', '/flows/nightly', '/keys']) await expect(() => counted(path), '1', path);
    await world.goto(page, '/approvals');
    await focus(page, '#p-asking [data-answer=yes]');
    await press(page, 'Enter');
    await page.waitForSelector('dialog input[name=note]:focus');
    await type(page, 'looks good');
    await press(page, 'Enter');
    await world.until(run, ['succeeded']);
    await page.waitForSelector('#p-asking >> text=Nobody is asked anything');
    await world.goto(page, '/system?tab=audit');
    await expectText(page, '#p-system', /answer/);
  },

  async 'a schedule is paused, and that undone'(world, page) {
    await keepMessages(page);
    await world.goto(page, '/schedules');
    await click(page, 'tr:has-text("nightly") >> text=Pause');
    await page.waitForSelector('tr:has-text("nightly") >> text=Resume');
    await click(page, '.toast >> text=Undo');
    await page.waitForSelector('tr:has-text("nightly") >> text=Pause');
    await click(page, '#p-schedules th >> text=nightly/nightly');
    await click(page, 'text=Run now');
    await page.waitForSelector('#p-past >> text=by-hand');
    await click(page, '#p-past tr:has-text("by-hand") a');
    await page.waitForSelector('#p-head .facts >> text=made by nightly/nightly');
    await expectText(page, '#p-head .facts', /fired by hand/);
  },

  async 'whatever waits says why and behind whom'(world, page) {
    const run = await world.submit('busy');
    await world.goto(page, '/queues');
    await page.waitForSelector('#p-waiting td:has-text("limit one has 1 of 1 in use")');
    await page.waitForSelector('#p-holders >> text=crunch');
    await click(page, '#p-waiting a:has-text("crunch[3]")');
    await expectText(page, '#panel .why', /limit one/);
    await world.goto(page, `/runs/${run}`);
    await click(page, 'text=Cancel…');
    await expectText(page, 'dialog', /1 running step is told to stop, \d are never started/);
    await click(page, 'dialog .primary');
    await page.waitForSelector('#p-head .word:text("cancelled")');
  },

  async 'keys and the palette reach everything'(world, page) {
    for (let time = 0; time < 2; time++) await world.run('nightly');
    // The second of two keys has a time in which it must come: it stands still meanwhile.
    await page.clock.install();
    await world.goto(page, '/');
    await stopClock(page);
    await press(page, 'g', 'r');
    await page.clock.resume();
    await page.waitForURL(`${world.base}/runs`);
    await press(page, 'j', 'j');
    await expectCount(page, '[data-here]', 1);
    await press(page, 'Enter');
    await page.waitForURL(/\/runs\/[0-9a-f-]{36}/);
    await press(page, '4');
    await page.waitForURL(/view=list/);
    await press(page, 'Control+k');
    await type(page, 'run nightly');
    await page.waitForSelector('#found li[aria-selected=true] >> text=Run nightly…');
    await press(page, 'Enter');
    await page.waitForURL(/\/flows\/nightly\/run/);
    await back(page);
    await page.waitForURL(/view=list/);
    await press(page, '?');
    await page.waitForURL(/\/keys/);
  },

  async 'nothing of somebody else’s is markup, on no page'(world, page) {
    const run = await world.run('nightly');
    const odd = await world.run('odd');
    await page.addInitScript(() => addEventListener('securitypolicyviolation', (event) => console.error(`policy: ${event.violatedDirective} ${event.blockedURI} ${event.sample}`)));
    for (const path of [...PAGES(run), `/runs/${odd}`, `/runs/${odd}?view=list`, `/flows/odd`, `/flows/odd/run`, `/flows/odd?tab=file`, `/runs/${odd}/steps/${encodeURIComponent(`a ${EVIL}`)}/log`]) {
      await world.goto(page, path);
      await expectCount(page, 'img, iframe, script:not([type=module])', 0, path);
    }
  },

  async 'without scripts all can be read, and commands say what to do'(world, page) {
    const run = await world.run('nightly');
    const plain = await world.window({ javaScriptEnabled: false });
    const texts = {
      '/': /Needs you.*nightly/s, '/flows': /Copies what matters/, '/flows/nightly': /5 steps in words/, '/flows/nightly?tab=history': /test.*F.*The newest is on the right/s,
      '/flows/nightly?tab=schedule': /0 2 \* \* \*/, '/flows/nightly?tab=file': /echo fetched 812 files/, '/flows/nightly/run': /How deep it looks/, '/runs': /nightly.*expected 3, found 4/s,
      '/runs?state=failed': /nightly.*expected 3, found 4/s, [`/runs/${run}`]: /level\s*3/, [`/runs/${run}?view=time`]: /fetch.*publish/s, [`/runs/${run}?view=slots`]: /Slot 1/,
      [`/runs/${run}?view=list`]: /fetch.*publish/s, [`/runs/${run}/steps/test`]: /exit code 1/, [`/runs/${run}/steps/test/log`]: /level 3\nexpected 3, found 4/,
      [`/runs/${run}/log`]: /fetched 812 files.*expected 3, found 4/s, '/queues': /Waiting, in the order of starting/, '/schedules': /nightly\/nightly.*Europe\/Berlin/s,
      '/schedules/nightly%2Fnightly': /What comes/, '/approvals': /Approvals/, '/system': /Since the server began/, '/system?tab=store': /not ended/, '/system?tab=tokens': /tidewheel token create/,
      '/system?tab=audit': /What was asked for/, '/keys': /has not begun/, '/nothing': /Not found/,
    };
    assert.deepEqual(Object.keys(texts).sort(), [...PAGES(run)].sort(), 'a new page belongs here');
    for (const [path, shown] of Object.entries(texts)) {
      await world.goto(plain, path);
      await expectThat(plain, () => document.querySelector('main').innerText, shown);
    }
    await world.goto(plain, `/runs/${run}`);
    await expectText(plain, 'main', /expected 3, found 4/);
    await expectVisible(plain, 'text=Retry…', false, 'no button that does nothing');
    await click(plain, '#p-head .commands summary');
    await expectVisible(plain, `text=tidewheel retry ${run.slice(0, 13)}`, true);
  },

  async 'runs are picked from the list, and retried and cancelled together'(world, page) {
    const failed = [await world.run('nightly'), await world.run('nightly')];
    const busy = await world.submit('busy');
    await world.until(busy, ['running']);
    await keepMessages(page);
    await world.goto(page, '/runs');
    for (const run of [...failed, busy]) await check(page, `[data-pick="${run}"]`);
    await expectText(page, '#picked [role=status]', '3 selected');
    await click(page, '#picked >> text=Retry…');
    await expectText(page, 'dialog', /2 runs: 4 steps to be run again, 6 reused/);
    await expectText(page, 'dialog', /for run in \S+ \S+; do tidewheel retry \$run; done/);
    await click(page, 'dialog .primary');
    await page.waitForSelector('.toast >> text=2 started again');
    await check(page, `[data-pick="${busy}"]`);
    await click(page, '#picked >> text=Cancel…');
    await click(page, 'dialog .primary');
    await world.until(busy, ['cancelled']);
    await page.waitForSelector(`#r-${busy} .word:text("cancelled")`);
  },

  async 'a view of runs is kept under a name, and is an address'(world, page) {
    await world.run('nightly');
    await world.goto(page, '/runs?state=failed&flow=nightly');
    await click(page, '#keep');
    await type(page, 'Broken nights');
    await press(page, 'Enter');
    await page.waitForSelector('#views a[aria-current=page] >> text=Broken nights');
    await world.goto(page, '/runs');
    await click(page, '#views >> text=Broken nights');
    await page.waitForURL(/state=failed&flow=nightly/);
    await expectCount(page, '#p-runs tbody tr .word:not(:text("failed"))', 0);
    // Who has chosen a state can choose any again.
    await select(page, '.filter [name=state]', 'Any state');
    await click(page, '.filter button');
    await page.waitForURL(/state=&flow=nightly/);
    await page.waitForSelector('.filter [name=state] option:checked:text("Any state")', { state: 'attached' });
    await world.goto(page, '/runs?state=failed&flow=nightly');
    await click(page, '[aria-label="Forget Broken nights"]');
    await page.waitForSelector('#views:not(:has(a))', { state: 'attached' });
  },

  async 'the history of a flow shows since when a step fails'(world, page) {
    await world.run('nightly', { level: 5 });
    await world.run('nightly');
    await world.goto(page, '/flows/nightly?tab=history');
    const row = '.grid tr:has(bdi:text-is("test"))';
    await expectTexts(page, `${row} td`, (all) => all.slice(-2).join() === 'S,F');
    await click(page, page.locator(`${row} td.is-failed a`).last());
    await page.waitForURL(/\/runs\/[^/]+\/steps\/test$/);
  },

  async 'all that a run said is on one page, in the order of beginning'(world, page) {
    const run = await world.run('nightly');
    await world.goto(page, `/runs/${run}`);
    await press(page, 'Shift+L');
    await page.waitForURL(`${world.base}/runs/${run}/log`);
    const said = await text(page, '#p-story');
    assert.ok(said.indexOf('fetched 812 files') < said.indexOf('expected 3, found 4'), said);
  },

  async 'a log is searched, filtered, copied and linked by its lines'(world, page) {
    const run = await world.run('chatty');
    await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
    await world.goto(page, `/runs/${run}/steps/talk/log#L120-L122`);
    await page.waitForSelector('.log-row.chosen >> text=line 121 of many');
    await expectCount(page, '.log-row.chosen', 3);
    await focus(page, '.log-view');
    await press(page, 'y');
    await page.waitForSelector('.log-note >> text=3 lines copied');
    // The log is drawn again, and the message stays.
    await page.setViewportSize({ width: 1280, height: 700 });
    await page.evaluate(async () => { for (let frame = 0; frame < 5; frame++) await new Promise(requestAnimationFrame); });
    await expectText(page, '.log-note', '3 lines copied');
    assert.equal(await page.evaluate(() => navigator.clipboard.readText()), 'line 120 of many\nline 121 of many\nline 122 of many\n');
    await press(page, '/');
    await type(page, '99 of');
    await page.waitForSelector('.log-sum >> text=of 30');
    await focus(page, '.log-view');
    await press(page, '&');
    await page.waitForSelector('.log-note >> text=30 of 3,000 lines');
    await press(page, '&');
    await press(page, 'End');
    await page.waitForSelector('.log-row >> text=line 3000 of many');
  },

  async 'what happens while a page is asked for again is not missed'(world, page) {
    const run = await world.submit('release');
    await world.goto(page, `/runs/${run}`);
    await page.waitForSelector('#lamp[data-state=live]');
    await world.asking(run);
    let held = 0;
    await page.route(`**/runs/${run}`, async (route) => {
      const answer = await route.fetch();
      if (!held++) {
        await world.api('POST', `/runs/${run}/steps/ask/answer`, { approved: true, by: '' });
        await world.until(run, ['succeeded']);
      }
      await route.fulfill({ response: answer });
    });
    await world.api('POST', `/runs/${run}/pause`);
    await world.api('POST', `/runs/${run}/resume`);
    await page.waitForSelector('#p-head .word:text("succeeded")');
    await page.unrouteAll({ behavior: 'wait' });
  },

  async 'a part of the time of a run is chosen by dragging over it'(world, page) {
    const run = await world.run('nightly');
    await world.goto(page, `/runs/${run}?view=time`);
    await page.waitForSelector('#lamp[data-state=live]');
    const { x, y, width } = await box(page, '.ticks');
    await drag(page, [x + width * 0.25, y + 8], [x + width * 0.75, y + 8]);
    await page.waitForURL(/begin=.*end=/);
    await page.waitForSelector('.minimap');
    const { begin, end } = await evaluate(page, () => ({ ...document.getElementById('p-gantt').dataset }));
    assert.ok(Number(begin) > 0 && Number(end) > Number(begin), `${begin} ${end}`);
    await click(page, 'text=All of its time');
    await page.waitForSelector('.minimap', { state: 'detached' });
  },

  async 'one step is skipped, and the others go on'(world, page) {
    const run = await world.submit('line');
    await world.goto(page, `/runs/${run}/steps/low`);
    await click(page, '#panel [data-skip]');
    await page.waitForSelector('dialog >> text=What needs it is skipped');
    await expectText(page, 'dialog code.command', `tidewheel cancel ${run.slice(0, 13)} low`);
    assert.deepEqual(await world.axe(page), []);
    await click(page, 'dialog .primary');
    await page.waitForSelector('#panel .facts >> text=cancelled');
    await expectCount(page, '#panel [data-skip]', 0, 'it has ended');
    await world.signal(run);
    await world.until(run, ['succeeded', 'failed', 'cancelled']);
    const { steps } = await world.api('GET', `/runs/${run}/steps`);
    const state = (name) => steps.find((it) => it.step === name).state;
    assert.deepEqual(['low', 'middle', 'high'].map(state), ['cancelled', 'succeeded', 'succeeded']);
    await world.goto(page, '/system?tab=audit');
    await page.waitForSelector('#p-system >> text=step low');
  },

  async 'with colours of the system nothing is lost'(world, page) {
    const run = await world.run('nightly');
    await page.emulateMedia({ forcedColors: 'active' });
    for (const path of ['/', `/runs/${run}`, `/runs/${run}?view=time`, '/flows/nightly?tab=history']) {
      await world.goto(page, path);
      const unseen = await page.evaluate(() => {
        const ground = getComputedStyle(document.body).backgroundColor;
        const shapes = document.querySelectorAll('.mark use, .lane rect, .bars path, .g');
        return [...shapes].filter((it) => [it.tagName === 'rect' ? getComputedStyle(it).fill : getComputedStyle(it).color].includes(ground)).length;
      });
      assert.equal(unseen, 0, path);
    }
  },

  async 'a server that is gone is seen to be gone, and what was missed is caught up'(world) {
    const own = await world.another(FLOWS), page = await own.window();
    await keepMessages(page);
    await own.goto(page, '/');
    await page.waitForSelector('#lamp[data-state=live]');
    await own.kill({ except: [page] });
    await page.waitForSelector('#lamp[data-state=lost]');
    await expectText(page, '#lamp', /not live since/);
    await own.serve();
    // Sessions are gone with the server, and that is said.
    await page.waitForSelector('.band >> text=tidewheel login');
    // Whoever logs in does so in another tab, and comes back.
    const tab = await own.tab(page.context());
    await own.login(tab, own.base + own.server.link);
    await own.close(tab);
    await page.evaluate(() => dispatchEvent(new Event('focus')));
    await page.waitForSelector('#lamp[data-state=live] >> text=caught up');
    await page.waitForSelector('.band', { state: 'detached' });
  },
};

/** Errors that a test causes. */
export const expects = {
  'a server that is gone is seen to be gone, and what was missed is caught up': [/EventSource|fetch/i],
};

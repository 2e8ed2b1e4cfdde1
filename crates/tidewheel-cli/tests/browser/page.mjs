// What a person does with the page, in a real browser. Each test is a function with a name that says what holds; more of
// them are in the files beside: what is shown, what is done, what changes, what is large, and who reaches it.
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import * as acted from './acted.mjs';
import * as corpus from './corpus.mjs';
import * as large from './large.mjs';
import * as live from './live.mjs';
import * as pictures from './pictures.mjs';
import * as reached from './reached.mjs';
import * as shown from './shown.mjs';
import { World } from './world.mjs';

const EVIL = '<img src=x onerror=alert(1)>';
const FLOWS = {
  'nightly.yaml': `
name: nightly
description: Copies what matters, checks it, and tells.
params: { level: { type: int, default: 3, min: 1, max: 9, description: How deep it looks } }
schedule: [{ name: nightly, cron: '0 2 * * *', zone: Europe/Berlin }]
flow:
  - { name: fetch, run: 'echo fetched 812 files' }
  - { name: build, run: 'echo built', depends_on: [fetch] }
  - { name: lint, run: 'printf "\\033[33mwarning\\033[0m: one thing\\n"', depends_on: [fetch] }
  - { name: test, run: 'echo level $LEVEL; if [ $LEVEL = 5 ]; then exit 0; fi; echo expected 3, found 4 >&2; exit 1', env: { LEVEL: '{{ params.level }}' }, depends_on: [build] }
  - { name: publish, run: 'echo published', depends_on: [test, lint] }
`,
  'release.yaml': `
name: release
tags: [ship]
flow:
  - { name: pack, run: 'echo packed', outputs: { size: '42' } }
  - { name: ask, wait: { approval: 'Ship 2.1 to everybody?', every: 50ms }, depends_on: [pack] }
  - { name: ship, run: 'echo shipped', depends_on: [ask] }
`,
  'odd.yaml': `
name: odd
description: "${EVIL}"
tags: ["${EVIL}"]
params: { who: { default: "${EVIL}" } }
flow:
  - { name: "a ${EVIL}", run: "printf '${EVIL}\\\\033]0;title\\\\007\\\\n'; echo '<script>alert(2)</script>' >&2; exit 1" }
`,
  'large.yaml': `
name: large
flow:
  - { name: each, foreach: ${JSON.stringify(Array.from({ length: 1500 }, (_, it) => it))}, wait: 1ms }
`,
  'chatty.yaml': `
name: chatty
flow:
  - { name: talk, run: 'seq -f "line %g of many" 1 3000' }
`,
  'busy.yaml': `
name: busy
limits: { one: { units: 1 } }
flow:
  - { name: crunch, foreach: [1, 2, 3, 4], run: 'sleep 60', limits: { one: 1 } }
`,
};

const tests = {
  async 'a run is started with a param and watched to its end'(world, page) {
    await world.goto(page, '/flows/nightly/run');
    assert.match(await page.textContent('[data-param=level] label'), /level int, 1 to 9/);
    await page.fill('[data-param=level] input', '99');
    await page.click('text=Start');
    await page.waitForSelector('[data-param=level][data-wrong] .wrong:not([hidden])');
    assert.match(await page.textContent('[data-param=level] .wrong'), /9/);
    await page.fill('[data-param=level] input', '5');
    await page.click('text=What would it do?');
    assert.match(await page.textContent('#planned:not([hidden])'), /5 steps/);
    await page.click('text=Start');
    await page.waitForURL(/\/runs\/[0-9a-f-]{36}$/);
    // Nobody reloads: it comes to its end by itself.
    await page.waitForSelector('#p-head .word:text("succeeded")');
    await page.waitForSelector('.picture .state-succeeded[data-step=publish]');
    assert.match(await page.textContent('#p-params'), /level\s*5/);
    assert.match(await page.textContent('#p-head .facts'), /started by hand/);
    assert.equal(await page.textContent('#lamp span'), 'live');
  },

  async 'what failed is seen first, and retried from a step after a preview'(world, page) {
    const run = await world.run(page, 'nightly');
    await world.goto(page, '/');
    assert.match(await page.textContent('#p-needs'), /nightly.*expected 3, found 4/s);
    await page.click('#p-needs a:has-text("nightly")');
    await page.waitForURL(`${world.base}/runs/${run}`);
    assert.match(await page.textContent('#panel'), /exit code 1/);
    await page.click('#panel >> text=Retry from here…');
    const dialog = page.locator('dialog');
    assert.match(await dialog.textContent(), /2 to be run again, 3 reused/);
    assert.match(await dialog.textContent(), /tidewheel retry \S+ --from test/);
    await page.keyboard.press('Escape');
    assert.equal(page.url(), `${world.base}/runs/${run}`, 'Esc does nothing');
    await page.click('#panel >> text=Retry from here…');
    await page.click('dialog .primary');
    await page.waitForURL((url) => url.pathname.startsWith('/runs/') && !url.pathname.endsWith(run));
    await page.waitForSelector('#p-head .word:text("failed")');
    assert.match(await page.textContent('#p-head .facts'), new RegExp(`retry of ${run.slice(0, 13)}`));
  },

  async 'a step is chosen, and its log read'(world, page) {
    const run = await world.run(page, 'nightly');
    await world.goto(page, `/runs/${run}`);
    await page.click('.picture [data-step=lint]');
    await page.waitForSelector('#panel .panel[data-step=lint]');
    assert.match(await page.textContent('#panel'), /warning: one thing/);
    await page.click('#panel >> text=Whole log');
    await page.waitForURL(/\/steps\/lint\/log/);
    await page.waitForSelector('#log >> text=one thing');
  },

  async 'somebody says yes by keys, with a note'(world, page) {
    const { run_id: run } = await world.api(page, 'POST', '/runs', { flow: 'release' });
    await world.goto(page, '/approvals');
    await page.waitForSelector('#p-asking >> text=Ship 2.1');
    assert.equal(await page.textContent('.bar nav .count'), '1');
    for (const path of ['/runs', '/flows/nightly', '/keys']) {
      await world.goto(page, path);
      assert.equal(await page.textContent('.bar nav .count'), '1', path);
    }
    await world.goto(page, '/approvals');
    await page.focus('#p-asking [data-answer=yes]');
    await page.keyboard.press('Enter');
    await page.waitForSelector('dialog input[name=note]:focus');
    await page.keyboard.type('looks good');
    await page.keyboard.press('Enter');
    await world.until(page, run, ['succeeded']);
    await page.waitForSelector('#p-asking >> text=Nobody is asked anything');
    await world.goto(page, '/system?tab=audit');
    assert.match(await page.textContent('#p-system'), /answer/);
  },

  async 'a schedule is paused, and that undone'(world, page) {
    await world.goto(page, '/schedules');
    await page.click('tr:has-text("nightly") >> text=Pause');
    await page.waitForSelector('tr:has-text("nightly") >> text=Resume');
    await page.click('.toast >> text=Undo');
    await page.waitForSelector('tr:has-text("nightly") >> text=Pause');
    await page.click('#p-schedules th >> text=nightly/nightly');
    await page.click('text=Run now');
    await page.waitForSelector('#p-past >> text=by-hand');
    await page.click('#p-past tr:has-text("by-hand") a');
    await page.waitForSelector('#p-head .facts >> text=made by nightly/nightly');
    assert.match(await page.textContent('#p-head .facts'), /fired by hand/);
  },

  async 'whatever waits says why and behind whom'(world, page) {
    const { run_id: run } = await world.api(page, 'POST', '/runs', { flow: 'busy' });
    await world.goto(page, '/queues');
    await page.waitForSelector('#p-waiting td:has-text("limit one has 1 of 1 in use")');
    await page.waitForSelector('#p-holders >> text=crunch');
    await page.click('#p-waiting a:has-text("crunch[3]")');
    assert.match(await page.textContent('#panel .why'), /limit one/);
    await world.goto(page, `/runs/${run}`);
    await page.click('text=Cancel…');
    assert.match(await page.textContent('dialog'), /1 running step is told to stop, \d are never started/);
    await page.click('dialog .primary');
    await page.waitForSelector('#p-head .word:text("cancelled")');
  },

  async 'keys and the palette reach everything'(world, page) {
    await world.goto(page, '/');
    await page.keyboard.press('g');
    await page.keyboard.press('r');
    await page.waitForURL(`${world.base}/runs`);
    await page.keyboard.press('j');
    await page.keyboard.press('j');
    assert.equal(await page.locator('[data-here]').count(), 1);
    await page.keyboard.press('Enter');
    await page.waitForURL(/\/runs\/[0-9a-f-]{36}/);
    await page.keyboard.press('4');
    await page.waitForURL(/view=list/);
    await page.keyboard.press('Control+k');
    await page.keyboard.type('run nightly');
    await page.waitForSelector('#found li[aria-selected=true] >> text=Run nightly…');
    await page.keyboard.press('Enter');
    await page.waitForURL(/\/flows\/nightly\/run/);
    await page.goBack();
    await page.waitForURL(/view=list/);
    await page.keyboard.press('?');
    await page.waitForURL(/\/keys/);
  },

  async 'nothing of somebody else’s is markup, on no page'(world, page) {
    const run = await world.run(page, 'nightly');
    const odd = await world.run(page, 'odd');
    await page.addInitScript(() => addEventListener('securitypolicyviolation', (event) => console.error(`policy: ${event.violatedDirective} ${event.blockedURI} ${event.sample}`)));
    for (const path of [...reached.PAGES(run), `/runs/${odd}`, `/runs/${odd}?view=list`, `/flows/odd`, `/flows/odd/run`, `/flows/odd?tab=file`, `/runs/${odd}/steps/${encodeURIComponent(`a ${EVIL}`)}/log`]) {
      await world.goto(page, path);
      assert.equal(await page.locator('img, iframe, script:not([type=module])').count(), 0, path);
    }
  },

  async 'without scripts all can be read, and commands say what to do'(world, page) {
    const run = await world.run(page, 'nightly');
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
    assert.deepEqual(Object.keys(texts).sort(), [...reached.PAGES(run)].sort(), 'a new page belongs here');
    for (const [path, text] of Object.entries(texts)) {
      await world.goto(plain, path);
      assert.match(await plain.locator('main').innerText(), text, path);
    }
    await world.goto(plain, `/runs/${run}`);
    assert.match(await plain.textContent('main'), /expected 3, found 4/);
    assert.equal(await plain.isVisible('text=Retry…'), false, 'no button that does nothing');
    await plain.click('#p-head .commands summary');
    assert.equal(await plain.isVisible(`text=tidewheel retry ${run.slice(0, 13)}`), true);
    await plain.context().close();
  },

  async 'runs are picked from the list, and retried and cancelled together'(world, page) {
    const failed = [await world.run(page, 'nightly'), await world.run(page, 'nightly')];
    const { run_id: busy } = await world.api(page, 'POST', '/runs', { flow: 'busy' });
    await world.until(page, busy, ['running']);
    await world.goto(page, '/runs');
    for (const run of [...failed, busy]) await page.check(`[data-pick="${run}"]`);
    assert.equal(await page.textContent('#picked [role=status]'), '3 selected');
    await page.click('#picked >> text=Retry…');
    assert.match(await page.textContent('dialog'), /2 runs: 4 steps to be run again, 6 reused/);
    assert.match(await page.textContent('dialog'), /for run in \S+ \S+; do tidewheel retry \$run; done/);
    await page.click('dialog .primary');
    await page.waitForSelector('.toast >> text=2 started again');
    await page.check(`[data-pick="${busy}"]`);
    await page.click('#picked >> text=Cancel…');
    await page.click('dialog .primary');
    await world.until(page, busy, ['cancelled']);
    await page.waitForSelector(`#r-${busy} .word:text("cancelled")`);
  },

  async 'a view of runs is kept under a name, and is an address'(world, page) {
    await world.run(page, 'nightly');
    await world.goto(page, '/runs?state=failed&flow=nightly');
    await page.click('#keep');
    await page.keyboard.type('Broken nights');
    await page.keyboard.press('Enter');
    await page.waitForSelector('#views a[aria-current=page] >> text=Broken nights');
    await world.goto(page, '/runs');
    await page.click('#views >> text=Broken nights');
    await page.waitForURL(/state=failed&flow=nightly/);
    assert.equal(await page.locator('#p-runs tbody tr .word:not(:text("failed"))').count(), 0);
    // Who has chosen a state can choose any again.
    await page.selectOption('.filter [name=state]', 'Any state');
    await page.click('.filter button');
    await page.waitForURL(/state=&flow=nightly/);
    await page.waitForSelector('.filter [name=state] option:checked:text("Any state")', { state: 'attached' });
    await world.goto(page, '/runs?state=failed&flow=nightly');
    await page.click('[aria-label="Forget Broken nights"]');
    await page.waitForSelector('#views:not(:has(a))', { state: 'attached' });
  },

  async 'the history of a flow shows since when a step fails'(world, page) {
    await world.run(page, 'nightly', { level: 5 });
    await world.run(page, 'nightly');
    await world.goto(page, '/flows/nightly?tab=history');
    const row = page.locator('.grid tr:has(bdi:text-is("test"))');
    assert.deepEqual((await row.locator('td').allTextContents()).slice(-2), ['S', 'F']);
    await row.locator('td.is-failed a').last().click();
    await page.waitForURL(/\/runs\/[^/]+\/steps\/test$/);
  },

  async 'all that a run said is on one page, in the order of beginning'(world, page) {
    const run = await world.run(page, 'nightly');
    await world.goto(page, `/runs/${run}`);
    await page.keyboard.press('Shift+L');
    await page.waitForURL(`${world.base}/runs/${run}/log`);
    const said = await page.textContent('#p-story');
    assert.ok(said.indexOf('fetched 812 files') < said.indexOf('expected 3, found 4'), said);
  },

  async 'a log is searched, filtered, copied and linked by its lines'(world, page) {
    const run = await world.run(page, 'chatty');
    await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
    await world.goto(page, `/runs/${run}/steps/talk/log#L120-L122`);
    await page.waitForSelector('.log-row.chosen >> text=line 121 of many');
    assert.equal(await page.locator('.log-row.chosen').count(), 3);
    await page.focus('.log-view');
    await page.keyboard.press('y');
    await page.waitForSelector('.log-note >> text=3 lines copied');
    assert.equal(await page.evaluate(() => navigator.clipboard.readText()), 'line 120 of many\nline 121 of many\nline 122 of many\n');
    await page.keyboard.press('/');
    await page.keyboard.type('99 of');
    await page.waitForSelector('.log-sum >> text=of 30');
    await page.focus('.log-view');
    await page.keyboard.press('&');
    await page.waitForSelector('.log-note >> text=30 of 3,000 lines');
    await page.keyboard.press('&');
    await page.keyboard.press('End');
    await page.waitForSelector('.log-row >> text=line 3000 of many');
  },

  async 'what happens while a page is asked for again is not missed'(world, page) {
    const { run_id: run } = await world.api(page, 'POST', '/runs', { flow: 'release' });
    await world.goto(page, `/runs/${run}`);
    await page.waitForSelector('#lamp[data-state=live]');
    await world.asking(page, run);
    const other = await world.window();
    let held = 0;
    await page.route(`**/runs/${run}`, async (route) => {
      const answer = await route.fetch();
      if (!held++) {
        await world.api(other, 'POST', `/runs/${run}/steps/ask/answer`, { approved: true, by: '' });
        await world.until(other, run, ['succeeded']);
      }
      await route.fulfill({ response: answer });
    });
    await world.api(page, 'POST', `/runs/${run}/pause`);
    await world.api(page, 'POST', `/runs/${run}/resume`);
    await page.waitForSelector('#p-head .word:text("succeeded")');
    await other.context().close();
  },

  async 'a part of the time of a run is chosen by dragging over it'(world, page) {
    const run = await world.run(page, 'nightly');
    await world.goto(page, `/runs/${run}?view=time`);
    await page.waitForSelector('#lamp[data-state=live]');
    const { x, y, width } = await page.locator('.ticks').boundingBox();
    await page.mouse.move(x + width * 0.25, y + 8);
    await page.mouse.down();
    await page.mouse.move(x + width * 0.75, y + 8);
    await page.mouse.up();
    await page.waitForURL(/begin=.*end=/);
    await page.waitForSelector('.minimap');
    const { begin, end } = await page.evaluate(() => document.getElementById('p-gantt').dataset);
    assert.ok(Number(begin) > 0 && Number(end) > Number(begin), `${begin} ${end}`);
    await page.click('text=All of its time');
    await page.waitForSelector('.minimap', { state: 'detached' });
  },

  async 'one step is skipped, and the others go on'(world, page) {
    const { run_id: run } = await world.api(page, 'POST', '/runs', { flow: 'line' });
    await world.goto(page, `/runs/${run}/steps/low`);
    await page.click('#panel [data-skip]');
    await page.waitForSelector('dialog >> text=What needs it is skipped');
    assert.equal(await page.textContent('dialog code.command'), `tidewheel cancel ${run.slice(0, 13)} low`);
    assert.deepEqual(await world.axe(page), []);
    await page.click('dialog .primary');
    await page.waitForSelector('#panel .facts >> text=cancelled');
    assert.equal(await page.locator('#panel [data-skip]').count(), 0, 'it has ended');
    writeFileSync(join(world.folder, 'data/runs', run, 'work/go'), '');
    await world.until(page, run, ['succeeded', 'failed', 'cancelled']);
    const { steps } = await world.api(page, 'GET', `/runs/${run}/steps`);
    const state = (name) => steps.find((it) => it.step === name).state;
    assert.deepEqual(['low', 'middle', 'high'].map(state), ['cancelled', 'succeeded', 'succeeded']);
    await world.goto(page, '/system?tab=audit');
    await page.waitForSelector('#p-system >> text=step low');
  },

  async 'with colours of the system nothing is lost'(world, page) {
    const run = await world.run(page, 'nightly');
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

  async 'a server that is gone is seen to be gone, and what was missed is caught up'(world, page) {
    await world.goto(page, '/');
    await page.waitForSelector('#lamp[data-state=live]');
    await world.kill();
    await page.waitForSelector('#lamp[data-state=lost]');
    assert.match(await page.textContent('#lamp'), /not live since/);
    await world.serve();
    // Sessions are gone with the server, and that is said.
    await page.waitForSelector('.band >> text=tidewheel login');
    // Whoever logs in does so in another tab, and comes back.
    const tab = await page.context().newPage();
    await tab.goto(world.base + world.link);
    await tab.click('main button.primary');
    await tab.waitForURL(`${world.base}/`);
    world.state = await page.context().storageState();
    await tab.close();
    await page.evaluate(() => dispatchEvent(new Event('focus')));
    await page.waitForSelector('#lamp[data-state=live] >> text=caught up');
    await page.waitForSelector('.band', { state: 'detached' });
  },
};

const only = process.env.ONLY;
const world = await World.begin(process.env.TIDEWHEEL_PICTURES ? pictures.FLOWS : { ...FLOWS, ...shown.FLOWS, ...acted.FLOWS, ...live.FLOWS, ...reached.FLOWS, ...large.FLOWS }, process.env.TIDEWHEEL_PICTURES && pictures.HOME);
let failed = 0, passed = 0;
try {
  if (process.env.TIDEWHEEL_PICTURES) await pictures.take(world, await world.window(), process.env.TIDEWHEEL_PICTURES);
  else {
    for (const [name, test] of Object.entries({ ...shown.tests, ...acted.tests, ...live.tests, ...reached.tests, ...tests, ...corpus.tests, ...large.tests, ...live.last })) {
      if (only && !only.split('|').some((part) => name.includes(part))) continue;
      const page = await world.window(), began = performance.now();
      try {
        await test(world, page);
        assert.deepEqual(page.wrong.filter((it) => !name.includes('gone') || !/EventSource|fetch/i.test(it)), []);
        console.log(`ok ${name} (${((performance.now() - began) / 1000).toFixed(1)} s)`);
        passed += 1;
      } catch (error) {
        console.log(`not ok ${name}\n${error.stack ?? error}\n${page.url()}`);
        failed += 1;
      }
      await page.context().close();
    }
  }
} finally {
  await world.end();
}
console.log(`${passed} passed, ${failed} failed`);
process.exit(failed ? 1 : 0);

// What a person does with the page, in a real browser. Each test is a function with a name that says what holds.
import assert from 'node:assert/strict';
import { mkdirSync } from 'node:fs';
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
  'busy.yaml': `
name: busy
limits: { one: { units: 1 } }
flow:
  - { name: crunch, foreach: [1, 2, 3, 4], run: 'sleep 60', limits: { one: 1 } }
`,
};

const PAGES = (run, odd) => ['/', '/flows', '/flows/nightly', '/flows/nightly?tab=history', '/flows/nightly?tab=schedule', '/flows/nightly?tab=file', '/flows/nightly/run', '/runs', '/runs?state=failed', `/runs/${run}`, `/runs/${run}?view=time`, `/runs/${run}?view=slots`, `/runs/${run}?view=list`, `/runs/${run}/steps/test`, `/runs/${run}/steps/test/log`, `/runs/${odd}`, `/runs/${odd}?view=list`, '/queues', '/schedules', '/schedules/nightly%2Fnightly', '/approvals', '/system', '/system?tab=store', '/system?tab=tokens', '/system?tab=audit', '/keys', '/nothing'];

const tests = {
  async 'a run is started with a param and watched to its end'(world, page) {
    await world.goto(page, '/flows/nightly/run');
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
  },

  async 'whatever waits says why and behind whom'(world, page) {
    const { run_id: run } = await world.api(page, 'POST', '/runs', { flow: 'busy' });
    await world.goto(page, '/queues');
    await page.waitForSelector('#p-waiting >> text=limit `one` has 1 of 1 in use');
    await page.waitForSelector('#p-holders >> text=crunch');
    await page.click('#p-waiting a:has-text("crunch[3]")');
    assert.match(await page.textContent('#panel .why'), /limit `one`/);
    await world.goto(page, `/runs/${run}`);
    await page.click('text=Cancel…');
    assert.match(await page.textContent('dialog'), /1 running steps are told to stop/);
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
    for (const path of [...PAGES(run, odd), `/flows/odd`, `/flows/odd/run`, `/flows/odd?tab=file`, `/runs/${odd}/steps/${encodeURIComponent(`a ${EVIL}`)}/log`]) {
      await world.goto(page, path);
      assert.equal(await page.locator('img, iframe, script:not([type=module])').count(), 0, path);
    }
  },

  async 'every page is accessible and fits, light and dark, wide and narrow'(world, page) {
    const run = await world.run(page, 'nightly');
    const odd = await world.run(page, 'odd');
    const wrong = [];
    for (const colorScheme of ['light', 'dark']) {
      for (const width of [1280, 360]) {
        const other = await world.window({ width, colorScheme });
        for (const path of PAGES(run, odd)) {
          await world.goto(other, path);
          await other.waitForSelector('html.script');
          wrong.push(...(await world.axe(other)).map((it) => `${path} ${colorScheme} ${width}: ${it}`));
          const [full, seen] = await other.evaluate(() => [document.documentElement.scrollWidth, document.documentElement.clientWidth]);
          if (full > seen) wrong.push(`${path} ${width}: ${full} is wider than ${seen}`);
        }
        await other.context().close();
      }
    }
    assert.deepEqual([...new Set(wrong)], []);
  },

  async 'without scripts all can be read, and commands say what to do'(world, page) {
    const run = await world.run(page, 'nightly');
    const plain = await world.window({ javaScriptEnabled: false });
    for (const path of PAGES(run, run)) await world.goto(plain, path);
    await world.goto(plain, `/runs/${run}`);
    assert.match(await plain.textContent('main'), /expected 3, found 4/);
    assert.equal(await plain.isVisible('text=Retry…'), false, 'no button that does nothing');
    await plain.click('#p-head .commands summary');
    assert.equal(await plain.isVisible(`text=tidewheel retry ${run.slice(0, 13)}`), true);
    await plain.context().close();
  },

  async 'a server that is gone is seen to be gone, and what was missed is caught up'(world, page) {
    await world.goto(page, '/');
    await page.waitForSelector('#lamp[data-state=live]');
    await world.kill();
    await page.waitForSelector('#lamp[data-state=lost]');
    assert.match(await page.textContent('#lamp'), /not live since/);
    await world.serve();
    // Sessions are gone with the server, and that is said.
    world.state = undefined;
    const again = await world.window();
    await world.goto(again, '/');
    await again.waitForSelector('#lamp[data-state=live]');
    await again.context().close();
  },

  async 'a run of ten thousand steps stays small and quick'(world, page) {
    const { writeFileSync } = await import('node:fs');
    const { join } = await import('node:path');
    const list = Array.from({ length: 10000 }, (_, it) => it);
    writeFileSync(join(world.folder, 'flows/large.yaml'), `name: large\nflow:\n  - { name: each, foreach: ${JSON.stringify(list)}, wait: 1ms }\n`);
    await world.api(page, 'POST', '/flows');
    const run = await world.run(page, 'large');
    for (const view of ['graph', 'list', 'time', 'slots']) {
      await world.goto(page, `/runs/${run}?view=${view}`);
      const [nodes, painted] = await page.evaluate(() => [document.querySelectorAll('*').length, performance.getEntriesByName('first-contentful-paint')[0]?.startTime]);
      assert.ok(nodes <= 4000, `${view} has ${nodes} nodes`);
      console.log(`  ${view}: ${nodes} nodes, first paint after ${Math.round(painted)} ms`);
    }
    await world.goto(page, `/runs/${run}?view=list`);
    await page.evaluate(() => document.querySelector('#c-7000').scrollIntoView());
    await page.waitForSelector('#c-7000 .step-row');
    assert.ok((await page.evaluate(() => document.querySelectorAll('*').length)) <= 4000);
  },
};

/** Pictures for the documentation. */
async function pictures(world, page, folder) {
  mkdirSync(folder, { recursive: true });
  const { run_id: asking } = await world.api(page, 'POST', '/runs', { flow: 'release' });
  for (const level of [5, 5, 3, 5, 5, 3]) await world.run(page, 'nightly', { level });
  await world.api(page, 'POST', '/runs', { flow: 'busy' });
  const failed = await world.run(page, 'nightly');
  const shots = { overview: '/', run: `/runs/${failed}`, time: `/runs/${failed}?view=time`, list: `/runs/${failed}?view=list`, queues: '/queues', schedules: '/schedules', flow: '/flows/nightly', form: '/flows/nightly/run', runs: '/runs', log: `/runs/${failed}/steps/test/log`, approvals: '/approvals', system: '/system' };
  for (const [colorScheme, width] of [['light', 1280], ['dark', 1280], ['light', 360], ['dark', 360]]) {
    const window = await world.window({ colorScheme, width, height: width < 500 ? 740 : 720 });
    for (const [name, path] of Object.entries(shots)) {
      await world.goto(window, path);
      await window.waitForSelector('#lamp[data-state=live]');
      await window.screenshot({ path: `${folder}/${name}-${colorScheme}-${width}.png` });
    }
    await window.context().close();
  }
  await world.api(page, 'POST', `/runs/${asking}/cancel`, {});
}

const only = process.env.ONLY;
const world = await World.begin(FLOWS);
let failed = 0, passed = 0;
try {
  if (process.env.TIDEWHEEL_PICTURES) await pictures(world, await world.window(), process.env.TIDEWHEEL_PICTURES);
  else {
    for (const [name, test] of Object.entries(tests)) {
      if (only && !name.includes(only)) continue;
      const page = await world.window();
      page.setDefaultTimeout(60000);
      try {
        await test(world, page);
        assert.deepEqual(page.wrong.filter((it) => !name.includes('gone') || !/EventSource|fetch/i.test(it)), []);
        console.log(`ok ${name}`);
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

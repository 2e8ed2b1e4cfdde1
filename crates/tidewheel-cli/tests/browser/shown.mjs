// What is on the page: what matters first, what is large in part, and nothing lost for whoever looks at it otherwise.
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

const LONG = 12000;
export const FLOWS = {
  'mixed.yaml': `
name: mixed
flow:
  - { name: begin, run: 'true' }
  - { name: each, foreach: ${JSON.stringify(Array.from({ length: 150 }, (_, it) => it))}, run: 'test $ITEM != 117', env: { ITEM: '{{ item }}' }, depends_on: [begin] }
`,
  'held.yaml': `
name: held
flow:
  - { name: begin, run: 'true' }
  - { name: each, foreach: ${JSON.stringify(Array.from({ length: 150 }, (_, it) => it))}, run: 'test $ITEM != 42 || until [ -e "$TIDEWHEEL_RUN_DIR/go" ]; do sleep 0.05; done', env: { ITEM: '{{ item }}' }, depends_on: [begin] }
`,
  'tries.yaml': `
name: tries
limits: { single: { units: 1 } }
flow:
  - { name: first, run: 'sleep 0.3', limits: { single: 1 } }
  - { name: second, run: '[ $TIDEWHEEL_ATTEMPT = 2 ]', limits: { single: 1 }, retry: { retries: 2, delay: 300ms } }
`,
  'hostile.yaml': `
name: hostile
flow:
  - name: shout
    run: |
      printf '\\033[2J\\033[31mred\\033[0m \\000 <b>bold</b>\\n'
      head -c 10000000 /dev/zero | tr '\\0' x
      printf '\\nthe end\\n'
`,
  'long.yaml': `
name: long
flow:
  - { name: talk, run: 'seq -f "line %g of many" 1 ${LONG}' }
`,
  'turns.yaml': `
name: turns
flow:
  - name: talk
    run: |
      if [ $TIDEWHEEL_ATTEMPT = 1 ]; then echo the first try; echo is over >&2; exit 1; fi
      echo one; sleep 0.1; echo two >&2; sleep 0.1; echo three; sleep 0.1; echo four >&2
    retry: { retries: 1, delay: 1ms }
`,
  'clocks.yaml': `
name: clocks
schedule: [{ name: spring, cron: '30 2 28 3 *', zone: Europe/Berlin }]
flow: [{ name: once, run: 'true' }]
`,
  'overdue.yaml': `
name: overdue
schedule: [{ name: overdue, cron: '11 3 * * *', zone: UTC }]
flow: [{ name: once, run: 'true' }]
`,
};

const weigh = (page) => page.evaluate(() => {
  const all = [...performance.getEntriesByType('navigation'), ...performance.getEntriesByType('resource')].filter((it) => !it.name.includes('/api/'));
  return ['decodedBodySize', 'transferSize'].map((which) => all.reduce((sum, it) => sum + it[which], 0));
});

const rects = (page) => page.evaluate(() => [...document.querySelectorAll('.gantt-row:not(.axis) .lane rect')].map((rect) => ({
  kind: rect.getAttribute('class'), from: Number(rect.getAttribute('x')), to: Number(rect.getAttribute('x')) + Number(rect.getAttribute('width')),
  high: Number(rect.getAttribute('height')), fill: getComputedStyle(rect).fill, said: rect.textContent, row: rect.closest('.gantt-row').querySelector('.name').textContent,
})));

export const tests = {
  async 'a page that was never looked at weighs little'(world, page) {
    const run = await world.run(page, 'nightly');
    for (const path of ['/', `/runs/${run}`]) {
      const context = await world.browser.newContext({ storageState: world.state });
      const cold = await context.newPage(), foreign = [];
      cold.on('request', (request) => !request.url().startsWith(world.base) && foreign.push(request.url()));
      await world.goto(cold, path);
      await cold.waitForSelector('#lamp[data-state=live]');
      const [whole, sent] = await weigh(cold);
      assert.ok(whole > 10000 && whole <= 150000, `${path}: ${whole}`);
      assert.ok(sent > 1000 && sent <= 40000, `${path}: ${sent} as sent`);
      assert.deepEqual(foreign, [], `${path}: nobody else is asked`);
      await context.close();
    }
  },

  async 'what needs somebody is above the fold'(world, page) {
    await world.run(page, 'nightly');
    await world.run(page, 'odd');
    const { run_id: run } = await world.api(page, 'POST', '/runs', { flow: 'release' });
    await world.asking(page, run);
    // A schedule that should have fired an hour ago, as far as is stored.
    await world.late('overdue/overdue');
    await world.goto(page, '/');
    for (const [count, what] of [['failing', 2], ['late', 1], ['approval', 1]]) {
      const tile = page.locator(`.tile:has-text("${count}")`), { y, height } = await tile.boundingBox();
      assert.ok(Number(await tile.locator('b').textContent()) >= what && y + height <= 800, count);
    }
    for (const text of ['nightly', 'odd', 'Ship 2.1', 'overdue']) {
      const { y, height } = await page.locator(`#p-needs li:has-text("${text}")`).first().boundingBox();
      assert.ok(y + height <= 800, text);
    }
    assert.match(await page.textContent('#p-needs li:has-text("overdue")'), /late by 1 h/);
    await world.api(page, 'POST', `/runs/${run}/cancel`, {});
  },

  async 'from the overview to the line that failed it is two clicks, or three keys'(world, page) {
    await world.run(page, 'nightly');
    const isThere = () => page.waitForSelector('.log-row.here >> text=expected 3, found 4');
    await world.goto(page, '/');
    await page.click('#p-needs li:has-text("nightly") a');
    await page.click('#p-broken >> text=Log');
    await isThere();
    await world.goto(page, '/');
    await page.waitForSelector('html.script');
    for (let line = await page.locator('#p-needs li:has-text("nightly")').evaluate((it) => [...document.querySelectorAll('[data-row]')].indexOf(it)); line >= 0; line--) await page.keyboard.press('j');
    await page.keyboard.press('Enter');
    await page.waitForSelector('#panel [data-letter=l]');
    await page.waitForSelector('html.script');
    await page.keyboard.press('l');
    await isThere();
  },

  async 'back finds the list of runs as it was left'(world, page) {
    for (let time = 0; time < 3; time++) await world.run(page, 'nightly');
    await page.setViewportSize({ width: 1280, height: 260 });
    await world.goto(page, '/runs?state=failed');
    await page.waitForSelector('html.script');
    await page.evaluate(() => scrollTo(0, 90));
    const [at, last] = [await page.evaluate(() => scrollY), page.locator('#p-runs tbody tr').last()];
    assert.ok(at > 0);
    await page.locator('#p-runs tbody tr th a').nth(2).click({ noWaitAfter: true });
    await page.waitForURL(/\/runs\/[0-9a-f-]{36}/);
    await page.goBack();
    await page.waitForURL(/state=failed/);
    await last.waitFor();
    await page.waitForFunction((at) => scrollY === at, at);
  },

  async 'what failed is seen although its like are drawn as one'(world, page) {
    const run = await world.run(page, 'mixed');
    await world.goto(page, `/runs/${run}`);
    assert.ok(await page.locator('.picture [data-step]').count() < 100);
    await page.waitForSelector('.picture .state-failed[data-step^="each[117]"]');
    assert.match(await page.textContent('#panel h2'), /each\[117\]/);
    // What stands for the others opens them as a list, and back is as it was.
    await page.keyboard.press('+');
    const width = await page.getAttribute('.picture svg', 'width');
    await page.click('.picture [data-more=each]');
    await page.waitForURL(/view=list/);
    await page.goBack();
    await page.waitForSelector('.picture .state-failed');
    await page.waitForFunction((width) => document.querySelector('.picture svg').getAttribute('width') === width, width);
  },

  async 'what runs and what decided are seen although their like are drawn as one'(world, page) {
    const { run_id: run } = await world.api(page, 'POST', '/runs', { flow: 'held' });
    await world.until(page, run, ['running']);
    await world.goto(page, `/runs/${run}`);
    await page.waitForSelector('.picture .state-running[data-step="each[42]"]');
    // All others have ended before it: what may be left is what stands for all of them.
    await world.holds(page, async (run) => !/P.*P|R.*R/.test((await (await fetch(`/api/v1/runs/${run}/steps?limit=0`)).json()).letters), run);
    assert.ok(await page.locator('.picture [data-step]').count() < 100);
    writeFileSync(join(world.folder, 'data/runs', run, 'work/go'), '');
    await world.until(page, run, ['succeeded']);
    await world.goto(page, `/runs/${run}`);
    await page.waitForSelector('.picture .critical[data-step="each[42]"]');
    assert.ok(await page.locator('.picture [data-step]').count() < 100);
  },

  async 'waits, waits between attempts, and attempts are told apart without colour'(world, page) {
    const run = await world.run(page, 'tries');
    await world.goto(page, `/runs/${run}?view=time`);
    const all = (await rects(page)).filter((it) => it.row.includes('second'));
    const kinds = all.map((it) => it.kind);
    assert.ok(kinds.includes('wait') && kinds.includes('again'), `${kinds}`);
    assert.equal(kinds.filter((it) => it.startsWith('is-')).length, 2, 'two attempts');
    for (const it of all) {
      const isAttempt = it.kind.startsWith('is-');
      assert.equal(it.fill.startsWith('url('), !isAttempt, `${it.kind}: ${it.fill}`);
      assert.ok(isAttempt ? it.high > 8 : it.high < 8);
    }
    assert.notEqual(all.find((it) => it.kind === 'wait').fill, all.find((it) => it.kind === 'again').fill);
    assert.match(all.map((it) => it.said).join(), /waited for its turn.*attempt 1.*waited to be tried again.*attempt 2/);
  },

  async 'who had a slot is named at any instant'(world, page) {
    const run = await world.run(page, 'tries');
    await world.goto(page, `/runs/${run}?view=slots`);
    await page.waitForSelector('#lamp[data-state=live]');
    const all = await page.locator('.slots a').evaluateAll((links) => links.map((link) => {
      const rect = link.querySelector('rect'), from = parseFloat(rect.getAttribute('x'));
      return { from, to: from + parseFloat(rect.getAttribute('width')), kind: rect.getAttribute('class'), said: link.getAttribute('aria-label'), row: link.closest('.gantt-row').querySelector('.name').textContent };
    }));
    assert.equal(all.length, 3, JSON.stringify(all));
    for (const one of all) {
      assert.match(one.said, /^(first|second), attempt \d: (succeeded|failed), /);
      const beside = all.filter((it) => it !== one && it.row === one.row && it.from < one.to - 0.2 && one.from < it.to - 0.2);
      assert.deepEqual(beside, [], 'one at a time');
    }
    // A try that failed is none that succeeded, although its step did later.
    assert.deepEqual(all.filter((it) => it.said.startsWith('second')).map((it) => it.kind), ['is-failed', 'is-succeeded']);
    // The name stands in the bar where it fits, and below for each that one is on, with keys too.
    assert.equal(await page.isVisible('.slots text:text-is("first")'), true);
    for (const [place, { said }] of all.entries()) {
      await page.locator('.slots a').nth(place).focus();
      assert.equal(await page.textContent('.slot-said'), said);
    }
    await page.keyboard.press('Enter');
    await page.waitForSelector('#panel .panel[data-step=second]');
  },

  async 'a search finds all there is, and marks where'(world, page) {
    const run = await world.run(page, 'long');
    await world.goto(page, `/runs/${run}/steps/talk/log`);
    await page.focus('.log-view');
    await page.keyboard.press('/');
    await page.keyboard.type('7 of many');
    await page.waitForSelector(`.log-sum >> text=of ${(LONG / 10).toLocaleString('en')}`);
    const painted = await page.evaluate(() => {
      const marks = document.querySelector('.log-marks');
      return marks.getContext('2d').getImageData(0, 0, 4, marks.height).data.some((it) => it);
    });
    assert.ok(painted);
    await page.focus('.log-view');
    await page.keyboard.press('End');
    await page.waitForSelector(`.log-row:has(.log-n:text-is("${LONG}")) >> text=line ${LONG} of many`);
  },

  async 'the last lines of a step are those of its newest attempt, as they came'(world, page) {
    const run = await world.run(page, 'turns'), lines = 'one\ntwo\nthree\nfour\n';
    const plain = await world.window({ javaScriptEnabled: false });
    for (const path of ['/steps/talk', '?step=talk', '/log', '/steps/talk/log']) {
      await world.goto(plain, `/runs/${run}${path}`);
      assert.equal(await plain.textContent('main pre.tail'), lines, path);
    }
    // What went wrong is said of the try that did.
    await world.goto(plain, `/runs/${run}/steps/talk`);
    assert.deepEqual(await plain.locator('.small-table .error').allTextContents(), ['exit code 1: is over']);
    await world.goto(plain, `/runs/${run}/steps/talk/log?attempt=1`);
    assert.equal(await plain.textContent('main pre.tail'), 'the first try\nis over\n');
    await plain.context().close();
    const { lines: told } = await page.evaluate(async (run) => (await fetch(`/api/v1/runs/${run}/log/lines?step=talk`)).json(), run);
    assert.equal(told.map((line) => `${line[2].map((span) => span[1]).join('')}\n`).join(''), lines, 'as the log has them');
  },

  async 'what would harm a terminal, and a line of ten megabytes, are only shown'(world, page) {
    const run = await world.run(page, 'hostile');
    await world.goto(page, `/runs/${run}/steps/shout/log`);
    await page.waitForSelector('.log-row .f1 >> text=red');
    await page.waitForSelector('.log-row >> text=<b>bold</b>');
    assert.equal(await page.locator('.log b').count(), 0);
    await page.waitForSelector('.log-more >> text=show 10.0 MB');
    assert.ok((await page.locator('.log-row').nth(1).textContent()).length < 5000);
    await page.waitForSelector('.log-row:has(.log-n:text-is("3")) >> text=the end');
  },

  async 'no page has a style or a script of its own in it'(world, page) {
    const run = await world.run(page, 'nightly');
    for (const path of ['/', '/flows/nightly', `/runs/${run}`, `/runs/${run}?view=time`, `/runs/${run}/steps/test/log`, '/queues', '/schedules', '/system?tab=audit']) {
      const text = await page.evaluate(async (path) => (await fetch(path)).text(), path);
      assert.doesNotMatch(text, /<style|\sstyle=|\son\w+=|javascript:|<script(?![^>]*\ssrc=)/i, path);
    }
  },

  async 'the palette finds a flow, a run by its prefix, a step and an action'(world, page) {
    const run = await world.run(page, 'nightly');
    await world.goto(page, `/runs/${run}`);
    await page.waitForSelector('html.script');
    const found = async (text, what) => {
      await page.keyboard.press('Control+k');
      await page.keyboard.type(text);
      await page.waitForSelector(`#found li:has-text("${what}")`);
      await page.keyboard.press('Escape');
      await page.waitForSelector('#found', { state: 'detached' });
    };
    await found('nightl', 'flow');
    await found(run.slice(0, 13), run.slice(0, 13));
    await found('publish', 'step');
    await found('> retry', 'action');
    const { run_id: asking } = await world.api(page, 'POST', '/runs', { flow: 'release' });
    await world.asking(page, asking);
    await world.goto(page, '/');
    await page.waitForSelector('html.script');
    await found('keys', 'page');
    await found('tokens', 'System: tokens');
    await found('ship 2.1', 'question');
    await world.api(page, 'POST', `/runs/${asking}/cancel`, {});
  },

  async 'twice as large, and without motion, nothing is lost'(world, page) {
    const run = await world.run(page, 'nightly');
    // What is twice as large has half the room.
    await page.setViewportSize({ width: 640, height: 400 });
    for (const path of ['/', '/runs', `/runs/${run}`, `/runs/${run}?view=time`, '/queues', '/schedules', '/system']) {
      await world.goto(page, path);
      await page.waitForSelector('html.script');
      const [full, seen, moving] = await page.evaluate(() => [document.documentElement.scrollWidth, innerWidth, document.getAnimations().length]);
      assert.ok(full <= seen, `${path} is ${full} wide`);
      assert.equal(moving, 0, path);
    }
  },

  async 'every instant has its zone, and days on which clocks change are marked'(world, page) {
    const run = await world.run(page, 'nightly');
    for (const path of ['/', `/runs/${run}`, '/runs', '/schedules', '/schedules/nightly%2Fnightly']) {
      await world.goto(page, path);
      await page.waitForSelector('html.script');
      const without = await page.evaluate(() => [...document.querySelectorAll('time')].filter((it) => it.dateTime.length > 10 && !/Europe\/Berlin.*Z$/.test(it.title)).map((it) => it.outerHTML));
      assert.deepEqual(without, [], path);
      assert.equal(await page.textContent('#zone'), 'Europe/Berlin');
    }
    await world.goto(page, '/schedules/clocks%2Fspring');
    await page.waitForSelector('#p-next li:has-text("28 Mar") >> text=clocks change');
  },

  async 'a calendar has what fired, how it went, and what comes'(world, page) {
    await world.api(page, 'POST', '/schedules/nightly%2Fnightly/run');
    await world.goto(page, '/schedules');
    // Fired by hand it fails, which comes to the page by itself.
    const fired = page.locator('.month li:has-text("nightly"):has([aria-label=failed])').last();
    await fired.waitFor();
    assert.match(await page.textContent('.sched tr:has-text("nightly/nightly") [data-label=Last]'), /only when asked to/);
    assert.equal(await page.locator('.month td').count(), 21);
    assert.ok((await page.locator('.month .today ~ td li:has([aria-label=comes]), .month tr:has(.today) ~ tr li:has([aria-label=comes])').count()) >= 7, 'what comes each day');
    await fired.locator('a').click();
    await page.waitForURL(/\/runs\/[0-9a-f-]{36}/);
  },
};

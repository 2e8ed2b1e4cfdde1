// What is on the page: what matters first, what is large in part, and nothing lost for whoever looks at it otherwise.
import assert from 'node:assert/strict';
import { attribute, back, boxes, click, evaluate, expectCount, expectText, expectTexts, expectThat, expectVisible, focus, press, type } from './actions.mjs';
import { FLOWS as SHARED } from './flows.mjs';

const LONG = 12000;

/** The next day on which clocks in Berlin go forward: the last Sunday of March. */
function spring() {
  const ofYear = (year) => new Date(Date.UTC(year, 2, 31 - new Date(Date.UTC(year, 2, 31)).getUTCDay(), 1));
  const now = new Date(), day = ofYear(now.getUTCFullYear());
  return (day > now ? day : ofYear(now.getUTCFullYear() + 1)).getUTCDate();
}

export const FLOWS = {
  ...SHARED,
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
      go() { until [ -e "$TIDEWHEEL_RUN_DIR/$1" ]; do sleep 0.02; done; }
      echo one; go one; echo two >&2; go two; echo three; go three; echo four >&2
    retry: { retries: 1, delay: 1ms }
`,
  'clocks.yaml': `
name: clocks
schedule: [{ name: spring, cron: '30 2 ${spring()} 3 *', zone: Europe/Berlin }]
flow: [{ name: once, run: 'true' }]
`,
  'overdue.yaml': `
name: overdue
schedule: [{ name: overdue, cron: '11 3 1 1 *', zone: UTC }]
flow: [{ name: once, run: 'true' }]
`,
};

const weigh = (page) => page.evaluate(() => {
  const all = [...performance.getEntriesByType('navigation'), ...performance.getEntriesByType('resource')].filter((it) => !it.name.includes('/api/'));
  return ['decodedBodySize', 'transferSize'].map((which) => all.reduce((sum, it) => sum + it[which], 0));
});

const rects = (page) => evaluate(page, () => [...document.querySelectorAll('.gantt-row:not(.axis) .lane rect')].map((rect) => ({
  kind: rect.getAttribute('class'), from: Number(rect.getAttribute('x')), to: Number(rect.getAttribute('x')) + Number(rect.getAttribute('width')),
  high: Number(rect.getAttribute('height')), fill: getComputedStyle(rect).fill, said: rect.textContent, row: rect.closest('.gantt-row').querySelector('.name').textContent,
})));

export const tests = {
  async 'a page that was never looked at weighs little'(world, page) {
    const run = await world.run('nightly');
    for (const path of ['/', `/runs/${run}`]) {
      const cold = await world.window({ isBlank: true });
      await world.goto(cold, path);
      await cold.waitForSelector('#lamp[data-state=live]');
      const [whole, sent] = await weigh(cold);
      assert.ok(whole > 10000 && whole <= 150000, `${path}: ${whole}`);
      assert.ok(sent > 1000 && sent <= 40000, `${path}: ${sent} as sent`);
      assert.deepEqual(cold.wrong, [], `${path}: nobody else is asked`);
      await world.close(cold);
    }
  },

  async 'what needs somebody is above the fold'(world, page) {
    await world.run('nightly');
    await world.run('odd');
    const run = await world.submit('release');
    await world.asking(run);
    // A schedule that should have fired an hour ago, as far as is stored.
    await world.late('overdue/overdue');
    await world.goto(page, '/');
    for (const [count, what] of [['failing', 2], ['late', 1], ['approval', 1]]) {
      await expectText(page, `.tile:has-text("${count}") b`, (number) => Number(number) >= what);
      const [{ bottom }] = await boxes(page, `.tile:has-text("${count}")`);
      assert.ok(bottom <= 800, count);
    }
    for (const text of ['nightly', 'odd', 'Ship 2.1', 'overdue']) {
      const [{ bottom }] = await boxes(page, `#p-needs li:has-text("${text}")`);
      assert.ok(bottom <= 800, text);
    }
    await expectText(page, '#p-needs li:has-text("overdue")', /late by 1 h/);
  },

  async 'from the overview to the line that failed it is two clicks, or three keys'(world, page) {
    await world.run('nightly');
    const isThere = () => page.waitForSelector('.log-row.here >> text=expected 3, found 4');
    await world.goto(page, '/');
    await click(page, '#p-needs li:has-text("nightly") a');
    await click(page, '#p-broken >> text=Log');
    await isThere();
    await world.goto(page, '/');
    for (let line = await evaluate(page, () => [...document.querySelectorAll('[data-row]')].findIndex((it) => it.closest('#p-needs') && it.textContent.includes('nightly'))); line >= 0; line--) await press(page, 'j');
    await press(page, 'Enter');
    await page.waitForSelector('#panel [data-letter=l]');
    await press(page, 'l');
    await isThere();
  },

  async 'back finds the list of runs as it was left'(world, page) {
    for (let time = 0; time < 3; time++) await world.run('nightly');
    await page.setViewportSize({ width: 1280, height: 260 });
    await world.goto(page, '/runs?state=failed');
    await page.evaluate(() => scrollTo(0, 90));
    const at = await evaluate(page, () => scrollY);
    assert.ok(at > 0);
    await click(page, page.locator('#p-runs tbody tr th a').nth(2), { noWaitAfter: true });
    await page.waitForURL(/\/runs\/[0-9a-f-]{36}/);
    await back(page);
    await page.waitForURL(/state=failed/);
    await page.waitForFunction((at) => scrollY === at, at);
  },

  async 'what failed is seen although its like are drawn as one'(world, page) {
    const run = await world.run('mixed');
    await world.goto(page, `/runs/${run}`);
    await expectCount(page, '.picture [data-step]', (count) => count < 100);
    await page.waitForSelector('.picture .state-failed[data-step^="each[117]"]');
    await expectText(page, '#panel h2', /each\[117\]/);
    // What stands for the others opens them as a list, and back is as it was.
    await press(page, '+');
    const width = await attribute(page, '.picture svg', 'width');
    await click(page, '.picture [data-more=each]');
    await page.waitForURL(/view=list/);
    await back(page);
    await page.waitForSelector('.picture .state-failed');
    await page.waitForFunction((width) => document.querySelector('.picture svg').getAttribute('width') === width, width);
  },

  async 'what runs and what decided are seen although their like are drawn as one'(world, page) {
    const run = await world.submit('held');
    await world.until(run, ['running']);
    await world.goto(page, `/runs/${run}`);
    await page.waitForSelector('.picture .state-running[data-step="each[42]"]');
    // All others have ended before it: what may be left is what stands for all of them.
    await world.holds(`/runs/${run}/steps?limit=0`, ({ letters }) => !/P.*P|R.*R/.test(letters));
    await expectCount(page, '.picture [data-step]', (count) => count < 100);
    await world.signal(run);
    await world.until(run, ['succeeded']);
    await world.goto(page, `/runs/${run}`);
    await page.waitForSelector('.picture .critical[data-step="each[42]"]');
    await expectCount(page, '.picture [data-step]', (count) => count < 100);
  },

  async 'waits, waits between attempts, and attempts are told apart without colour'(world, page) {
    const run = await world.run('tries');
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
    const run = await world.run('tries');
    await world.goto(page, `/runs/${run}?view=slots`);
    await page.waitForSelector('#lamp[data-state=live]');
    const all = await evaluate(page, () => [...document.querySelectorAll('.slots a')].map((link) => {
      const rect = link.querySelector('rect'), from = parseFloat(rect.getAttribute('x'));
      return { from, to: from + parseFloat(rect.getAttribute('width')), kind: rect.getAttribute('class'), said: link.getAttribute('aria-label'), row: link.closest('.gantt-row').querySelector('.name').textContent };
    }));
    const { begin, end } = await evaluate(page, () => ({ ...document.getElementById('p-gantt').dataset }));
    assert.equal(all.length, 3, JSON.stringify(all));
    for (const one of all) {
      assert.match(one.said, /^(first|second), attempt \d: (succeeded|failed), /);
      const beside = all.filter((it) => it !== one && it.row === one.row && it.from < one.to - 0.2 && one.from < it.to - 0.2);
      assert.deepEqual(beside, [], 'one at a time');
    }
    // A try that failed is none that succeeded, although its step did later.
    assert.deepEqual(all.filter((it) => it.said.startsWith('second')).map((it) => it.kind), ['is-failed', 'is-succeeded']);
    // What each is stands below when one is on it, with keys too.
    for (const [place, { said }] of all.entries()) {
      await focus(page, page.locator('.slots a').nth(place));
      await expectText(page, '.slot-said', said);
    }
    await press(page, 'Enter');
    await page.waitForSelector('#panel .panel[data-step=second]');
    // The name stands in the bar where it fits, as it does where the bar is all that is seen.
    const place = (share) => (Number(begin) + (share / 100) * (end - begin)).toFixed(3);
    await world.goto(page, `/runs/${run}?view=slots&begin=${place(all[0].from)}&end=${place(all[0].to)}`);
    await expectVisible(page, '.slots text:text-is("first")', true);
  },

  async 'a search finds all there is, and marks where'(world, page) {
    const run = await world.run('long');
    await world.goto(page, `/runs/${run}/steps/talk/log`);
    await focus(page, '.log-view');
    await press(page, '/');
    await type(page, '7 of many');
    await page.waitForSelector(`.log-sum >> text=of ${(LONG / 10).toLocaleString('en')}`);
    await expectThat(page, () => {
      const marks = document.querySelector('.log-marks');
      return marks.getContext('2d').getImageData(0, 0, 4, marks.height).data.some((it) => it);
    }, true);
    await focus(page, '.log-view');
    await press(page, 'End');
    await page.waitForSelector(`.log-row:has(.log-n:text-is("${LONG}")) >> text=line ${LONG} of many`);
  },

  async 'the last lines of a step are those of its newest attempt, as they came'(world, page) {
    const run = await world.submit('turns'), lines = 'one\ntwo\nthree\nfour\n';
    // Each line is stored before the next one comes: two streams have no order otherwise.
    for (const line of ['one', 'two', 'three']) {
      await world.holds(`/runs/${run}/log/lines?step=talk`, ({ lines }) => JSON.stringify(lines).includes(`"${line}"`));
      await world.signal(run, line);
    }
    await world.until(run, ['succeeded']);
    const plain = await world.window({ javaScriptEnabled: false });
    for (const path of ['/steps/talk', '?step=talk', '/log', '/steps/talk/log']) {
      await world.goto(plain, `/runs/${run}${path}`);
      await expectText(plain, 'main pre.tail', lines, path);
    }
    // What went wrong is said of the try that did.
    await world.goto(plain, `/runs/${run}/steps/talk`);
    await expectTexts(plain, '.small-table .error', ['exit code 1: is over']);
    await world.goto(plain, `/runs/${run}/steps/talk/log?attempt=1`);
    await expectText(plain, 'main pre.tail', 'the first try\nis over\n');
    const { lines: told } = await world.api('GET', `/runs/${run}/log/lines?step=talk`);
    assert.equal(told.map((line) => `${line[2].map((span) => span[1]).join('')}\n`).join(''), lines, 'as the log has them');
  },

  async 'what would harm a terminal, and a line of ten megabytes, are only shown'(world, page) {
    const run = await world.run('hostile');
    await world.goto(page, `/runs/${run}/steps/shout/log`);
    await page.waitForSelector('.log-row .f1 >> text=red');
    await page.waitForSelector('.log-row >> text=<b>bold</b>');
    await expectCount(page, '.log b', 0);
    await page.waitForSelector('.log-more >> text=show 10.0 MB');
    await expectTexts(page, '.log-row', (rows) => rows[1].length < 5000);
    await page.waitForSelector('.log-row:has(.log-n:text-is("3")) >> text=the end');
  },

  async 'no page has a style or a script of its own in it'(world, page) {
    const run = await world.run('nightly');
    for (const path of ['/', '/flows/nightly', `/runs/${run}`, `/runs/${run}?view=time`, `/runs/${run}/steps/test/log`, '/queues', '/schedules', '/system?tab=audit']) {
      assert.doesNotMatch(await world.page(path), /<style|\sstyle=|\son\w+=|javascript:|<script(?![^>]*\ssrc=)/i, path);
    }
  },

  async 'the palette finds a flow, a run by its prefix, a step and an action'(world, page) {
    const run = await world.run('nightly');
    await world.goto(page, `/runs/${run}`);
    const found = async (text, what) => {
      await press(page, 'Control+k');
      await type(page, text);
      await page.waitForSelector(`#found li:has-text("${what}")`);
      await press(page, 'Escape');
      await page.waitForSelector('#found', { state: 'detached' });
    };
    await found('nightl', 'flow');
    await found(run.slice(0, 13), run.slice(0, 13));
    await found('publish', 'step');
    await found('> retry', 'action');
    const asking = await world.submit('release');
    await world.asking(asking);
    await world.goto(page, '/');
    await found('keys', 'page');
    await found('tokens', 'System: tokens');
    await found('ship 2.1', 'question');
  },

  async 'twice as large, and without motion, nothing is lost'(world, page) {
    const run = await world.run('nightly');
    // What is twice as large has half the room.
    await page.setViewportSize({ width: 640, height: 400 });
    for (const path of ['/', '/runs', `/runs/${run}`, `/runs/${run}?view=time`, '/queues', '/schedules', '/system']) {
      await world.goto(page, path);
      const [full, seen, moving] = await evaluate(page, () => [document.documentElement.scrollWidth, innerWidth, document.getAnimations().length]);
      assert.ok(full <= seen, `${path} is ${full} wide`);
      assert.equal(moving, 0, path);
    }
  },

  async 'every instant has its zone, and days on which clocks change are marked'(world, page) {
    const run = await world.run('nightly');
    for (const path of ['/', `/runs/${run}`, '/runs', '/schedules', '/schedules/nightly%2Fnightly']) {
      await world.goto(page, path);
      const without = await evaluate(page, () => [...document.querySelectorAll('time')].filter((it) => it.dateTime.length > 10 && !/Europe\/Berlin.*Z$/.test(it.title)).map((it) => it.outerHTML));
      assert.deepEqual(without, [], path);
      await expectText(page, '#zone', 'Europe/Berlin');
    }
    await world.goto(page, '/schedules/clocks%2Fspring');
    await page.waitForSelector(`#p-next li:has-text("${spring()} Mar") >> text=clocks change`);
  },

  async 'a calendar has what fired, how it went, and what comes'(world, page) {
    await world.api('POST', '/schedules/nightly%2Fnightly/run');
    await world.goto(page, '/schedules');
    // Fired by hand it fails, which comes to the page by itself.
    const fired = page.locator('.month li:has-text("nightly"):has([aria-label=failed])').last();
    await fired.waitFor();
    await expectText(page, '.sched tr:has-text("nightly/nightly") [data-label=Last]', /only when asked to/);
    await expectCount(page, '.month td', 21);
    // What comes each day.
    await expectCount(page, '.month .today ~ td li:has([aria-label=comes]), .month tr:has(.today) ~ tr li:has([aria-label=comes])', (count) => count >= 7);
    await click(page, fired.locator('a'));
    await page.waitForURL(/\/runs\/[0-9a-f-]{36}/);
  },
};

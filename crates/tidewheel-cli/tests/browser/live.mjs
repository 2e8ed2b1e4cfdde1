// What changes while somebody looks: it comes by itself, or the page says that it does not.
import assert from 'node:assert/strict';
import { attribute, click, evaluate, expect, expectAttribute, expectCount, expectDisabled, expectText, expectThat, focus, hover, keepMessages, now, press, reload, stopClock, wheel } from './actions.mjs';
import { FLOWS as SHARED } from './flows.mjs';

export const FLOWS = {
  ...SHARED,
  'ticker.yaml': `
name: ticker
flow:
  - { name: tick, run: 'i=0; until [ -e "$TIDEWHEEL_RUN_DIR/go" ]; do i=$((i+1)); echo "tick $i"; sleep 0.02; done; echo the very last' }
`,
  'goes-well.yaml': `
name: goes-well
flow:
  - { name: gate, wait: { approval: 'Go on?', every: 50ms } }
  - { name: last, run: 'echo done', outputs: { size: '42' }, depends_on: [gate] }
`,
  'many.yaml': `
name: many
flow:
  - { name: gate, wait: { approval: 'Shall they?', every: 50ms } }
  - { name: each, foreach: ${JSON.stringify(Array.from({ length: 320 }, (_, it) => it))}, run: 'true', depends_on: [gate] }
`,
  'again.yaml': `
name: again
flow:
  - { name: try, run: 'echo try $TIDEWHEEL_ATTEMPT; until [ -e "$TIDEWHEEL_RUN_DIR/go$TIDEWHEEL_ATTEMPT" ]; do sleep 0.02; done; [ $TIDEWHEEL_ATTEMPT = 2 ]', retry: { retries: 1, delay: 1ms } }
  - { name: beside, wait: 1ms }
`,
};

/** Lets a test hide a page, collects its open streams, and the id of the newest event of any. */
const watched = (page) => page.addInitScript(() => {
  globalThis.streams = new Set();
  let isHidden = false;
  Object.defineProperty(document, 'hidden', { get: () => isHidden });
  globalThis.look = (looks) => ((isHidden = !looks), document.dispatchEvent(new Event('visibilitychange')));
  const Real = EventSource;
  globalThis.EventSource = class extends Real {
    constructor(address) {
      super(address);
      streams.add(this);
      globalThis.newest ??= new URL(this.url).searchParams.get('after');
      this.addEventListener('happened', ({ lastEventId }) => (globalThis.newest = lastEventId));
    }
    close() {
      super.close();
      streams.delete(this);
    }
  };
});

export const tests = {
  async 'the step beside a run follows it, and is right when all has gone well'(world, page) {
    const run = await world.submit('goes-well');
    await world.asking(run);
    await world.goto(page, `/runs/${run}`);
    await page.waitForSelector('#lamp[data-state=live]');
    await page.waitForSelector('#panel .panel[data-step=gate]');
    await world.api('POST', `/runs/${run}/steps/gate/answer`, { approved: true, by: '' });
    await page.waitForSelector('#p-head .word:text("succeeded")');
    await page.waitForSelector('#panel .panel[data-step=last] .facts >> text=succeeded');
    await expectText(page, '#panel', /size\s*42/);
  },

  async 'a run of many steps goes on in every view, its rows further down too'(world, page) {
    for (const view of ['graph', 'list', 'time', 'slots']) {
      const run = await world.submit('many');
      await world.asking(run);
      await world.goto(page, `/runs/${run}?view=${view}`);
      await page.waitForSelector('#lamp[data-state=live]');
      // Rows further down, which have come by themselves since.
      const far = { list: '.step-row', time: '.gantt-row' }[view];
      if (far) {
        await page.evaluate(() => scrollTo(0, 24 * 150));
        await page.waitForSelector(`#c-100 ${far}`);
        await expectCount(page, '#c-100 .is-succeeded', 0);
      }
      if (view === 'graph') (await click(page, '.picture [data-step=gate]'), await press(page, '+'));
      const width = view === 'graph' && (await attribute(page, '.picture svg', 'width'));
      await world.api('POST', `/runs/${run}/steps/gate/answer`, { approved: true, by: '' });
      await page.waitForSelector('#p-head .word:text("succeeded")');
      if (view === 'graph') {
        await page.waitForFunction(() => !document.querySelector('.picture :is(.state-pending, .state-running)'));
        // As large as somebody made it, and with what they chose.
        const { width: is, viewBox } = await evaluate(page, () => ({ width: document.querySelector('.picture svg').getAttribute('width'), viewBox: document.querySelector('.picture svg').viewBox.baseVal.width }));
        assert.ok(Number(is) > viewBox || is === width, `${is} of ${viewBox}`);
        await expectAttribute(page, '.picture [data-chosen]', 'data-step', 'gate');
      }
      if (view === 'slots') await page.waitForSelector('.slots rect >> nth=3');
      // What each was tried, and how long that took, comes with its row; no event says it.
      if (far) await page.waitForFunction((far) => {
        const rows = [...document.querySelectorAll(`#c-100 ${far}`)];
        return rows.length === 50 && rows.every((row) => row.querySelector('rect.is-succeeded') || (row.querySelector('.mark.is-succeeded') && /\d/.test(row.children[4]?.textContent)));
      }, far);
    }
  },

  async 'the axis of a run that goes on goes on with it, for all of its rows'(world, page) {
    const run = await world.submit('many');
    await world.asking(run);
    await world.goto(page, `/runs/${run}?view=time`);
    await page.waitForSelector('#lamp[data-state=live]');
    const [before, width] = await evaluate(page, () => [Number(document.getElementById('p-gantt').dataset.end), document.querySelector('[id="t-gate"] .track').getBoundingClientRect().width]);
    assert.ok(before > 0 && width > 0);
    // Nothing happens, and it is drawn anew.
    await page.waitForFunction((before) => Number(document.getElementById('p-gantt').dataset.end) > before, before);
    await page.evaluate(() => scrollTo(0, 24 * 150));
    await page.waitForSelector('[id="t-each[149]"]');
    // In one look: it may be drawn anew at any time.
    await expectThat(page, () => {
      const end = Number(document.getElementById('p-gantt').dataset.end);
      return [...document.querySelectorAll('.chunk')].map((it) => Number(new URL(it.dataset.src, location.href).searchParams.get('end'))).filter((it) => it !== end);
    }, []);
  },

  async 'a log has one stream, of its run alone, and its head goes on while it is read'(world, page) {
    await watched(page);
    const run = await world.submit('again');
    await world.until(run, ['running']);
    await world.goto(page, `/runs/${run}/steps/try/log`);
    await page.waitForSelector('#lamp[data-state=live]');
    await page.waitForSelector('.log-row >> text=try 1');
    const streams = () => page.evaluate(() => [...globalThis.streams].map((it) => new URL(it.url).search));
    const [one, ...more] = await streams();
    assert.deepEqual(more, []);
    assert.ok(one.includes(`run=${run}`) && one.includes('log=try'), one);
    // What is told of others is not told here.
    await page.evaluate(() => { globalThis.told = []; [...streams][0].addEventListener('happened', ({ data }) => told.push(JSON.parse(data).run_id)); });
    await world.run('nightly');
    await world.signal(run, 'go1');
    await page.waitForSelector('#p-head a:text("Attempt 2")');
    // It stays the log that was opened.
    await expectText(page, '#p-head [aria-current=page]', 'Attempt 1');
    await page.waitForSelector('.log-row >> text=try 1');
    await world.signal(run, 'go2');
    await page.waitForSelector('#p-head .word:text("succeeded")');
    assert.deepEqual(await page.evaluate((run) => told.filter((it) => it !== run), run), []);
    await world.goto(page, `/runs/${run}/steps/try/log`);
    await page.waitForSelector('#lamp[data-state=live]');
    assert.ok(!(await streams())[0].includes('log='), 'nobody looks whether what has ended grows');
  },

  async 'the end of a log that grows is followed until somebody scrolls up'(world, page) {
    const run = await world.submit('ticker');
    await world.until(run, ['running']);
    await page.setViewportSize({ width: 1280, height: 420 });
    await world.goto(page, `/runs/${run}/steps/tick/log`);
    const last = () => page.evaluate(() => Number([...document.querySelectorAll('.log-row')].at(-1)?.querySelector('.log-n').textContent ?? 0));
    const grows = (than) => page.waitForFunction((than) => Number([...document.querySelectorAll('.log-row')].at(-1)?.querySelector('.log-n').textContent ?? 0) > than, than);
    await grows(60);
    await grows((await last()) + 10);
    await hover(page, '.log-view');
    await expect(async () => (await wheel(page, -400), now.count(page, '.log-bar button[aria-pressed=false]:text("Follow")')), 1);
    // The wheel is turned over some frames.
    const stays = await page.evaluate(async () => {
      const view = document.querySelector('.log-view'), frame = () => new Promise(requestAnimationFrame);
      for (let place = -1, still = 0; still < 30; still = view.scrollTop === place ? still + 1 : 0) [place] = [view.scrollTop, await frame()];
      return Number([...document.querySelectorAll('.log-row')].at(-1).querySelector('.log-n').textContent);
    });
    await page.waitForFunction((than) => Number(document.querySelector('.log-note').textContent.match(/([\d,]+) lines/)[1].replaceAll(',', '')) > than + 60, stays);
    assert.ok(Math.abs((await last()) - stays) <= 1, 'it stays where somebody reads');
    await focus(page, '.log-view');
    await press(page, 'End');
    await grows(stays + 30);
    await page.waitForSelector('.log-bar button[aria-pressed=true]:text("Follow")');
    // Its last lines come without anybody asking for them.
    await world.signal(run);
    await page.waitForSelector('.log-row >> text=the very last');
  },

  async 'a thousand changes are seen, and cost few requests'(world, page) {
    const run = await world.run('large');
    await watched(page);
    await world.goto(page, `/runs/${run}?view=list`);
    await page.waitForSelector('#lamp[data-state=live]');
    let asked = 0;
    page.on('request', () => asked++);
    await page.evaluate((run) => {
      const tell = (step, what, state) => [...streams][0].dispatchEvent(new MessageEvent('happened', { data: JSON.stringify({ what, run_id: run, step: `each[${step}]`, state }) }));
      for (let step = 0; step < 1000; step++) tell(step, 'step-started');
      for (let step = 0; step < 1000; step++) if (step % 2) tell(step, 'step-ended', 'skipped');
    }, run);
    await page.waitForFunction(() => document.querySelector('[id="s-each[0]"] .word').textContent === 'running' && document.querySelector('[id="s-each[1]"] .is-skipped'));
    // Then the page is made anew by the server, which knows better.
    await page.waitForSelector('[id="s-each[0]"] .word:text("succeeded")');
    await expectText(page, '.states b', '1501');
    assert.ok(asked <= 3, `${asked} requests`);
  },

  async 'focus, size and what was chosen stay while the page changes'(world, page) {
    const run = await world.submit('release');
    await world.asking(run);
    await world.goto(page, `/runs/${run}`);
    await page.waitForSelector('#lamp[data-state=live]');
    await click(page, '.picture [data-step=pack]');
    await page.waitForSelector('#panel .panel[data-step=pack]');
    await press(page, '+');
    await focus(page, '#p-head [data-cancel]');
    const [width, outline] = await evaluate(page, () => [document.querySelector('.picture svg').getAttribute('width'), getComputedStyle(document.activeElement).outlineStyle]);
    assert.notEqual(outline, 'none', 'where one is can be seen');
    await world.api('POST', `/runs/${run}/pause`);
    await page.waitForSelector('#p-head .word:text("paused")');
    await expectThat(page, () => [document.activeElement.dataset.cancel, document.querySelector('.picture svg').getAttribute('width'), document.querySelector('#panel .panel').dataset.step, document.querySelector('.picture [data-chosen]').dataset.step], [run, width, 'pack', 'pack']);
  },

  async 'what happened while the network was away is there when it is back'(world, page) {
    await watched(page);
    const run = await world.submit('release');
    await world.asking(run);
    await world.goto(page, `/runs/${run}`);
    await page.waitForSelector('#lamp[data-state=live]');
    await page.context().setOffline(true);
    await page.evaluate(() => [...streams][0].dispatchEvent(new Event('error')));
    await page.waitForSelector('#lamp[data-state=lost]');
    await expectText(page, '#lamp', /not live since \d/);
    const clock = () => now.text(page, '#p-head time[data-since]');
    const stood = await clock();
    await world.api('POST', `/runs/${run}/steps/ask/answer`, { approved: true, by: '' });
    await world.until(run, ['succeeded']);
    assert.equal(await clock(), stood, 'clocks stand still while nobody knows');
    await page.context().setOffline(false);
    await page.waitForSelector('#lamp[data-state=live]');
    await page.waitForSelector('#p-head .word:text("succeeded")');
  },

  async 'how much was missed is said where everything is heard'(world, page) {
    await watched(page);
    await keepMessages(page);
    await world.goto(page, '/');
    await page.waitForSelector('#lamp[data-state=live]');
    const number = (at) => Number(at.split(':')[1]);
    const newest = async () => number((await world.page('/keys')).match(/data-at="(\w+:\d+)"/)[1]);
    await page.context().setOffline(true);
    const from = number(await page.evaluate(() => ([...streams][0].dispatchEvent(new Event('error')), globalThis.newest)));
    await page.waitForSelector('#lamp[data-state=lost]');
    await world.run('nightly');
    const least = (await newest()) - from;
    assert.ok(least > 5, `${least}`);
    await page.context().setOffline(false);
    await page.waitForSelector('#lamp[data-state=live] >> text=caught up');
    // More may have happened since.
    const missed = Number((await now.text(page, '#lamp')).match(/caught up: (\d+) changes/)[1]), most = (await newest()) - from;
    assert.ok(least <= missed && missed <= most, `${least} <= ${missed} <= ${most}`);
  },

  async 'a server that falls silent is known to be lost after 35 seconds, and is right again when it is back'(world) {
    const own = await world.another(FLOWS);
    const run = await own.submit('release');
    await own.asking(run);
    const page = await own.window({ reducedMotion: 'no-preference' });
    await watched(page);
    await page.clock.install();
    await own.goto(page, `/runs/${run}`);
    await page.waitForSelector('#lamp[data-state=live]');
    const clock = () => now.text(page, '#p-head time[data-since]'), turning = () => page.evaluate(() => document.getAnimations().length);
    await expect(turning, (count) => count > 0, 'what runs turns');
    // From now on time passes only where it is said. The last that the page hears is an event.
    await stopClock(page);
    const before = await page.evaluate(() => globalThis.newest);
    await own.api('POST', `/runs/${run}/pause`);
    await own.api('POST', `/runs/${run}/resume`);
    await expect(() => page.evaluate(() => globalThis.newest), (at) => at !== before);
    // The connection stays, and nothing comes.
    own.server.suspend();
    try {
      await page.clock.fastForward(30000);
      assert.equal(await now.attribute(page, '#lamp', 'data-state'), 'live', 'it may only have nothing to say');
      const goesOn = await clock();
      await page.clock.runFor(2000);
      assert.notEqual(await clock(), goesOn);
      await page.clock.fastForward(5000);
      assert.equal(await now.attribute(page, '#lamp', 'data-state'), 'lost');
      assert.match(await now.text(page, '#lamp'), /not live since \d+:\d\d:\d\d/);
      const stood = await clock();
      await page.clock.fastForward(20000);
      assert.equal(await clock(), stood, 'clocks stand still');
      assert.equal(await turning(), 0, 'nothing turns');
    } finally {
      own.server.resume();
    }
    await own.api('POST', `/runs/${run}/steps/ask/answer`, { approved: true, by: '' });
    await own.until(run, ['succeeded']);
    await page.clock.resume();
    await page.waitForSelector('#lamp[data-state=live]');
    await page.waitForSelector('#p-head .word:text("succeeded")');
  },

  async 'of eight tabs only the one that is seen has a stream, and it is right at once'(world, page) {
    const run = await world.submit('release');
    await world.asking(run);
    const tabs = [];
    for (let place = 0; place < 8; place++) {
      const tab = await world.tab(page.context());
      await watched(tab);
      await tab.clock.install();
      await world.goto(tab, `/runs/${run}`);
      await tab.waitForSelector('#lamp[data-state=live]');
      if (place < 7) {
        await tab.evaluate(() => look(false));
        // Ten minutes, of which nobody has to wait for one.
        await tab.clock.fastForward(600000);
        await tab.waitForFunction(() => streams.size === 0);
      }
      tabs.push(tab);
    }
    // A browser has six connections to a server: with a stream in each tab this would never be answered.
    await click(tabs[7], '#p-head >> text=Pause');
    await tabs[7].waitForSelector('#p-head .word:text("paused")');
    assert.equal(await now.text(tabs[0], '#p-head .word'), 'running', 'nobody looked');
    await tabs[0].evaluate(() => look(true));
    await tabs[0].clock.fastForward(1000);
    await tabs[0].waitForSelector('#p-head .word:text("paused")');
    assert.equal(await tabs[0].evaluate(() => streams.size), 1);
  },

  async 'a server that stops says so, and takes nothing new'(world) {
    const own = await world.another(FLOWS), page = await own.window();
    const run = await own.submit('ticker');
    await own.until(run, ['running']);
    await own.goto(page, '/flows/nightly/run');
    await page.waitForSelector('#lamp[data-state=live]');
    own.server.stop();
    for (const look of [async () => {}, () => reload(page)]) {
      await look();
      await page.waitForSelector('.band >> text=The server is stopping');
      await expectDisabled(page, '#form [type=submit]', true);
      await expectAttribute(page, '#form [type=submit]', 'title', /the server is stopping/);
    }
    const { state } = await own.api('GET', `/runs/${run}`);
    assert.equal(state, 'running', 'what runs goes on');
    // Its steps do so: what it says grows.
    const log = `/runs/${run}/log/lines?step=tick`, { total: before } = await own.api('GET', log);
    await own.holds(log, ({ total }) => total > before);
  },
};

/** Errors that tests cause. */
export const expects = {
  'what happened while the network was away is there when it is back': [/fetch/i],
  'how much was missed is said where everything is heard': [/fetch/i],
};

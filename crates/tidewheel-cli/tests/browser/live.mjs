// What changes while somebody looks: it comes by itself, or the page says that it does not.
import assert from 'node:assert/strict';

export const FLOWS = {
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

/** Lets a test say whether anybody looks, and counts the streams that are open. */
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
    }
    close() {
      super.close();
      streams.delete(this);
    }
  };
});

export const tests = {
  async 'the step beside a run follows it, and is right when all has gone well'(world, page) {
    const { run_id: run } = await world.api(page, 'POST', '/runs', { flow: 'goes-well' });
    await world.asking(page, run);
    await world.goto(page, `/runs/${run}`);
    await page.waitForSelector('#lamp[data-state=live]');
    await page.waitForSelector('#panel .panel[data-step=gate]');
    await world.api(page, 'POST', `/runs/${run}/steps/gate/answer`, { approved: true, by: '' });
    await page.waitForSelector('#p-head .word:text("succeeded")');
    await page.waitForSelector('#panel .panel[data-step=last] .facts >> text=succeeded');
    assert.match(await page.textContent('#panel'), /size\s*42/);
  },

  async 'a run of many steps goes on in every view, its rows further down too'(world, page) {
    for (const view of ['graph', 'list', 'time', 'slots']) {
      const { run_id: run } = await world.api(page, 'POST', '/runs', { flow: 'many' });
      await world.asking(page, run);
      await world.goto(page, `/runs/${run}?view=${view}`);
      await page.waitForSelector('#lamp[data-state=live]');
      // Rows further down, which have come by themselves since.
      const far = { list: '.step-row', time: '.gantt-row' }[view];
      if (far) {
        await page.evaluate(() => scrollTo(0, 24 * 150));
        await page.waitForSelector(`#c-100 ${far}`);
        assert.equal(await page.locator('#c-100 .is-succeeded').count(), 0);
      }
      if (view === 'graph') (await page.click('.picture [data-step=gate]'), await page.keyboard.press('+'));
      const width = view === 'graph' && (await page.getAttribute('.picture svg', 'width'));
      await world.api(page, 'POST', `/runs/${run}/steps/gate/answer`, { approved: true, by: '' });
      await page.waitForSelector('#p-head .word:text("succeeded")');
      if (view === 'graph') {
        await page.waitForFunction(() => !document.querySelector('.picture :is(.state-pending, .state-running)'));
        // As large as somebody made it, and with what they chose.
        const { width: is, viewBox } = await page.evaluate(() => ({ width: document.querySelector('.picture svg').getAttribute('width'), viewBox: document.querySelector('.picture svg').viewBox.baseVal.width }));
        assert.ok(Number(is) > viewBox || is === width, `${is} of ${viewBox}`);
        assert.equal(await page.getAttribute('.picture [data-chosen]', 'data-step'), 'gate');
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
    const { run_id: run } = await world.api(page, 'POST', '/runs', { flow: 'many' });
    await world.asking(page, run);
    await world.goto(page, `/runs/${run}?view=time`);
    await page.waitForSelector('#lamp[data-state=live]');
    const end = () => page.evaluate(() => Number(document.getElementById('p-gantt').dataset.end));
    const [before, width] = [await end(), await page.locator('[id="t-gate"] .track').evaluate((it) => it.getBoundingClientRect().width)];
    assert.ok(before > 0 && width > 0);
    // Nothing happens, and it is drawn anew.
    await page.waitForFunction((before) => Number(document.getElementById('p-gantt').dataset.end) > before, before);
    await page.evaluate(() => scrollTo(0, 24 * 150));
    await page.waitForSelector('[id="t-each[149]"]');
    const all = await page.evaluate(() => [...new Set([...document.querySelectorAll('.chunk')].map((it) => new URL(it.dataset.src, location.href).searchParams.get('end')))]);
    assert.deepEqual(all.map(Number), [await end()]);
    await world.api(page, 'POST', `/runs/${run}/cancel`, {});
  },

  async 'a log has one stream, of its run alone, and its head goes on while it is read'(world, page) {
    const { writeFileSync } = await import('node:fs');
    const go = (run, attempt) => writeFileSync(`${world.folder}/data/runs/${run}/work/go${attempt}`, '');
    await watched(page);
    const { run_id: run } = await world.api(page, 'POST', '/runs', { flow: 'again' });
    await world.until(page, run, ['running']);
    await world.goto(page, `/runs/${run}/steps/try/log`);
    await page.waitForSelector('#lamp[data-state=live]');
    await page.waitForSelector('.log-row >> text=try 1');
    const streams = () => page.evaluate(() => [...globalThis.streams].map((it) => new URL(it.url).search));
    const [one, ...more] = await streams();
    assert.deepEqual(more, []);
    assert.ok(one.includes(`run=${run}`) && one.includes('log=try'), one);
    // What is told of others is not told here.
    await page.evaluate(() => { globalThis.told = []; [...streams][0].addEventListener('happened', ({ data }) => told.push(JSON.parse(data).run_id)); });
    const other = await world.window();
    await world.run(other, 'nightly');
    go(run, 1);
    await page.waitForSelector('#p-head a:text("Attempt 2")');
    // It stays the log that was opened.
    assert.equal(await page.textContent('#p-head [aria-current=page]'), 'Attempt 1');
    await page.waitForSelector('.log-row >> text=try 1');
    go(run, 2);
    await page.waitForSelector('#p-head .word:text("succeeded")');
    assert.deepEqual(await page.evaluate((run) => told.filter((it) => it !== run), run), []);
    await world.goto(page, `/runs/${run}/steps/try/log`);
    await page.waitForSelector('#lamp[data-state=live]');
    assert.ok(!(await streams())[0].includes('log='), 'nobody looks whether what has ended grows');
    await other.context().close();
  },

  async 'the end of a log that grows is followed until somebody scrolls up'(world, page) {
    const { writeFileSync } = await import('node:fs');
    const { run_id: run } = await world.api(page, 'POST', '/runs', { flow: 'ticker' });
    await world.until(page, run, ['running']);
    await page.setViewportSize({ width: 1280, height: 420 });
    await world.goto(page, `/runs/${run}/steps/tick/log`);
    const last = () => page.evaluate(() => Number([...document.querySelectorAll('.log-row')].at(-1)?.querySelector('.log-n').textContent ?? 0));
    const grows = (than) => page.waitForFunction((than) => Number([...document.querySelectorAll('.log-row')].at(-1)?.querySelector('.log-n').textContent ?? 0) > than, than);
    await grows(60);
    await grows((await last()) + 10);
    await page.hover('.log-view');
    await page.mouse.wheel(0, -400);
    await page.waitForSelector('.log-bar button[aria-pressed=false]:text("Follow")');
    const stays = await last();
    await page.waitForFunction((than) => Number(document.querySelector('.log-note').textContent.match(/([\d,]+) lines/)[1].replaceAll(',', '')) > than + 60, stays);
    assert.ok(Math.abs((await last()) - stays) <= 1, 'it stays where somebody reads');
    await page.focus('.log-view');
    await page.keyboard.press('End');
    await grows(stays + 30);
    await page.waitForSelector('.log-bar button[aria-pressed=true]:text("Follow")');
    // Its last lines come without anybody asking for them.
    writeFileSync(`${world.folder}/data/runs/${run}/work/go`, '');
    await page.waitForSelector('.log-row >> text=the very last');
  },

  async 'a thousand changes are seen, and cost few requests'(world, page) {
    const run = await world.run(page, 'large');
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
    // The counts are those of the server, which knows better.
    await page.waitForFunction(() => document.querySelector('.states b').textContent === '1501');
    assert.ok(asked <= 3, `${asked} requests`);
  },

  async 'focus, size and what was chosen stay while the page changes'(world, page) {
    const { run_id: run } = await world.api(page, 'POST', '/runs', { flow: 'release' });
    await world.asking(page, run);
    await world.goto(page, `/runs/${run}`);
    await page.waitForSelector('#lamp[data-state=live]');
    await page.click('.picture [data-step=pack]');
    await page.waitForSelector('#panel .panel[data-step=pack]');
    await page.keyboard.press('+');
    await page.focus('#p-head [data-cancel]');
    const [width, outline] = await page.evaluate(() => [document.querySelector('.picture svg').getAttribute('width'), getComputedStyle(document.activeElement).outlineStyle]);
    assert.notEqual(outline, 'none', 'where one is can be seen');
    await world.api(page, 'POST', `/runs/${run}/pause`);
    await page.waitForSelector('#p-head .word:text("paused")');
    const kept = await page.evaluate(() => [document.activeElement.dataset.cancel, document.querySelector('.picture svg').getAttribute('width'), document.querySelector('#panel .panel').dataset.step, document.querySelector('.picture [data-chosen]').dataset.step]);
    assert.deepEqual(kept, [run, width, 'pack', 'pack']);
    await world.api(page, 'POST', `/runs/${run}/cancel`, {});
  },

  async 'what happened while the network was away is there when it is back'(world, page) {
    await watched(page);
    const { run_id: run } = await world.api(page, 'POST', '/runs', { flow: 'release' });
    await world.asking(page, run);
    await world.goto(page, `/runs/${run}`);
    await page.waitForSelector('#lamp[data-state=live]');
    const other = await world.window();
    await page.context().setOffline(true);
    await page.evaluate(() => [...streams][0].dispatchEvent(new Event('error')));
    await page.waitForSelector('#lamp[data-state=lost]');
    assert.match(await page.textContent('#lamp'), /not live since \d/);
    const clock = () => page.textContent('#p-head time[data-since]');
    const stood = await clock();
    await world.api(other, 'POST', `/runs/${run}/steps/ask/answer`, { approved: true, by: '' });
    await world.until(other, run, ['succeeded']);
    assert.equal(await clock(), stood, 'clocks stand still while nobody knows');
    await page.context().setOffline(false);
    await page.waitForSelector('#lamp[data-state=live]');
    await page.waitForSelector('#p-head .word:text("succeeded")');
    page.wrong = page.wrong.filter((it) => !/fetch/i.test(it));
    await other.context().close();
  },

  async 'how much was missed is said where everything is heard'(world, page) {
    await watched(page);
    await world.goto(page, '/');
    await page.waitForSelector('#lamp[data-state=live]');
    const other = await world.window();
    const newest = () => other.evaluate(async () => Number((await (await fetch('/keys')).text()).match(/data-at="\w+:(\d+)"/)[1]));
    await page.evaluate(() => [...streams][0].addEventListener('happened', (event) => (globalThis.heard = event.lastEventId)));
    await page.context().setOffline(true);
    const from = await page.evaluate(() => ([...streams][0].dispatchEvent(new Event('error')), Number((globalThis.heard ?? document.documentElement.dataset.at).split(':')[1])));
    await page.waitForSelector('#lamp[data-state=lost]');
    await world.run(other, 'nightly');
    const missed = (await newest()) - from;
    assert.ok(missed > 5, `${missed}`);
    await page.context().setOffline(false);
    await page.waitForSelector(`#lamp[data-state=live] >> text=caught up: ${missed} changes`);
    page.wrong = page.wrong.filter((it) => !/fetch/i.test(it));
    await other.context().close();
  },

  async 'a server that falls silent is known to be lost after 35 seconds, and is right again when it is back'(world, page) {
    const { run_id: run } = await world.api(page, 'POST', '/runs', { flow: 'release' });
    await world.asking(page, run);
    const other = await world.window();
    const moving = await world.window({ reducedMotion: 'no-preference' });
    await moving.clock.install();
    await world.goto(moving, `/runs/${run}`);
    await moving.waitForSelector('#lamp[data-state=live]');
    const clock = () => moving.textContent('#p-head time[data-since]'), turning = () => moving.evaluate(() => document.getAnimations().length);
    assert.ok((await turning()) > 0, 'what runs turns');
    // The connection stays, and nothing comes. Nobody has to wait for that.
    world.server.kill('SIGSTOP');
    try {
      await moving.clock.pauseAt(Date.now() + 30000);
      assert.equal(await moving.getAttribute('#lamp', 'data-state'), 'live', 'it may only have nothing to say');
      const goesOn = await clock();
      await moving.clock.runFor(2000);
      assert.notEqual(await clock(), goesOn);
      await moving.clock.fastForward(5000);
      assert.equal(await moving.getAttribute('#lamp', 'data-state'), 'lost');
      assert.match(await moving.textContent('#lamp'), /not live since \d+:\d\d:\d\d/);
      const stood = await clock();
      await moving.clock.fastForward(20000);
      assert.equal(await clock(), stood, 'clocks stand still');
      assert.equal(await turning(), 0, 'nothing turns');
    } finally {
      world.server.kill('SIGCONT');
    }
    await world.api(other, 'POST', `/runs/${run}/steps/ask/answer`, { approved: true, by: '' });
    await world.until(other, run, ['succeeded']);
    await moving.clock.resume();
    await moving.waitForSelector('#lamp[data-state=live]');
    await moving.waitForSelector('#p-head .word:text("succeeded")');
    for (const it of [moving, other]) await it.context().close();
  },

  async 'of eight tabs only the one that is seen has a stream, and it is right at once'(world, page) {
    const { run_id: run } = await world.api(page, 'POST', '/runs', { flow: 'release' });
    await world.asking(page, run);
    const tabs = [];
    for (let place = 0; place < 8; place++) {
      const tab = await page.context().newPage();
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
    await tabs[7].click('#p-head >> text=Pause');
    await tabs[7].waitForSelector('#p-head .word:text("paused")');
    assert.equal(await tabs[0].textContent('#p-head .word'), 'running', 'nobody looked');
    await tabs[0].evaluate(() => look(true));
    await tabs[0].clock.fastForward(1000);
    await tabs[0].waitForSelector('#p-head .word:text("paused")');
    assert.equal(await tabs[0].evaluate(() => streams.size), 1);
    await world.api(page, 'POST', `/runs/${run}/cancel`, {});
    for (const tab of tabs) await tab.close();
  },
};

/** What ends the server comes last. */
export const last = {
  async 'a server that stops says so, and takes nothing new'(world, page) {
    const { run_id: run } = await world.api(page, 'POST', '/runs', { flow: 'ticker' });
    await world.until(page, run, ['running']);
    await world.goto(page, '/flows/nightly/run');
    await page.waitForSelector('#lamp[data-state=live]');
    world.server.removeAllListeners('exit');
    world.server.kill('SIGTERM');
    await page.waitForSelector('.band >> text=The server is stopping');
    assert.equal(await page.isDisabled('#form [type=submit]'), true);
    assert.match(await page.getAttribute('#form [type=submit]', 'title'), /the server is stopping/);
    await page.reload();
    await page.waitForSelector('.band >> text=The server is stopping');
    assert.equal(await page.isDisabled('#form [type=submit]'), true);
    assert.match(await page.getAttribute('#form [type=submit]', 'title'), /the server is stopping/);
    const { state } = await world.api(page, 'GET', `/runs/${run}`);
    assert.equal(state, 'running', 'what runs goes on');
    // Its steps do so: what it says grows.
    const lines = async () => (await page.evaluate(async (run) => (await (await fetch(`/api/v1/runs/${run}/log/lines?step=tick`)).json()).total, run));
    const before = await lines();
    await world.holds(page, async ([run, before]) => (await (await fetch(`/api/v1/runs/${run}/log/lines?step=tick`)).json()).total > before, [run, before]);
  },
};

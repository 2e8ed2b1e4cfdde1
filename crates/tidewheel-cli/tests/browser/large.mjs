// What is large: ten thousand steps, a thousand runs, twelve million lines. How quick it is is measured by `measure.mjs`; here is
// what does not depend on the machine: that it is all there, that it can be used, and that only what is seen is in the page.
import assert from 'node:assert/strict';
import { back, click, count, evaluate, expectValue, focus, hover, press, settled, type, wheel } from './actions.mjs';
import { FLOWS as SHARED } from './flows.mjs';

const STEPS = 10000, RUNS = 1000, LINES = 12000000, NODES = 4000;
export const FLOWS = {
  ...SHARED,
  'vast.yaml': `
name: vast
flow:
  - { name: gate, wait: { approval: 'Shall they?', every: 1s } }
  - { name: each, foreach: ${JSON.stringify(Array.from({ length: STEPS }, (_, it) => it))}, wait: 1ms, depends_on: [gate] }
`,
  'mute.yaml': `
name: mute
flow: [{ name: talk, run: 'echo nothing' }]
`,
};

const nodes = (page) => evaluate(page, () => document.querySelectorAll('*').length);

export const tests = {
  async 'a run of ten thousand steps is small in every view, and each step can be reached'(world, page) {
    const run = await world.submit('vast');
    await world.asking(run);
    // What has run is drawn in time and slots; how many there are does not matter there.
    const ran = await world.run('large');
    for (const [it, view] of [[run, 'graph'], [run, 'list'], [run, 'time'], [run, 'slots'], [ran, 'time'], [ran, 'slots']]) {
      await world.goto(page, `/runs/${it}?view=${view}`);
      assert.ok((await nodes(page)) <= NODES, `${view} has ${await nodes(page)} nodes`);
    }
    await world.goto(page, `/runs/${run}?view=list`);
    await press(page, 'End');
    await page.waitForSelector(`[id="s-each[${STEPS - 1}]"]`);
    assert.ok((await nodes(page)) <= NODES, `${await nodes(page)} nodes at the end`);
    await press(page, '/');
    await type(page, 'each[8765]');
    await press(page, 'Enter');
    await page.waitForURL(/q=each/);
    await click(page, '.step-row .name a');
    await page.waitForSelector('#panel h2 >> text=each[8765]');

    // The box finds steps that are not in the page.
    await world.goto(page, `/runs/${run}`);
    await press(page, 'Control+k');
    await type(page, 'each[9876]');
    await click(page, '#found li:has-text("each[9876]")');
    await page.waitForSelector('#panel h2 >> text=each[9876]');

    // A thousand changes, of which one is drawn: nothing else in the page is touched for the others.
    await page.addInitScript(() => {
      const Real = EventSource;
      globalThis.EventSource = class extends Real {
        constructor(address) {
          super(address);
          globalThis.stream = this;
        }
      };
    });
    await world.goto(page, `/runs/${run}?view=list`);
    await page.waitForSelector('#lamp[data-state=live]');
    const [touched, word] = await page.evaluate(async ([run, steps]) => {
      const frame = () => new Promise(requestAnimationFrame);
      while (document.documentElement.dataset.updates !== 'settled') await frame();
      // Nothing else changes the page meanwhile.
      globalThis.fetch = () => new Promise(() => {});
      let touched = 0;
      new MutationObserver((all) => (touched += all.length)).observe(document.querySelector('.steps'), { subtree: true, childList: true, attributes: true, characterData: true });
      for (let it = 1; it <= 1000; it++) stream.dispatchEvent(new MessageEvent('happened', { data: JSON.stringify({ what: 'step-started', run_id: run, step: `each[${steps - it}]` }) }));
      stream.dispatchEvent(new MessageEvent('happened', { data: JSON.stringify({ what: 'step-started', run_id: run, step: 'each[1]' }) }));
      await frame();
      await frame();
      return [touched, document.querySelector('[id="s-each[1]"] .word').textContent];
    }, [run, STEPS]);
    assert.equal(word, 'running');
    assert.ok(touched > 0 && touched <= 4, `${touched} changes to the page`);
  },

  async 'of a thousand runs a page is shown, all can be reached, and back finds place and filter'(world) {
    const own = await world.another(FLOWS);
    await own.run('nightly');
    await own.kill();
    await own.multiply(RUNS);
    await own.serve();
    const page = await own.window();
    await own.goto(page, '/runs?flow=nightly');
    const seen = new Set();
    for (;;) {
      for (const id of await evaluate(page, () => [...document.querySelectorAll('#p-runs tbody tr')].map((it) => it.id))) seen.add(id);
      assert.ok((await nodes(page)) <= NODES);
      if (!(await count(page, 'a[rel=next]'))) break;
      const before = page.url();
      await click(page, 'a[rel=next]');
      await page.waitForURL((url) => url.href !== before);
    }
    assert.ok(seen.size >= RUNS, `${seen.size} runs`);
    // The oldest is found by its id, although no list that the box has knows of it.
    const oldest = [...seen].at(-1).slice(2);
    await press(page, 'Control+k');
    await type(page, oldest);
    await page.waitForSelector(`#found li:has-text("nightly ${oldest.slice(0, 13)}")`);
    await press(page, 'Enter');
    await page.waitForURL(`${own.base}/runs/${oldest}`);
    // A page further on, somewhere in its middle.
    await own.goto(page, '/runs?flow=nightly&state=succeeded');
    await click(page, 'a[rel=next]');
    await page.waitForURL(/cursor=/);
    await settled(page);
    const address = page.url();
    assert.match(address, /flow=nightly.*state=succeeded/);
    await page.evaluate(() => scrollTo(0, 700));
    const at = await page.evaluate(() => scrollY);
    assert.ok(at > 300);
    await click(page, page.locator('#p-runs tbody tr th a').nth(30), { noWaitAfter: true });
    await page.waitForURL(/\/runs\/[0-9a-f-]{36}/);
    await back(page);
    await page.waitForURL(address);
    await page.waitForFunction((at) => scrollY === at, at);
    await expectValue(page, '.filter [name=flow]', 'nightly');
    await expectValue(page, '.filter [name=state]', 'succeeded');
  },

  async 'every one of twelve million lines can be reached, and has its number'(world, page) {
    const run = await world.run('mute');
    world.log(run, (number) => number + 1, { lines: LINES });
    let bytes = 0;
    page.on('response', async (answer) => answer.url().includes('/log/lines') && (bytes += (await answer.body().catch(() => '')).length));
    await world.goto(page, `/runs/${run}/steps/talk/log`);
    // Each line is its number, so any that is wrong is seen.
    const right = (least, most) => page.waitForFunction(([least, most]) => {
      const all = [...document.querySelectorAll('.log-row')].map((row) => [row.querySelector('.log-n').textContent, row.querySelector('.log-text').textContent]);
      const is = all.filter(([number]) => least <= number && number <= most);
      return is.length > 0 && all.length < 100 && all.every(([number, text]) => number === text);
    }, [least, most]);
    await right(1, 1);
    await focus(page, '.log-view');
    await press(page, 'End');
    await page.waitForSelector(`.log-row >> text=${LINES}`);
    await right(LINES, LINES);
    await press(page, ':');
    await type(page, '6543210');
    await press(page, 'Enter');
    await right(6543210, 6543210);
    // Small moves are by lines although no element is as high as all of them.
    await hover(page, '.log-view');
    await wheel(page, 600);
    await right(6543235, 6543270);
    await page.evaluate(() => (document.querySelector('.log-view').scrollTop *= 1.5));
    await right(9000000, 11000000);
    await press(page, 'Home');
    await right(1, 1);
    assert.ok(bytes > 0 && bytes < 3e6, `${bytes} bytes were fetched`);
  },
};

// How quick and how large the page is, in a real browser, beside what was promised. It asserts nothing: it prints a table.
//
//   cargo build --release -p tidewheel-cli
//   TIDEWHEEL=target/release/tidewheel TIDEWHEEL_CHROMIUM=/usr/bin/chromium TIDEWHEEL_BROWSER_TOOLS=FOLDER node measure.mjs
//
// `RUNS` (1000000), `STEPS` (10000) and `LOG_MB` (1000) make it smaller. It needs python3, which multiplies a stored run.
import { execFileSync } from 'node:child_process';
import { constants, copyFileSync, readFileSync, renameSync, rmSync } from 'node:fs';
// What is recorded for failures would be measured too.
process.env.TIDEWHEEL_TRACES = 'off';
const { World } = await import('./world.mjs');

const RUNS = Number(process.env.RUNS ?? 1e6), STEPS = Number(process.env.STEPS ?? 1e4), LOG_MB = Number(process.env.LOG_MB ?? 1000);
const many = JSON.stringify(Array.from({ length: STEPS }, (_, it) => it));
const FLOWS = {
  'nightly.yaml': "name: nightly\nschedule: [{ name: nightly, cron: '0 2 * * *', zone: UTC }]\nflow:\n  - { name: fetch, run: 'echo fetched' }\n  - { name: test, run: 'echo wrong >&2; exit 1', depends_on: [fetch] }\n",
  'large.yaml': `name: large\nflow:\n  - { name: each, foreach: ${many}, wait: 1ms }\n`,
  'live.yaml': `name: live\nlimits: { one: { units: 1 } }\nflow:\n  - { name: ask, wait: { approval: 'Go on?', every: 50ms } }\n  - { name: each, foreach: ${many}, run: 'sleep 600', limits: { one: 1 } }\n`,
};

const table = [];
const told = (what, is, most, unit) => {
  const isGood = most === undefined || (unit === 'MB/s' ? is >= most : is <= most);
  table.push([what, `${Math.round(is * 10) / 10} ${unit}`, most === undefined ? '' : `${unit === 'MB/s' ? '≥' : '≤'} ${most} ${unit}`, isGood ? '' : 'missed']);
  console.error(table.at(-1).join('  '));
};
const median = (all) => [...all].sort((one, other) => one - other)[Math.floor(all.length / 2)];
const memory = (world) => Number(readFileSync(`/proc/${world.server.pid}/status`, 'utf8').match(/VmRSS:\s+(\d+)/)[1]) / 1024;

/** What the largest process of a tab has of the memory of the machine, its share of what it shares included. */
async function tab(world) {
  const devtools = await world.browser.newBrowserCDPSession();
  const { processInfo } = await devtools.send('SystemInfo.getProcessInfo');
  const share = ({ id }) => Number(readFileSync(`/proc/${id}/smaps_rollup`, 'utf8').match(/Pss:\s+(\d+)/)[1]) * 1024 / 1e6;
  return Math.max(...processInfo.filter((it) => it.type === 'renderer').map(share));
}

async function painted(world, page, path) {
  await page.goto(world.base + path, { waitUntil: 'load' });
  return page.evaluate(() => new Promise((resolve) => {
    const { requestStart, responseEnd } = performance.getEntriesByType('navigation')[0];
    const seen = (it) => it.name === 'first-contentful-paint' && resolve([it.startTime, responseEnd - requestStart]);
    new PerformanceObserver((list) => list.getEntries().forEach(seen)).observe({ type: 'paint', buffered: true });
  }));
}

async function paints(world, page, what, path, most) {
  const all = [];
  for (let time = 0; time < 5; time++) all.push(await painted(world, page, path));
  const server = Math.round(median(all.map((it) => it[1])) * 10) / 10;
  told(`first paint of ${what} (of it the server: ${server} ms)`, median(all.map((it) => it[0])), most, 'ms');
}

async function weight(world, page) {
  const cold = await world.window({ isBlank: true });
  await cold.goto(`${world.base}/`, { waitUntil: 'networkidle' }).catch(() => {});
  const weigh = () => cold.evaluate(() => {
    const all = [...performance.getEntriesByType('navigation'), ...performance.getEntriesByType('resource')].filter((it) => !it.name.includes('/api/'));
    return [all.reduce((sum, it) => sum + it.transferSize, 0) / 1000, all.reduce((sum, it) => sum + it.decodedBodySize, 0) / 1000];
  });
  const [sent, whole] = await weigh();
  told('weight of the first page, as sent', sent, 40, 'kB');
  told('weight of the first page, unpacked', whole, 150, 'kB');
  await world.close(cold);
}

async function manySteps(world, page) {
  const run = await world.run('large', {}, ['succeeded']);
  for (const view of ['graph', 'list', 'time', 'slots']) await paints(world, page, `${STEPS} steps, ${view}`, `/runs/${run}?view=${view}`, 1000);
  await world.goto(page, `/runs/${run}?view=list`);
  await page.waitForSelector('#lamp[data-state=live]');
  const longest = await page.evaluate(async () => {
    let longest = 0;
    new PerformanceObserver((list) => list.getEntries().forEach((it) => (longest = Math.max(longest, it.duration)))).observe({ type: 'longtask' });
    for (let place = 0; place < 300; place++) {
      scrollBy(0, 400);
      await new Promise(requestAnimationFrame);
    }
    await new Promise((resolve) => setTimeout(resolve, 1000));
    return longest;
  });
  told(`longest task while ${STEPS} steps are scrolled (0: none over 50 ms)`, longest, 50, 'ms');
  for (const view of ['graph', 'list']) await changes(world, await world.window(), run, view);
}

/** The longest task while a thousand steps a second change, as the stream would tell it. */
async function changes(world, page, run, view) {
  await page.addInitScript(() => {
    const Real = EventSource;
    globalThis.EventSource = class extends Real {
      constructor(address) {
        super(address);
        globalThis.stream = this;
      }
    };
  });
  await world.goto(page, `/runs/${run}?view=${view}`);
  await page.waitForSelector('#lamp[data-state=live]');
  const longest = await page.evaluate(([run, steps]) => new Promise((resolve) => {
    let longest = 0, told = 0;
    new PerformanceObserver((list) => list.getEntries().forEach((it) => (longest = Math.max(longest, it.duration)))).observe({ type: 'longtask' });
    const tell = setInterval(() => {
      for (let time = 0; time < 20; time++, told++) {
        const data = JSON.stringify({ what: told % 2 ? 'step-ended' : 'step-started', state: 'skipped', run_id: run, step: `each[${told % steps}]` });
        stream.dispatchEvent(new MessageEvent('happened', { data }));
      }
      if (told >= 5000) (clearInterval(tell), setTimeout(() => resolve(longest), 1000));
    }, 20);
  }), [run, STEPS]);
  told(`longest task while a thousand of ${STEPS} steps a second change, ${view} (0: none over 50 ms)`, longest, 50, 'ms');
}

async function event(world, page) {
  const run = await world.submit('live');
  await world.holds(`/runs/${run}/steps?limit=0`, ({ letters }) => letters.length > 1000);
  await world.goto(page, `/runs/${run}`);
  await page.waitForSelector('.picture [data-step=ask]');
  await page.waitForSelector('#lamp[data-state=live]');
  const late = page.evaluate((run) => new Promise((resolve) => {
    let at, seen;
    const done = () => at && seen && resolve(seen - at);
    const stream = new EventSource(`/api/v1/events?run=${run}`);
    stream.addEventListener('happened', ({ data }) => {
      const it = JSON.parse(data);
      if (it.step === 'ask' && it.what === 'step-ended') (at = Date.parse(it.at)), done();
    });
    new MutationObserver(() => {
      if (document.querySelector('.picture .state-succeeded[data-step=ask]')) requestAnimationFrame(() => (seen ??= Date.now(), done()));
    }).observe(document.querySelector('.picture'), { subtree: true, attributes: true, childList: true });
  }), run);
  await world.api('POST', `/runs/${run}/steps/ask/answer`, { approved: true, by: '' });
  told(`an event of ${STEPS} steps is on the screen`, await late, 200, 'ms');
  await world.api('POST', `/runs/${run}/cancel`, {});
}

async function log(world, page) {
  const run = await world.run('nightly');
  const text = (number) => `line ${number} of a long log with some words in it, and then some more of them`;
  const { path, size } = world.log(run, text, { bytes: LOG_MB * 1e6 }, 'this is the last line\n');
  const before = memory(world);
  const timed = async (path) => {
    const began = performance.now();
    const answer = await page.evaluate(async (path) => (await (await fetch(path)).text()).length, `/api/v1/runs/${run}/log/${path}`);
    return [performance.now() - began, answer];
  };
  const isSeen = (text) => [...document.querySelectorAll('.log-row .log-text')].some((it) => it.textContent === text);
  // From the key until it is seen; whoever drives the browser adds to it.
  const after = async (act, text) => {
    const began = performance.now();
    await act();
    await page.waitForFunction(isSeen, text, { polling: 'raf' });
    return performance.now() - began;
  };
  // As the page itself knows it: from asking for it until the frame in which it is seen.
  const opened = async (text) => {
    await page.addInitScript(`{ const isSeen = ${isSeen}; const look = () => (isSeen(${JSON.stringify(text)}) ? (globalThis.seenAt = performance.now()) : requestAnimationFrame(look)); requestAnimationFrame(look); }`);
    await world.goto(page, `/runs/${run}/steps/fetch/log`);
    return (await page.waitForFunction(() => globalThis.seenAt)).jsonValue();
  };
  // Whoever opens it has looked at a log before.
  await world.goto(page, `/runs/${run}/steps/test/log`);
  const [first] = await timed('lines?step=fetch&from=-400&now=true');
  told(`end of a log of ${LOG_MB} MB, never opened`, first, 300, 'ms');
  const fresh = async (word) => (renameSync(path, `${path}.${word}`), copyFileSync(`${path}.${word}`, path, constants.COPYFILE_FICLONE), rmSync(`${path}.${word}`));
  await fresh('new');
  // What is still to be written would be measured with it.
  execFileSync('sync');
  told('its first lines are seen, never opened', await opened(text(0)), 300, 'ms');
  await page.focus('.log-view');
  told('its end is seen, before its lines are counted', await after(() => page.keyboard.press('End'), 'this is the last line'), 300, 'ms');
  await page.waitForFunction(() => !document.querySelector('.log-note').textContent.includes('counted'));
  told('some other place is seen, after a drag', await (async () => {
    const began = performance.now();
    await page.evaluate(() => (document.querySelector('.log-view').scrollTop = 4e6));
    await page.waitForFunction(() => [...document.querySelectorAll('.log-row')].every((it) => it.textContent.includes('long log')) && Number(document.querySelector('.log-n').textContent) > 1e6, undefined, { polling: 'raf' });
    return performance.now() - began;
  })(), 500, 'ms');
  told('memory of the tab, all of its process', await tab(world), 150, 'MB');
  const again = [];
  for (let time = 0; time < 5; time++) again.push((await timed('lines?step=fetch&from=-400'))[0]);
  told('end of it, opened before', median(again), 300, 'ms');
  const [search] = await timed('search?step=fetch&text=nowhere');
  told('it is searched', size / 1e6 / (search / 1000), 200, 'MB/s');
  told('memory of the server grows by', Math.max(0, memory(world) - before), 64, 'MB');
  await paints(world, page, 'its page, with its end', `/runs/${run}/steps/fetch/log`, 300);
}

const world = await World.begin(FLOWS);
try {
  const load = () => readFileSync('/proc/loadavg', 'utf8').split(' ').slice(0, 2).join(' and ');
  console.error(`load of the machine in the last one and five minutes: ${load()}`);
  await world.run('nightly');
  await world.kill();
  await world.multiply(RUNS);
  await world.serve();
  const page = await world.window();
  await weight(world, page);
  const run = await world.run('nightly');
  const pages = { overview: '/', flows: '/flows', 'a flow': '/flows/nightly', 'its history': '/flows/nightly?tab=history', 'its schedules': '/flows/nightly?tab=schedule', 'its file': '/flows/nightly?tab=file', 'its form': '/flows/nightly/run', runs: '/runs', 'runs that failed': '/runs?state=failed', 'runs of a flow': '/runs?flow=nightly', 'a run': `/runs/${run}`, 'its times': `/runs/${run}?view=time`, 'its slots': `/runs/${run}?view=slots`, 'its list': `/runs/${run}?view=list`, 'a step': `/runs/${run}/steps/test`, 'a log': `/runs/${run}/steps/test/log`, 'all its logs': `/runs/${run}/log`, queues: '/queues', schedules: '/schedules', 'a schedule': '/schedules/nightly%2Fnightly', approvals: '/approvals', system: '/system', store: '/system?tab=store', tokens: '/system?tab=tokens', audit: '/system?tab=audit', keys: '/keys' };
  for (const [what, path] of Object.entries(pages)) await paints(world, page, `${what}, ${RUNS} runs stored`, path, 300);
  await manySteps(world, page);
  await event(world, page);
  // A tab of its own: what others showed is not its memory.
  await world.close(page);
  await log(world, await world.window());
} finally {
  await world.end();
}
console.log(`Load at the end: ${readFileSync('/proc/loadavg', 'utf8').split(' ')[0]}\n`);
console.log('| What | Measured | Promised | |\n|---|---:|---:|---|');
for (const row of table) console.log(`| ${row.join(' | ')} |`);

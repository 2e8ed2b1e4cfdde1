// Pictures of every page for the documentation, of a server that has something to do: `TIDEWHEEL_PICTURES=FOLDER node pictures.mjs`.
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { click, expect, press, type } from './actions.mjs';
import { World } from './world.mjs';

const FLOWS = {
  'nightly.yaml': `
name: nightly
description: Builds what was merged today, checks it, and publishes it.
params: { level: { type: int, default: 5, min: 1, max: 9, description: How deep the checks look } }
schedule: [{ name: nightly, cron: '0 2 * * *', zone: Europe/Berlin }]
flow:
  - { name: fetch, run: 'echo fetched 812 files; sleep 0.2' }
  - { name: build, run: 'for part in core store server page; do echo "compiling $part"; sleep 0.1; done; echo built', depends_on: [fetch] }
  - { name: lint, run: 'sleep 0.15; printf "\\033[33mwarning\\033[0m: unused import in store.rs:12\\n"', depends_on: [fetch] }
  - { name: docs, run: 'sleep 0.3; echo 214 pages', depends_on: [fetch] }
  - { name: test, run: 'echo "running 412 tests at level $LEVEL"; sleep 0.3; if [ $LEVEL = 5 ]; then echo "412 passed"; exit 0; fi; printf "\\033[31mfailed\\033[0m: page::counts\\n" >&2; echo "error: expected 3, found 4" >&2; exit 1', env: { LEVEL: '{{ params.level }}' }, retry: { retries: 1, delay: 200ms }, depends_on: [build] }
  - { name: package, run: 'sleep 0.1; echo packed', depends_on: [test, lint] }
  - { name: publish, run: 'echo published', depends_on: [package, docs] }
`,
  'release.yaml': `
name: release
description: Ships a version, once somebody has said yes.
tags: [ship]
flow:
  - { name: pack, run: 'echo packed', outputs: { size: '42' } }
  - { name: ask, wait: { approval: 'Ship 2.1 to everybody?', every: 50ms }, depends_on: [pack] }
  - { name: ship, run: 'echo shipped', depends_on: [ask] }
`,
  'import.yaml': `
name: import
description: Loads the day's orders of every shop.
limits: { database: { units: 1 } }
flow:
  - { name: list, run: 'echo 4 shops' }
  - { name: load, foreach: [berlin, lisbon, oslo, porto], run: 'sleep 120', limits: { database: 1 }, depends_on: [list] }
  - { name: sum, run: 'echo summed', depends_on: [load] }
`,
  'backup.yaml': `
name: backup
description: Copies the store to another machine.
schedule: [{ name: daily, cron: '30 3 * * *', zone: Europe/Berlin }]
flow:
  - { name: copy, run: 'sleep 0.1; test ! -e $HOME/full || { echo "no space left" >&2; exit 1; }' }
  - { name: verify, run: 'echo verified', depends_on: [copy] }
`,
  'report.yaml': `
name: report
description: Says how the week went.
schedule: [{ name: weekly, cron: '0 8 * * MON', zone: Europe/Berlin }]
flow: [{ name: write, run: 'sleep 0.05; seq -f "row %g of the report" 1 3000' }]
`,
};

const DAY = 86400000;

/** What has happened before anybody looks; says which run failed. */
async function prepare(world, page) {
  for (const level of [5, 5, 3, 5, 5, 5, 5, 3, 5, 5, 5, 5]) await world.run('nightly', { level });
  await world.run('report');
  const backfill = async (name, from, until) => {
    const at = (days) => new Date(Math.floor(Date.now() / DAY) * DAY + days * DAY).toISOString();
    const ended = async () => (await world.api('GET', `/schedules/${encodeURIComponent(name)}/ledger?limit=100`)).firings.filter((it) => /succeeded|failed/.test(it.state)).length;
    const before = await ended();
    const { firings } = JSON.parse(await world.command(`tidewheel schedule backfill ${name} --from ${at(from)} --until ${at(until)} --at-once --format json`));
    await expect(ended, (count) => count >= before + firings);
  };
  await backfill('report/weekly', -9, 0);
  await backfill('backup/daily', -8, -4);
  writeFileSync(join(world.folder, 'full'), '');
  await backfill('backup/daily', -4, -3);
  rmSync(join(world.folder, 'full'));
  await backfill('backup/daily', -3, 0);
  await backfill('nightly/nightly', -2, 0);
  const asking = await world.submit('release');
  await world.asking(asking);
  const failed = await world.run('nightly', { level: 3 });
  await world.submit('import');
  await world.goto(page, '/queues');
  await page.waitForFunction(() => document.querySelectorAll('#p-waiting tbody tr').length >= 3);
  return failed;
}

/** Where the server of the pictures has its files: paths are in them. */
const HOME = '/srv/tidewheel';

/** Has a file of a flow say something that cannot be run. */
async function breakFile(world) {
  const path = join(world.folder, 'flows/report.yaml');
  writeFileSync(path, FLOWS['report.yaml'].replace('MON', 'MOON').replace('run:', 'runs:'));
  await world.holds('/flows', ({ broken }) => broken.length > 0);
}

/** What is done on a page before its picture is taken. */
const acts = {
  log: (window) => window.waitForSelector('.log-row.here'),
  dialog: async (window) => { await click(window, '#p-head >> text=Retry…'); await window.waitForSelector('dialog .command'); },
  palette: async (window) => { await press(window, 'Control+k'); await type(window, 'night'); await window.waitForSelector('#found li >> nth=3'); },
  problems: (window) => window.locator('.source-line.wrong').first().scrollIntoViewIfNeeded(),
};

/** Takes them all. */
async function take(world, page, folder) {
  mkdirSync(folder, { recursive: true });
  const run = `/runs/${await prepare(world, page)}`;
  const shots = {
    overview: '/', flows: '/flows', flow: '/flows/nightly', history: '/flows/nightly?tab=history', file: '/flows/nightly?tab=file', 'flow-schedule': '/flows/nightly?tab=schedule', form: '/flows/nightly/run',
    runs: '/runs', run, time: `${run}?view=time`, slots: `${run}?view=slots`, list: `${run}?view=list`, step: `${run}/steps/test`, log: `${run}/steps/test/log`, story: `${run}/log`,
    queues: '/queues', schedules: '/schedules', schedule: '/schedules/backup%2Fdaily', approvals: '/approvals', system: '/system', store: '/system?tab=store', tokens: '/system?tab=tokens', audit: '/system?tab=audit', keys: '/keys', dialog: run, palette: '/',
    login: `/login?code=${'0'.repeat(64)}`,
  };
  await world.command('tidewheel token create dashboards --role viewer');
  await shoot(world, shots, folder);
  // All other pages would tell of it.
  await breakFile(world);
  await shoot(world, { problems: '/flows/report?tab=file' }, folder);
}

async function shoot(world, shots, folder) {
  for (const [colorScheme, width] of [['light', 1280], ['dark', 1280], ['light', 360], ['dark', 360]]) {
    const window = await world.window({ colorScheme, width, height: width < 500 ? 740 : 720 });
    for (const [name, path] of Object.entries(shots)) {
      if (process.env.ONLY && !process.env.ONLY.split('|').includes(name)) continue;
      // Whoever logs in is not known yet.
      if (name === 'login') await window.context().clearCookies();
      await world.goto(window, path);
      if (name !== 'login') await window.waitForSelector('#lamp[data-state=live]');
      await acts[name]?.(window);
      await window.screenshot({ path: `${folder}/page-${name}-${colorScheme}-${width}.png` });
    }
    await world.close(window);
  }
}

const world = await World.begin(FLOWS, HOME);
try {
  await take(world, await world.window(), process.env.TIDEWHEEL_PICTURES);
} finally {
  await world.end();
}
process.exit(0);

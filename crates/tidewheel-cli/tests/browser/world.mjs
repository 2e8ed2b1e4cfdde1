// A server of its own on a free port, a real browser beside it, and what tests of the page need of both.
import { execFile, spawn } from 'node:child_process';
import { closeSync, existsSync, mkdirSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync, writeSync } from 'node:fs';
import { createRequire } from 'node:module';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { promisify } from 'node:util';

const require = createRequire(join(process.env.TIDEWHEEL_BROWSER_TOOLS, 'node_modules/'));
const { chromium } = require('playwright-core');
const AXE = readFileSync(require.resolve('axe-core/axe.min.js'), 'utf8');

const freePort = () => new Promise((resolve) => {
  const server = createServer().listen(0, '127.0.0.1', () => {
    const { port } = server.address();
    server.close(() => resolve(port));
  });
});

/** A module or a style sheet as it is in a folder now, for whoever changes them and does not want to build. */
const freshAsset = (route) => {
  const path = join(process.env.TIDEWHEEL_ASSETS, route.request().url().split('/').pop());
  return existsSync(path) ? route.fulfill({ path }) : route.continue();
};

const LATE = `
import json, sqlite3, sys, time
db = sqlite3.connect(sys.argv[1])
for key, spec, state in db.execute('select id, spec, state from schedules').fetchall():
    if json.loads(spec)['is'].get('name') == sys.argv[2]:
        state = json.loads(state)
        state['is']['pending'] = [int((time.time() - 3700) * 1e6)] * 2
        db.execute('update schedules set state = ? where id = ?', (json.dumps(state), key))
db.commit()
`;

// Rows as a server writes them, of a run that is there; the newest have all that belongs to them.
const MULTIPLY = `
import os, sqlite3, sys
db, count = sqlite3.connect(sys.argv[1]), int(sys.argv[2])
db.execute('pragma synchronous = off')
columns = [it[1] for it in db.execute('pragma table_info(runs)')]
run = db.execute("select * from runs where name = 'nightly' order by seq desc limit 1").fetchone()
spec = db.execute('select spec, payload from specs where seq = ?', (run[0],)).fetchone()
tasks = db.execute('select * from tasks where seq = ?', (run[0],)).fetchall()
first = max(it or 0 for it in db.execute('select max(seq), (select max(next) from counter) from runs').fetchone()) + 1
state, at = columns.index('state'), [columns.index(it) for it in ('accepted_at', 'started_at', 'ended_at')]
def rows():
    for place in range(count):
        row = list(run)
        row[0], row[1] = first + place, run[1][:4] + place.to_bytes(4, 'big') + os.urandom(8)
        row[state] = 'failed' if place % 10 == 0 else 'succeeded'
        for it in at: row[it] = run[it] - (count - place) * 1000000
        yield row
db.executemany('insert into runs values (%s)' % ','.join('?' * len(columns)), rows())
for place in range(max(0, count - 2000), count):
    db.execute('insert into specs (seq, spec, payload) values (?, ?, ?)', (first + place, *spec))
    db.executemany('insert into tasks values (%s)' % ','.join('?' * len(tasks[0])), [(first + place, *it[1:]) for it in tasks])
db.execute('update counter set next = ?', (first + count,))
db.commit()
`;

function made(folder) {
  try {
    return folder && (mkdirSync(folder), folder);
  } catch {
    return undefined;
  }
}

export class World {
  /** `home` is where its files are, if there is nothing yet and it can be made. */
  static async begin(flows, home) {
    const world = new World();
    world.folder = made(home) ?? mkdtempSync(join(tmpdir(), 'tidewheel-page-'));
    mkdirSync(join(world.folder, 'flows'));
    for (const [name, text] of Object.entries(flows)) writeFileSync(join(world.folder, 'flows', name), text);
    world.port = await freePort();
    world.base = `http://127.0.0.1:${world.port}`;
    await world.serve();
    world.browser = await chromium.launch({
      executablePath: process.env.TIDEWHEEL_CHROMIUM,
      args: ['--headless', '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking', '--disable-component-update', '--disable-sync'],
    });
    return world;
  }

  /** Starts the server; resolves when it has said where to log in. */
  serve() {
    const { folder, port } = this;
    this.server = spawn(process.env.TIDEWHEEL, ['serve', '--flows', 'flows', '--data', 'data', '--listen', `127.0.0.1:${port}`], { cwd: folder, env: { ...process.env, HOME: folder, XDG_CONFIG_HOME: folder } });
    return new Promise((resolve, reject) => {
      let said = '';
      this.server.stderr.on('data', (text) => {
        said += text;
        const link = said.match(/\/login\?code=[0-9a-f]+/);
        if (link) resolve((this.link = link[0]));
      });
      this.server.on('exit', () => reject(new Error(`the server ended: ${said}`)));
    });
  }

  async kill() {
    this.server.removeAllListeners('exit');
    const gone = new Promise((resolve) => this.server.on('exit', resolve));
    this.server.kill('SIGKILL');
    await gone;
  }

  /** A window that is logged in; what goes wrong in it is kept. */
  async window({ width = 1280, height = 800, colorScheme = 'light', javaScriptEnabled = true, reducedMotion = 'reduce' } = {}) {
    const context = await this.browser.newContext({ viewport: { width, height }, colorScheme, javaScriptEnabled, reducedMotion, timezoneId: 'Europe/Berlin', locale: 'en-GB', storageState: this.state });
    if (process.env.TIDEWHEEL_ASSETS) await context.route('**/assets/*/*', freshAsset);
    const page = await context.newPage();
    // A busy machine is slow: what does not come in this time does not come.
    page.setDefaultTimeout(Number(process.env.PATIENCE ?? 60000));
    page.wrong = [];
    page.on('pageerror', (error) => page.wrong.push(`error: ${error.message}`));
    page.on('console', (said) => said.type() === 'error' && !/net::ERR|Failed to load resource/.test(said.text()) && page.wrong.push(said.text()));
    page.on('dialog', (dialog) => (page.wrong.push(`dialog: ${dialog.message()}`), dialog.dismiss()));
    page.on('request', (request) => !request.url().startsWith(this.base) && page.wrong.push(`foreign: ${request.url()}`));
    if (!this.state) {
      await page.goto(this.base + this.link);
      await page.click('main button.primary');
      await page.waitForURL(`${this.base}/`);
      this.state = await context.storageState();
    }
    await page.goto(`${this.base}/keys`);
    return page;
  }

  async goto(page, path) {
    await page.goto(this.base + path, { waitUntil: 'load' });
  }

  /** What somebody does who pastes a command into a shell where the server runs; says what it printed. */
  async command(line) {
    const env = { ...process.env, HOME: this.folder, XDG_CONFIG_HOME: this.folder, TIDEWHEEL_DATA: join(this.folder, 'data'), PATH: `${dirname(process.env.TIDEWHEEL)}${delimiter}${process.env.PATH}` };
    return (await promisify(execFile)('sh', ['-c', line], { cwd: this.folder, env })).stdout;
  }

  /** Has it stored that a schedule should have fired an hour ago: a server that is well is never late. */
  async late(schedule) {
    await promisify(execFile)('python3', ['-c', LATE, join(this.folder, 'data/tidewheel.db'), schedule]);
  }

  /** Stores so many runs like the newest of `nightly`. The server must not run. */
  async multiply(count) {
    await promisify(execFile)('python3', ['-c', MULTIPLY, join(this.folder, 'data/tidewheel.db'), String(count)]);
  }

  /** Gives the first step of a run that has ended a log of so many lines, or of so many bytes; says where it is and how large. */
  log(run, line, { lines = Infinity, bytes = Infinity }, last = '') {
    const path = join(this.folder, 'data/logs', run, '0-1.out'), file = openSync(path, 'w');
    let size = 0;
    for (let number = 0; number < lines && size < bytes;) {
      const block = Array.from({ length: Math.min(10000, lines - number) }, () => `${line(number++)}\n`);
      size += writeSync(file, block.join(''));
    }
    size += writeSync(file, last);
    closeSync(file);
    return { path, size };
  }

  /** Asks the interface, as the browser's session. */
  async api(page, method, path, body) {
    return page.evaluate(async ([method, path, body]) => {
      const { csrf } = await (await fetch('/api/v1/me')).json();
      const headers = { 'X-Tidewheel-CSRF': csrf, ...(body && { 'Content-Type': 'application/json' }) };
      const answer = await fetch(`/api/v1${path}`, { method, headers, body: body && JSON.stringify(body) });
      return answer.json();
    }, [method, path, body]);
  }

  /** Starts a run and waits until it is in one of these states. */
  async run(page, flow, params = {}, states = ['succeeded', 'failed']) {
    const { run_id: run, detail } = await this.api(page, 'POST', '/runs', { flow, params });
    if (!run) throw new Error(`${flow} was not started: ${detail}`);
    await this.until(page, run, states);
    return run;
  }

  async until(page, run, states) {
    await page.evaluate(([run, states]) => new Promise((resolve, reject) => {
      let state;
      // A busy machine is slow: what does not come in this time does not come.
      setTimeout(() => reject(new Error(`run ${run} is ${state}, not ${states}`)), 60000);
      const look = async () => states.includes((state = (await (await fetch(`/api/v1/runs/${run}`)).json()).state)) && (stream.close(), resolve());
      const stream = new EventSource(`/api/v1/events?run=${run}`);
      stream.addEventListener('open', look);
      stream.addEventListener('happened', ({ data }) => JSON.parse(data).what.startsWith('run-') && look());
    }), [run, states]);
  }

  /** Waits until what a function asks the server holds. Whoever waits for a function takes its promise for a yes. */
  async holds(page, isSo, arg) {
    for (const end = Date.now() + 60000; !(await page.evaluate(isSo, arg));) {
      if (Date.now() > end) throw new Error(`it never holds: ${isSo}`);
      await page.evaluate(() => new Promise(requestAnimationFrame));
    }
  }

  /** Waits until a step of a run asks somebody. */
  async asking(page, run) {
    await this.holds(page, async (run) => (await (await fetch('/api/v1/approvals')).json()).approvals.some((it) => it.run_id === run), run);
  }

  /** What axe-core finds wrong with a page. */
  async axe(page, only) {
    await page.evaluate(AXE);
    const found = await page.evaluate((only) => axe.run(document, { resultTypes: ['violations'], ...(only && { runOnly: only }) }), only);
    return found.violations.flatMap((it) => it.nodes.map((node) => `${it.id}: ${node.target} ${node.failureSummary.split('\n')[1] ?? ''}`));
  }

  async end() {
    await this.browser?.close();
    if (this.server && this.server.exitCode === null) await this.kill();
    rmSync(this.folder, { recursive: true, force: true });
  }
}

// A server, a real browser beside it, and what tests of the page need of both.
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, existsSync, openSync, readFileSync, writeFileSync, writeSync } from 'node:fs';
import http from 'node:http';
import { createRequire } from 'node:module';
import { delimiter, dirname, join, resolve } from 'node:path';
import { text } from 'node:stream/consumers';
import { promisify } from 'node:util';
import { PATIENCE, eventually, settled } from './actions.mjs';
import { Server } from './server.mjs';

const require = createRequire(join(resolve(process.env.TIDEWHEEL_BROWSER_TOOLS), 'node_modules/'));
const { chromium } = require('playwright-core');
const AXE = readFileSync(require.resolve('axe-core/axe.min.js'), 'utf8');

/** A module or a style sheet as it is in a folder now, for whoever changes them and does not want to build. */
const freshAsset = (route) => {
  const path = join(process.env.TIDEWHEEL_ASSETS, route.request().url().split('/').pop());
  return existsSync(path) ? route.fulfill({ path }) : route.continue();
};

const LATE = `
import json, sqlite3, sys, time
db = sqlite3.connect(sys.argv[1], timeout=60)
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
db, count = sqlite3.connect(sys.argv[1], timeout=60), int(sys.argv[2])
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

/** Sends a request over a connection of its own, so none fails because an old connection was closed; returns the text of the answer. */
async function request(address, options, body) {
  const sent = http.request(address, { ...options, agent: false });
  sent.end(body);
  const [answer] = await once(sent, 'response');
  return text(answer);
}

const ENDED = ['succeeded', 'failed', 'skipped', 'cancelled', 'unknown'];

export class World {
  /** Windows that are open, of this world and of those beside it. */
  windows = [];
  /** Worlds that a test has begun beside this one. */
  beside = [];

  /** Starts a server with these flows, and a browser. `home` is where the server has its files, if that can be created. */
  static async begin(flows, home) {
    const world = new World();
    world.server = await Server.begin(flows, home);
    world.browser = await chromium.launch({
      executablePath: process.env.TIDEWHEEL_CHROMIUM,
      args: ['--headless', '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking', '--disable-component-update', '--disable-sync'],
    });
    return world;
  }

  /** Starts another server with these flows for the same browser: for a test that ends its server, or must be alone. It ends with the test. */
  async another(flows) {
    const world = new World();
    this.beside.push(world);
    [world.browser, world.windows] = [this.browser, this.windows];
    world.server = await Server.begin(flows);
    return world;
  }

  get folder() {
    return this.server.folder;
  }

  get base() {
    return `http://${this.server.address}`;
  }

  /** Kills the server. Windows of it are closed first, or they would report the requests that fail; those in `except` stay. */
  async kill({ except = [] } = {}) {
    for (const page of this.windows.filter((it) => it.world === this && !except.includes(it))) await this.close(page);
    await this.server.kill();
    this.session = undefined;
  }

  /** Starts the server again, at the same address. */
  serve() {
    return this.server.start();
  }

  /** The state of a browser that is logged in, once for each life of the server. */
  async loggedIn() {
    this.session ??= (async () => {
      const context = await this.browser.newContext(), page = await context.newPage();
      page.setDefaultTimeout(PATIENCE);
      await this.login(page, this.base + this.server.link);
      const state = await context.storageState();
      await context.close();
      return state;
    })();
    return this.session;
  }

  /** Opens a link that logs a browser in, looks at its page, and presses its button. */
  async login(page, link, look = async () => {}) {
    await page.goto(link);
    await look();
    await page.click('main button.primary');
    await page.waitForURL(`${this.base}/`);
  }

  /** Opens a window that is logged in, on a page that is always there, or on none. */
  async window({ width = 1280, height = 800, colorScheme = 'light', javaScriptEnabled = true, reducedMotion = 'reduce', isLoggedIn = true, isBlank = !isLoggedIn, ...more } = {}) {
    const storageState = isLoggedIn ? await this.loggedIn() : undefined;
    const context = await this.browser.newContext({ viewport: { width, height }, colorScheme, javaScriptEnabled, reducedMotion, timezoneId: 'Europe/Berlin', locale: 'en-GB', storageState, ...more });
    if (process.env.TIDEWHEEL_ASSETS) await context.route('**/assets/*/*', freshAsset);
    // Only what fails is worth its pictures, and what fails is known at the end.
    if (process.env.TIDEWHEEL_TRACES !== 'off') await context.tracing.start({ snapshots: true });
    const page = await this.tab(context, { hasScripts: javaScriptEnabled });
    if (!isBlank) await this.goto(page, '/keys');
    return page;
  }

  /** Opens another tab of a window. What goes wrong in it is collected in `wrong`, until it is closed. */
  async tab(context, { hasScripts = true } = {}) {
    const page = await context.newPage();
    page.setDefaultTimeout(PATIENCE);
    Object.assign(page, { world: this, wrong: [], hasScripts });
    this.windows.push(page);
    const report = (text) => page.isLeft || page.wrong.push(text);
    page.on('pageerror', (error) => report(`error: ${error.message}`));
    page.on('console', (message) => message.type() === 'error' && !/net::ERR|Failed to load resource/.test(message.text()) && report(message.text()));
    page.on('dialog', (dialog) => (report(`dialog: ${dialog.message()}`), dialog.dismiss()));
    page.on('request', (request) => !request.url().startsWith(this.base) && report(`foreign: ${request.url()}`));
    return page;
  }

  /** Closes a window with its tabs, or one tab of several. A window that is left reports nothing, but what it reported before counts. */
  async close(page) {
    page.isLeft = true;
    const context = page.context();
    await (context.pages().length > 1 ? page.close() : context.close());
  }

  /** What went wrong in all windows of a test, but for what it expects. */
  wrong(expected = []) {
    const wrong = this.windows.flatMap((page) => page.wrong).filter((text) => !expected.some((it) => it.test(text)));
    const failed = [this, ...this.beside].filter((world) => world.server.hasFailed);
    return [...wrong, ...failed.map((world) => `the server ended by itself: ${world.server.output}`)];
  }

  async goto(page, path) {
    await page.goto(this.base + path, { waitUntil: 'load' });
    await settled(page);
  }

  /** Runs a command in a shell of the machine where the server runs; returns what it printed. */
  async command(line) {
    const env = { ...process.env, HOME: this.folder, XDG_CONFIG_HOME: this.folder, TIDEWHEEL_DATA: join(this.folder, 'data'), PATH: `${dirname(resolve(process.env.TIDEWHEEL))}${delimiter}${process.env.PATH}` };
    return (await promisify(execFile)('sh', ['-c', line], { cwd: this.folder, env })).stdout;
  }

  /** Stores that a schedule should have fired an hour ago: a server that is well is never late. */
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

  /** Sends a request to the HTTP API with the session of the browser, from outside of the browser: it does not depend on what a page does. */
  async api(method, path, body) {
    const headers = { ...(await this.#headers()), Origin: this.base };
    if (method !== 'GET') Object.assign(headers, { 'X-Tidewheel-CSRF': (await this.api('GET', '/me')).csrf }, body && { 'Content-Type': 'application/json' });
    return JSON.parse(await request(`${this.base}/api/v1${path}`, { method, headers }, body && JSON.stringify(body)));
  }

  /** Requests a page, with the session of the browser; returns its text. */
  async page(path) {
    return request(this.base + path, { headers: { ...(await this.#headers()), Accept: 'text/html' } });
  }

  async #headers() {
    const { cookies } = await this.loggedIn();
    return { Cookie: cookies.map(({ name, value }) => `${name}=${value}`).join('; ') };
  }

  /** Creates a file in the working folder of a run, for which a step of it waits. */
  async signal(run, name = 'go') {
    await eventually(() => writeFileSync(join(this.folder, 'data/runs', run, 'work', name), ''), () => {});
  }

  /** Starts a run; returns its id. */
  async submit(flow, params) {
    const { run_id: run, detail } = await this.api('POST', '/runs', { flow, params });
    if (!run) throw new Error(`${flow} was not started: ${detail}`);
    return run;
  }

  /** Starts a run and waits until it is in one of these states; returns its id. */
  async run(flow, params = {}, states = ['succeeded', 'failed']) {
    const run = await this.submit(flow, params);
    await this.until(run, states);
    return run;
  }

  /** Waits until a run is in one of these states. */
  async until(run, states) {
    await this.holds(`/runs?id=${run}`, ({ runs }) => states.includes(runs[0]?.state));
  }

  /** Requests a path of the HTTP API until `isSo` is true for the answer. A request that fails is repeated. */
  async holds(path, isSo) {
    return eventually(() => this.api('GET', path), (answer) => {
      if (!isSo(answer)) throw new Error(`${path} never became so that ${isSo}; at last ${JSON.stringify(answer).slice(0, 400)}`);
    });
  }

  /** Waits until a step of a run needs an approval. */
  async asking(run) {
    await this.holds('/approvals', ({ approvals }) => approvals.some((it) => it.run_id === run));
  }

  /** What axe-core finds wrong with a page. */
  async axe(page, only) {
    await settled(page);
    await page.evaluate(AXE);
    const found = await page.evaluate((only) => axe.run(document, { resultTypes: ['violations'], ...(only && { runOnly: only }) }), only);
    return found.violations.flatMap((it) => it.nodes.map((node) => `${it.id}: ${node.target} ${node.failureSummary.split('\n')[1] ?? ''}`));
  }

  /** Leaves nothing of a test to the next one: no windows, no other servers, and no runs that have not ended. */
  async clear() {
    const open = this.windows.filter((page) => !page.isClosed());
    for (const page of open) page.isLeft = true;
    for (const context of new Set(open.map((page) => page.context()))) {
      await context.unrouteAll({ behavior: 'ignoreErrors' });
      for (const page of context.pages()) await page.unrouteAll({ behavior: 'ignoreErrors' });
      await context.close();
    }
    this.windows.length = 0;
    for (const world of this.beside.splice(0)) await world.server.end();
    if (this.server.hasEnded) return;
    const active = async () => (await this.api('GET', '/runs?limit=100')).runs.filter((it) => !ENDED.includes(it.state));
    for (const { run_id: run } of await active()) await this.api('POST', `/runs/${run}/cancel`, {});
    await eventually(active, (runs) => {
      if (runs.length) throw new Error(`runs do not end: ${JSON.stringify(runs)}`);
    });
  }

  async end() {
    for (const page of this.windows) page.isLeft = true;
    await this.browser?.close();
    for (const world of [this, ...this.beside]) await world.server?.end();
  }
}

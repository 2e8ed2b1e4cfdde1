// Runs the tests of the page: of one file in this process, of several in a process each. Prints a line for each test and one for all.
//
//   node run.mjs [FILE…]     such as `node run.mjs live.mjs`; all files by default
//
// `ONLY=part-of-a-name|another` selects tests, `JOBS` (2) is how many files run at once. It needs TIDEWHEEL, TIDEWHEEL_CHROMIUM and TIDEWHEEL_BROWSER_TOOLS.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';

// The longest first.
const FILES = ['reached.mjs', 'page.mjs', 'live.mjs', 'acted.mjs', 'shown.mjs', 'corpus.mjs', 'large.mjs'];

const isWanted = (name) => !process.env.ONLY || process.env.ONLY.split('|').some((part) => name.includes(part));

/** Saves what shows why a test failed; returns where. */
async function artefacts(world, file, name) {
  const folder = join(process.env.TIDEWHEEL_ARTIFACTS ?? tmpdir(), `browser-${basename(file, '.mjs')}-${name.replaceAll(/[^a-z0-9]+/gi, '-').slice(0, 60)}-${process.pid}`);
  mkdirSync(folder, { recursive: true });
  for (const [place, { server }] of [world, ...world.beside].entries()) writeFileSync(join(folder, `server-${place + 1}.log`), server.output);
  const pages = world.windows.filter((page) => !page.isClosed());
  for (const [place, page] of pages.entries()) {
    writeFileSync(join(folder, `page-${place + 1}.html`), `<!-- ${page.url()} -->\n${await page.content().catch(String)}`);
    await page.screenshot({ path: join(folder, `page-${place + 1}.png`), timeout: 10000 }).catch(() => {});
  }
  for (const [place, context] of [...new Set(pages.map((page) => page.context()))].entries()) {
    await context.tracing.stop({ path: join(folder, `trace-${place + 1}.zip`) }).catch(() => {});
  }
  return folder;
}

/** Runs the tests of one file. */
async function runFile(file) {
  const { FLOWS, tests, expects = {} } = await import(`./${file}`);
  const unknown = Object.keys(expects).filter((name) => !(name in tests));
  assert.deepEqual(unknown, [], 'errors are expected of tests that do not exist');
  const wanted = Object.entries(tests).filter(([name]) => isWanted(name));
  let passed = 0, failed = 0;
  if (wanted.length) {
    const { World } = await import('./world.mjs');
    const world = await World.begin(FLOWS);
    try {
      for (const [name, test] of wanted) {
        const start = performance.now();
        try {
          await test(world, await world.window());
          assert.deepEqual(world.wrong(expects[name]), []);
          console.log(`ok ${name} (${((performance.now() - start) / 1000).toFixed(1)} s)`);
          passed += 1;
        } catch (error) {
          console.log(`not ok ${name}\n${error.stack ?? error}`);
          for (const page of world.windows) console.log(`${page.isClosed() ? 'closed' : 'open'}: ${page.url()} ${page.wrong.join('; ')}`);
          console.log(`artefacts: ${await artefacts(world, file, name)}`);
          failed += 1;
        }
        await world.clear();
      }
    } finally {
      await world.end();
    }
  }
  return [passed, failed];
}

/** Runs files in processes of their own, some at a time; prints what each printed, in order. */
async function runFiles(files) {
  const left = [...files], outputs = new Map(), sum = [0, 0];
  const runNext = async () => {
    for (let file; (file = left.shift());) {
      const child = spawn(process.execPath, [fileURLToPath(import.meta.url), file], { stdio: ['ignore', 'pipe', 'pipe'] });
      let output = '';
      for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', (text) => (output += text));
      const code = await new Promise((resolve) => child.on('close', resolve));
      const counts = output.match(/^(\d+) passed, (\d+) failed$/m)?.slice(1).map(Number) ?? [0, 0];
      if (code !== 0 && !counts[1]) counts[1] = 1;
      counts.forEach((number, place) => (sum[place] += number));
      outputs.set(file, `== ${file}\n${output.replace(/^\d+ passed, \d+ failed\n/m, '')}`);
      for (const done of files) {
        if (!outputs.has(done)) break;
        process.stdout.write(outputs.get(done));
        outputs.set(done, '');
      }
    }
  };
  await Promise.all(Array.from({ length: Number(process.env.JOBS ?? 2) }, runNext));
  return sum;
}

for (const name of ['TIDEWHEEL', 'TIDEWHEEL_CHROMIUM', 'TIDEWHEEL_BROWSER_TOOLS']) {
  if (!process.env[name]) throw new Error(`${name} is not set`);
}
const named = process.argv.slice(2).map((path) => basename(path));
const [passed, failed] = named.length === 1 ? await runFile(named[0]) : await runFiles(named.length ? named : FILES);
console.log(`${passed} passed, ${failed} failed`);
process.exit(failed ? 1 : 0);

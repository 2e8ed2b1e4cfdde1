// What is done: it is what was shown before, and what the command beside it does.
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { box, check, click, expect, expectCount, expectText, expectThat, expectValue, fill, focus, keepMessages, press, select, settled, text, texts, type, uncheck } from './actions.mjs';
import { FLOWS as SHARED } from './flows.mjs';

export const FLOWS = {
  ...SHARED,
  'moving.yaml': `
name: moving
flow:
  - { name: fetch, run: 'echo fetched' }
  - { name: test, run: 'exit 1', depends_on: [fetch] }
`,
  'several.yaml': `
name: several
params: { level: { type: int, default: 3, min: 1, max: 9 }, who: { default: me }, loud: { type: bool, default: false }, mode: { choices: [low, high], default: low } }
flow: [{ name: one, run: 'true' }]
`,
  'contest.yaml': `
name: contest
limits: { door: { units: 1 } }
flow:
  - { name: hold, run: 'until [ -e "$TIDEWHEEL_RUN_DIR/go" ]; do sleep 0.05; done', limits: { door: 1 } }
  - { name: ready, run: 'true' }
  - { name: one, run: 'true', limits: { door: 1 }, depends_on: [ready] }
  - { name: two, run: 'true', limits: { door: 1 }, depends_on: [ready] }
  - { name: three, run: 'true', limits: { door: 1 }, depends_on: [ready] }
`,
};

const dialogCommand = (page) => text(page, 'dialog code.command');

export const tests = {
  async 'what a retry would do is what the command says of it'(world, page) {
    const run = await world.run('nightly');
    await world.goto(page, `/runs/${run}`);
    await click(page, '#p-head >> text=Retry…');
    const [shown, list] = [await text(page, 'dialog p'), await texts(page, 'dialog li')];
    const said = JSON.parse(await world.command(`${await dialogCommand(page)} --dry-run --format json`));
    assert.equal(shown, `${said.run_again.length} to be run again, ${said.reused.length} reused as they are.`);
    assert.deepEqual(list, said.run_again);
    await press(page, 'Escape');
  },

  async 'what has changed since it was shown is shown anew, and nothing is done'(world, page) {
    const run = await world.run('moving');
    const runs = async () => (await world.api('GET', '/runs?name=moving')).runs.length;
    const before = await runs();
    await world.goto(page, `/runs/${run}`);
    await click(page, '#p-head >> text=Retry…');
    await page.waitForSelector('dialog .primary');
    const file = join(world.folder, 'flows/moving.yaml');
    writeFileSync(file, readFileSync(file, 'utf8').replace('exit 1', 'exit 2'));
    await click(page, 'dialog .primary');
    await page.waitForSelector('dialog [role=alert] >> text=nothing was done');
    await page.waitForSelector('dialog >> text=moving.yaml');
    assert.equal(await runs(), before);
    await click(page, 'dialog .primary');
    await page.waitForURL((url) => url.pathname.startsWith('/runs/') && !url.pathname.endsWith(run));
    assert.equal(await runs(), before + 1);
  },

  async 'somebody says no by keys, and why is in the audit log'(world, page) {
    const run = await world.submit('release');
    await world.asking(run);
    await world.goto(page, '/approvals');
    await focus(page, `#p-asking [data-answer=no][data-run="${run}"]`);
    await press(page, 'Enter');
    await page.waitForSelector('dialog input[name=note]:focus');
    await type(page, 'not on a Friday');
    await press(page, 'Enter');
    await world.until(run, ['failed', 'cancelled', 'succeeded']);
    await world.goto(page, '/system?tab=audit');
    await page.waitForSelector('#p-system tr:has-text("not on a Friday") >> text=said no');
  },

  async 'the commands of a run do what its buttons do'(world, page) {
    const busy = await world.submit('busy');
    await world.until(busy, ['running']);
    await keepMessages(page);
    await world.goto(page, `/runs/${busy}`);
    const shown = async (word) => (await texts(page, '#p-head .commands code')).find((it) => it.includes(` ${word} `));
    await world.command(await shown('pause'));
    await page.waitForSelector('#p-head .word:text("paused")');
    await world.command(await shown('resume'));
    await page.waitForSelector('#p-head .word:text("running")');
    // What is done at once says its command in its message.
    await click(page, '#p-head >> text=Pause');
    await expectText(page, '.toast code.command', `tidewheel pause ${busy.slice(0, 13)}`);
    await page.waitForSelector('#p-head .word:text("paused")');
    await click(page, '.toast >> text=Undo');
    await page.waitForSelector('#p-head .word:text("running")');
    await click(page, '#p-head >> text=Cancel…');
    await page.waitForSelector('dialog code.command');
    const cancel = await dialogCommand(page);
    await press(page, 'Escape');
    await world.command(cancel);
    await page.waitForSelector('#p-head .word:text("cancelled")');

    const failed = await world.run('nightly');
    await world.goto(page, `/runs/${failed}`);
    await click(page, '#panel >> text=Retry from here…');
    await page.waitForSelector('dialog code.command');
    const again = JSON.parse(await world.command(`${await dialogCommand(page)} --format json || true`));
    assert.equal(again.state, 'failed');
    assert.equal(again.steps.test.attempts, 1);
    assert.equal(again.steps.fetch.attempts, 0, 'it was reused');
    await press(page, 'Escape');
  },

  async 'the commands of a step change its priority and skip it as its buttons do'(world, page) {
    const run = await world.submit('line');
    await world.goto(page, `/runs/${run}/steps/low`);
    await page.waitForSelector('#panel [data-priority]');
    const commands = await texts(page, '#panel .commands code');
    await world.command(commands.find((it) => it.includes(' priority ')));
    await page.waitForSelector('#panel [data-priority="80"]');
    await click(page, '#panel [data-skip]');
    const skip = await dialogCommand(page);
    await press(page, 'Escape');
    assert.ok(commands.includes(skip), skip);
    await world.command(skip);
    await page.waitForSelector('#panel .facts >> text=cancelled');
  },

  async 'the command of the form starts what the form starts'(world, page) {
    await world.goto(page, '/flows/nightly/run');
    await fill(page, '[data-param=level] input', '5');
    await fill(page, '#priority', '70');
    const command = await text(page, '#form .commands code');
    assert.equal(command, 'tidewheel run nightly --param level=5 --priority 70 --detach');
    const { run_id: pasted } = JSON.parse(await world.command(`${command} --format json`));
    await click(page, 'text=Start');
    await page.waitForURL(/\/runs\/[0-9a-f-]{36}$/);
    const pressed = page.url().split('/').pop();
    const about = async (run) => {
      await world.until(run, ['succeeded']);
      const { run_id, accepted_at, started_at, ended_at, steps, ...rest } = await world.api('GET', `/runs/${run}`);
      return [rest, Object.keys(steps), (await world.api('GET', `/runs/${run}/log/lines?step=test`)).lines.map((line) => line[2])];
    };
    assert.deepEqual(await about(pasted), await about(pressed));
  },

  async 'when one param is wrong the rest of the form is kept'(world, page) {
    await world.goto(page, '/flows/several/run');
    const input = (name) => `[data-param=${name}] :is(input, select)`;
    await fill(page, input('level'), '99');
    await fill(page, input('who'), 'you');
    await check(page, input('loud'));
    await select(page, input('mode'), 'high');
    await fill(page, '#priority', '70');
    await click(page, '#form [type=submit]');
    await page.waitForSelector('[data-param=level][data-wrong] .wrong:not([hidden])');
    await expectCount(page, '[data-wrong]', 1);
    for (const [field, kept] of [[input('level'), '99'], [input('who'), 'you'], [input('mode'), 'high'], ['#priority', '70']]) await expectValue(page, field, kept);
    await expectCount(page, `${input('loud')}:checked`, 1);
    await fill(page, input('level'), '7');
    await click(page, '#form [type=submit]');
    await page.waitForURL(/\/runs\/[0-9a-f-]{36}$/);
    const { params } = await world.api('GET', `/runs/${page.url().split('/').pop()}`);
    assert.deepEqual(params, { level: 7, who: 'you', loud: true, mode: 'high' });
  },

  async 'a dialog that cancels is left with Esc, and nothing is cancelled'(world, page) {
    const run = await world.submit('busy');
    await world.until(run, ['running']);
    await world.goto(page, `/runs/${run}`);
    const sent = [];
    page.on('request', (request) => request.method() !== 'GET' && sent.push(request.url()));
    for (const leave of [() => press(page, 'Escape'), () => click(page, 'dialog >> text=Leave it')]) {
      await click(page, '#p-head >> text=Cancel…');
      await page.waitForSelector('dialog .primary:focus');
      await leave();
      await page.waitForSelector('dialog', { state: 'detached' });
      await page.waitForSelector('#p-head [data-cancel]:not([aria-disabled])');
    }
    await settled(page);
    assert.deepEqual(sent, []);
    assert.equal((await world.api('GET', `/runs/${run}`)).state, 'running');
  },

  async 'the commands for several runs do what is done with those that are picked'(world, page) {
    const failed = [await world.run('nightly'), await world.run('nightly')];
    const busy = [];
    for (let time = 0; time < 2; time++) busy.push(await world.submit('busy'));
    await world.goto(page, '/runs');
    const command = async (runs, button) => {
      for (const run of runs) await check(page, `[data-pick="${run}"]`);
      await click(page, `#picked >> text=${button}`);
      await page.waitForSelector('dialog code.command');
      const command = await dialogCommand(page);
      await press(page, 'Escape');
      await click(page, '#picked >> text=Select none');
      return command;
    };
    const retried = async () => (await world.api('GET', '/runs?name=nightly&limit=100')).runs.length;
    const before = await retried();
    await world.command(`${await command(failed, 'Retry…')} || true`);
    assert.equal(await retried(), before + 2);
    await world.command(await command(busy, 'Cancel…'));
    for (const run of busy) await world.until(run, ['cancelled']);
  },

  async 'the commands of a question answer it as it is answered here'(world, page) {
    for (const [way, state, said] of [['yes', ['succeeded'], 'said yes'], ['no', ['failed', 'cancelled'], 'said no']]) {
      const run = await world.submit('release');
      await world.asking(run);
      await world.goto(page, `/runs/${run}/steps/ask`);
      const commands = await texts(page, '#panel .commands code');
      assert.equal(commands.filter((it) => it.includes(' approve ')).length, 2, 'yes and no');
      await click(page, `#panel [data-answer=${way}]`);
      await fill(page, 'dialog input[name=note]', `it's ${way} by hand`);
      const command = await dialogCommand(page);
      await press(page, 'Escape');
      await world.command(command);
      await world.until(run, state);
      await world.goto(page, '/system?tab=audit');
      await page.waitForSelector(`#p-system tr:has-text("it's ${way} by hand") >> text=${said}`);
    }
  },

  async 'the commands of a schedule and of a token do what their buttons do'(world, page) {
    const address = '/schedules/nightly%2Fnightly';
    const shown = async (word) => (await texts(page, '#p-head .commands code')).find((it) => it.includes(` ${word} `));
    await world.goto(page, address);
    await world.command(await shown('pause'));
    await world.goto(page, address);
    await world.command(await shown('resume'));
    await world.goto(page, address);
    await page.waitForSelector('#p-head button:text("Pause")');
    const past = async (origin) => (await world.api('GET', `${address}/ledger`)).firings.filter((it) => it.origin === origin).length;
    const before = await past('by-hand');
    await world.command(await shown('run'));
    await expect(() => past('by-hand'), before + 1);
    // What is entered is in the command.
    await click(page, 'text=Backfill…');
    await uncheck(page, 'dialog [name=missed]');
    await fill(page, 'dialog [name=from]', '2026-01-01T00:00');
    await fill(page, 'dialog [name=until]', '2026-01-04T00:00');
    await check(page, 'dialog [name=at_once]');
    const backfill = await dialogCommand(page);
    assert.equal(backfill, 'tidewheel schedule backfill nightly/nightly --from 2025-12-31T23:00:00.000Z --until 2026-01-03T23:00:00.000Z --at-once');
    // What would fire is shown first, and nothing has fired yet.
    await click(page, 'dialog button:text("Look at them…")');
    await page.waitForSelector('dialog button:text("Fire them")');
    await expectCount(page, 'dialog li', 3);
    assert.equal(await past('backfill'), 0);
    await press(page, 'Escape');
    await world.command(backfill);
    await expect(() => past('backfill'), 3);

    await world.command('tidewheel token create short-lived --role viewer');
    await world.goto(page, '/system?tab=tokens');
    await click(page, 'tr:has-text("short-lived") >> text=End…');
    await page.waitForSelector('dialog code.command');
    await world.command(await dialogCommand(page));
    await press(page, 'Escape');
    await world.goto(page, '/system?tab=tokens');
    await expectCount(page, 'tr:has-text("short-lived")', 0);
  },

  async 'what waits starts in the order in which it was shown'(world, page) {
    const run = await world.submit('line');
    await world.goto(page, '/queues');
    await page.waitForFunction(() => ['low', 'high', 'middle'].every((name) => [...document.querySelectorAll('#p-waiting tbody th a')].some((it) => it.textContent === name)));
    const shown = (await texts(page, '#p-waiting tbody th a')).filter((name) => /^(low|high|middle)$/.test(name));
    // Why it waits, and for whom, stands beside it.
    await expectText(page, '#p-waiting tr:has-text("high")', /limit gate has 1 of 1 in use.*held by hold/s);
    // When it is expected to start, if that is known, and when it is not overtaken any more.
    await expectText(page, '#p-waiting tr:has-text("low") .expected', /^(in [\d.]+ m?s|any moment now|not known)\s*not overtaken after (\d+ \w+, )?\d\d:\d\d/);
    await click(page, '#p-waiting a:has-text("high")');
    await page.waitForSelector('#panel .why >> text=gate');
    await expectText(page, '#panel', /held by hold.*Nothing that becomes ready later goes before it after/s);
    await world.signal(run);
    await world.until(run, ['succeeded']);
    const { steps } = await world.api('GET', `/runs/${run}/steps?order=start`);
    const began = steps.map((it) => it.step).filter((name) => /^(low|high|middle)$/.test(name));
    assert.deepEqual(began, shown);
    assert.deepEqual(shown, ['high', 'middle', 'low']);
  },

  async 'another priority shows the order first, and then it is so'(world, page) {
    const run = await world.submit('contest');
    const small = await world.window({ width: 360, height: 740 });
    await world.goto(small, '/queues');
    const own = `#p-waiting [data-priority][data-run="${run}"]`;
    await small.waitForFunction((own) => document.querySelectorAll(own).length === 3, own);
    const button = `${own}[data-step=three]`;
    assert.ok((await box(small, button)).height >= 44, 'it can be touched');
    // By keys alone.
    await focus(small, button);
    await press(small, 'Enter');
    await small.waitForSelector('dialog input[name=priority]:focus');
    await expectValue(small, 'dialog input[name=priority]', '80');
    const order = async () => (await texts(small, 'dialog .order tbody th bdi:first-child')).filter((name) => /^(one|two|three)$/.test(name));
    assert.equal((await order())[0], 'three');
    await expectThat(small, () => [...document.querySelectorAll('dialog button, dialog input:not([type=checkbox])')].filter((it) => it.getBoundingClientRect().height < 44).map((it) => it.outerHTML), []);
    await click(small, 'dialog .levels >> text=background');
    await small.waitForFunction(() => document.querySelector('dialog .order tbody tr:last-child bdi')?.textContent === 'three');
    assert.equal((await order()).at(-1), 'three');
    await click(small, 'dialog .levels >> text=critical');
    await small.waitForFunction(() => document.querySelector('dialog .order tbody tr bdi')?.textContent === 'three');
    const shown = await order();
    const said = JSON.parse(await world.command(`${await dialogCommand(small)} --dry-run --format json`));
    assert.deepEqual(said.after.filter((it) => it.run_id === run).map((it) => it.step), shown);
    assert.deepEqual(await world.axe(small), []);
    await click(small, 'dialog .primary');
    await small.waitForFunction((own) => document.querySelector(`${own}[data-step=three]`)?.dataset.priority === '100', own);
    await world.goto(small, `/runs/${run}/steps/two`);
    await small.waitForSelector('#panel >> text=Change priority…');
    await world.signal(run);
    await world.until(run, ['succeeded']);
    const { steps } = await world.api('GET', `/runs/${run}/steps?order=start`);
    assert.deepEqual(steps.map((it) => it.step).filter((name) => /^(one|two|three)$/.test(name)), shown);
    await world.goto(small, '/system?tab=audit');
    await small.waitForSelector('#p-system >> text=priority 100');
  },
};

// What is done: it is what was shown before, and what the command beside it does.
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

export const FLOWS = {
  'moving.yaml': `
name: moving
flow:
  - { name: fetch, run: 'echo fetched' }
  - { name: test, run: 'exit 1', depends_on: [fetch] }
`,
  'line.yaml': `
name: line
limits: { gate: { units: 1 } }
flow:
  - { name: hold, run: 'until [ -e "$TIDEWHEEL_RUN_DIR/go" ]; do sleep 0.05; done', limits: { gate: 1 } }
  - { name: low, run: 'true', priority: 20, limits: { gate: 1 }, depends_on: [ready] }
  - { name: high, run: 'true', priority: 80, limits: { gate: 1 }, depends_on: [ready] }
  - { name: middle, run: 'true', priority: 50, limits: { gate: 1 }, depends_on: [ready] }
  - { name: ready, run: 'true' }
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

const dialogCommand = (page) => page.textContent('dialog code.command');

export const tests = {
  async 'what a retry would do is what the command says of it'(world, page) {
    const run = await world.run(page, 'nightly');
    await world.goto(page, `/runs/${run}`);
    await page.click('#p-head >> text=Retry…');
    const [shown, list] = [await page.textContent('dialog p'), await page.locator('dialog li').allTextContents()];
    const said = JSON.parse(await world.command(`${await dialogCommand(page)} --dry-run --format json`));
    assert.equal(shown, `${said.run_again.length} to be run again, ${said.reused.length} reused as they are.`);
    assert.deepEqual(list, said.run_again);
    await page.keyboard.press('Escape');
  },

  async 'what has changed since it was shown is shown anew, and nothing is done'(world, page) {
    const run = await world.run(page, 'moving');
    const runs = async () => (await world.api(page, 'GET', '/runs?flow=moving')).runs?.length ?? (await world.api(page, 'GET', '/runs?name=moving')).runs.length;
    const before = await runs();
    await world.goto(page, `/runs/${run}`);
    await page.click('#p-head >> text=Retry…');
    await page.waitForSelector('dialog .primary');
    const file = join(world.folder, 'flows/moving.yaml');
    writeFileSync(file, readFileSync(file, 'utf8').replace('exit 1', 'exit 2'));
    await page.click('dialog .primary');
    await page.waitForSelector('dialog [role=alert] >> text=nothing was done');
    await page.waitForSelector('dialog >> text=moving.yaml');
    assert.equal(await runs(), before);
    await page.click('dialog .primary');
    await page.waitForURL((url) => url.pathname.startsWith('/runs/') && !url.pathname.endsWith(run));
    assert.equal(await runs(), before + 1);
  },

  async 'somebody says no by keys, and why is in the audit log'(world, page) {
    const { run_id: run } = await world.api(page, 'POST', '/runs', { flow: 'release' });
    await world.asking(page, run);
    await world.goto(page, '/approvals');
    await page.focus(`#p-asking [data-answer=no][data-run="${run}"]`);
    await page.keyboard.press('Enter');
    await page.waitForSelector('dialog input[name=note]:focus');
    await page.keyboard.type('not on a Friday');
    await page.keyboard.press('Enter');
    await world.until(page, run, ['failed', 'cancelled', 'succeeded']);
    await world.goto(page, '/system?tab=audit');
    await page.waitForSelector('#p-system tr:has-text("not on a Friday") >> text=said no');
  },

  async 'the commands of a run do what its buttons do'(world, page) {
    const { run_id: busy } = await world.api(page, 'POST', '/runs', { flow: 'busy' });
    await world.until(page, busy, ['running']);
    await world.goto(page, `/runs/${busy}`);
    const shown = async (word) => (await page.locator('#p-head .commands code').allTextContents()).find((it) => it.includes(` ${word} `));
    await world.command(await shown('pause'));
    await page.waitForSelector('#p-head .word:text("paused")');
    await world.command(await shown('resume'));
    await page.waitForSelector('#p-head .word:text("running")');
    // What is done at once says its command in its message.
    await page.click('#p-head >> text=Pause');
    assert.equal(await page.textContent('.toast code.command'), `tidewheel pause ${busy.slice(0, 13)}`);
    await page.click('.toast >> text=Undo');
    await page.waitForSelector('#p-head .word:text("running")');
    await page.click('#p-head >> text=Cancel…');
    await page.waitForSelector('dialog code.command');
    const cancel = await dialogCommand(page);
    await page.keyboard.press('Escape');
    await world.command(cancel);
    await page.waitForSelector('#p-head .word:text("cancelled")');

    const failed = await world.run(page, 'nightly');
    await world.goto(page, `/runs/${failed}`);
    await page.click('#panel >> text=Retry from here…');
    await page.waitForSelector('dialog code.command');
    const again = JSON.parse(await world.command(`${await dialogCommand(page)} --format json || true`));
    assert.equal(again.state, 'failed');
    assert.equal(again.steps.test.attempts, 1);
    assert.equal(again.steps.fetch.attempts, 0, 'it was reused');
    await page.keyboard.press('Escape');
  },

  async 'the commands of a step change its priority and skip it as its buttons do'(world, page) {
    const { run_id: run } = await world.api(page, 'POST', '/runs', { flow: 'line' });
    await world.goto(page, `/runs/${run}/steps/low`);
    await page.waitForSelector('#panel [data-priority]');
    const commands = await page.locator('#panel .commands code').allTextContents();
    await world.command(commands.find((it) => it.includes(' priority ')));
    await page.waitForSelector('#panel [data-priority="80"]');
    await page.click('#panel [data-skip]');
    const skip = await dialogCommand(page);
    await page.keyboard.press('Escape');
    assert.ok(commands.includes(skip), skip);
    await world.command(skip);
    await page.waitForSelector('#panel .facts >> text=cancelled');
    await world.api(page, 'POST', `/runs/${run}/cancel`, {});
  },

  async 'the command of the form starts what the form starts'(world, page) {
    await world.goto(page, '/flows/nightly/run');
    await page.fill('[data-param=level] input', '5');
    await page.fill('#priority', '70');
    const command = await page.textContent('#form .commands code');
    assert.equal(command, 'tidewheel run nightly --param level=5 --priority 70 --detach');
    const { run_id: pasted } = JSON.parse(await world.command(`${command} --format json`));
    await page.click('text=Start');
    await page.waitForURL(/\/runs\/[0-9a-f-]{36}$/);
    const pressed = page.url().split('/').pop();
    const about = async (run) => {
      await world.until(page, run, ['succeeded']);
      const { run_id, accepted_at, started_at, ended_at, steps, ...rest } = await world.api(page, 'GET', `/runs/${run}`);
      return [rest, Object.keys(steps), await page.evaluate(async (run) => (await (await fetch(`/api/v1/runs/${run}/log/lines?step=test`)).json()).lines.map((line) => line[2]), run)];
    };
    assert.deepEqual(await about(pasted), await about(pressed));
  },

  async 'when one param is wrong the rest of the form is kept'(world, page) {
    await world.goto(page, '/flows/several/run');
    const input = (name) => `[data-param=${name}] :is(input, select)`;
    await page.fill(input('level'), '99');
    await page.fill(input('who'), 'you');
    await page.check(input('loud'));
    await page.selectOption(input('mode'), 'high');
    await page.fill('#priority', '70');
    await page.click('#form [type=submit]');
    await page.waitForSelector('[data-param=level][data-wrong] .wrong:not([hidden])');
    assert.equal(await page.locator('[data-wrong]').count(), 1);
    const kept = [await page.inputValue(input('level')), await page.inputValue(input('who')), await page.isChecked(input('loud')), await page.inputValue(input('mode')), await page.inputValue('#priority')];
    assert.deepEqual(kept, ['99', 'you', true, 'high', '70']);
    await page.fill(input('level'), '7');
    await page.click('#form [type=submit]');
    await page.waitForURL(/\/runs\/[0-9a-f-]{36}$/);
    const { params } = await world.api(page, 'GET', `/runs/${page.url().split('/').pop()}`);
    assert.deepEqual(params, { level: 7, who: 'you', loud: true, mode: 'high' });
  },

  async 'a dialog that cancels is left with Esc, and nothing is cancelled'(world, page) {
    const { run_id: run } = await world.api(page, 'POST', '/runs', { flow: 'busy' });
    await world.until(page, run, ['running']);
    await world.goto(page, `/runs/${run}`);
    const sent = [];
    page.on('request', (request) => request.method() !== 'GET' && sent.push(request.url()));
    for (const leave of [() => page.keyboard.press('Escape'), () => page.click('dialog >> text=Leave it')]) {
      await page.click('#p-head >> text=Cancel…');
      await page.waitForSelector('dialog .primary:focus');
      await leave();
      await page.waitForSelector('dialog', { state: 'detached' });
      await page.waitForSelector('#p-head [data-cancel]:not([aria-disabled])');
    }
    assert.deepEqual(sent, []);
    assert.equal((await world.api(page, 'GET', `/runs/${run}`)).state, 'running');
    await world.api(page, 'POST', `/runs/${run}/cancel`, {});
  },

  async 'the commands for several runs do what is done with those that are picked'(world, page) {
    const failed = [await world.run(page, 'nightly'), await world.run(page, 'nightly')];
    const busy = [];
    for (let time = 0; time < 2; time++) busy.push((await world.api(page, 'POST', '/runs', { flow: 'busy' })).run_id);
    await world.goto(page, '/runs');
    const command = async (runs, button) => {
      for (const run of runs) await page.check(`[data-pick="${run}"]`);
      await page.click(`#picked >> text=${button}`);
      await page.waitForSelector('dialog code.command');
      const command = await dialogCommand(page);
      await page.keyboard.press('Escape');
      await page.click('#picked >> text=Select none');
      return command;
    };
    const retried = async () => (await world.api(page, 'GET', '/runs?name=nightly&limit=100')).runs.length;
    const before = await retried();
    await world.command(`${await command(failed, 'Retry…')} || true`);
    assert.equal(await retried(), before + 2);
    await world.command(await command(busy, 'Cancel…'));
    for (const run of busy) await world.until(page, run, ['cancelled']);
  },

  async 'the commands of a question answer it as it is answered here'(world, page) {
    for (const [way, state, said] of [['yes', ['succeeded'], 'said yes'], ['no', ['failed', 'cancelled'], 'said no']]) {
      const { run_id: run } = await world.api(page, 'POST', '/runs', { flow: 'release' });
      await world.asking(page, run);
      await world.goto(page, `/runs/${run}/steps/ask`);
      const commands = await page.locator('#panel .commands code').allTextContents();
      assert.equal(commands.filter((it) => it.includes(' approve ')).length, 2, 'yes and no');
      await page.click(`#panel [data-answer=${way}]`);
      await page.fill('dialog input[name=note]', `it's ${way} by hand`);
      const command = await dialogCommand(page);
      await page.keyboard.press('Escape');
      await world.command(command);
      await world.until(page, run, state);
      await world.goto(page, '/system?tab=audit');
      await page.waitForSelector(`#p-system tr:has-text("it's ${way} by hand") >> text=${said}`);
    }
  },

  async 'the commands of a schedule and of a token do what their buttons do'(world, page) {
    const address = '/schedules/nightly%2Fnightly';
    const shown = async (word) => (await page.locator('#p-head .commands code').allTextContents()).find((it) => it.includes(` ${word} `));
    await world.goto(page, address);
    await world.command(await shown('pause'));
    await world.goto(page, address);
    await world.command(await shown('resume'));
    await world.goto(page, address);
    await page.waitForSelector('#p-head button:text("Pause")');
    const past = async (origin) => (await world.api(page, 'GET', `${address}/ledger`)).firings.filter((it) => it.origin === origin).length;
    const before = await past('by-hand');
    await world.command(await shown('run'));
    assert.equal(await past('by-hand'), before + 1);
    // What is entered is in the command.
    await page.click('text=Backfill…');
    await page.uncheck('dialog [name=missed]');
    await page.fill('dialog [name=from]', '2026-01-01T00:00');
    await page.fill('dialog [name=until]', '2026-01-04T00:00');
    await page.check('dialog [name=at_once]');
    const backfill = await dialogCommand(page);
    assert.equal(backfill, 'tidewheel schedule backfill nightly/nightly --from 2025-12-31T23:00:00.000Z --until 2026-01-03T23:00:00.000Z --at-once');
    // What would fire is shown first, and nothing has fired yet.
    await page.click('dialog button:text("Look at them…")');
    await page.waitForSelector('dialog button:text("Fire them")');
    assert.equal(await page.locator('dialog li').count(), 3);
    assert.equal(await past('backfill'), 0);
    await page.keyboard.press('Escape');
    await world.command(backfill);
    assert.equal(await past('backfill'), 3);

    await world.command('tidewheel token create short-lived --role viewer');
    await world.goto(page, '/system?tab=tokens');
    await page.click('tr:has-text("short-lived") >> text=End…');
    await page.waitForSelector('dialog code.command');
    await world.command(await dialogCommand(page));
    await page.keyboard.press('Escape');
    await world.goto(page, '/system?tab=tokens');
    assert.equal(await page.locator('tr:has-text("short-lived")').count(), 0);
  },

  async 'what waits starts in the order in which it was shown'(world, page) {
    const { run_id: run } = await world.api(page, 'POST', '/runs', { flow: 'line' });
    await world.goto(page, '/queues');
    await page.waitForFunction(() => ['low', 'high', 'middle'].every((name) => [...document.querySelectorAll('#p-waiting tbody th a')].some((it) => it.textContent === name)));
    const shown = (await page.locator('#p-waiting tbody th a').allTextContents()).filter((name) => /^(low|high|middle)$/.test(name));
    // Why it waits, and for whom, stands beside it.
    assert.match(await page.textContent('#p-waiting tr:has-text("high")'), /limit gate has 1 of 1 in use.*held by hold/s);
    // When it is expected to start, if that is known, and when it is not overtaken any more.
    assert.match(await page.textContent('#p-waiting tr:has-text("low") .expected'), /^(in [\d.]+ m?s|any moment now|not known)\s*not overtaken after \d\d:\d\d:\d\d/);
    await page.click('#p-waiting a:has-text("high")');
    await page.waitForSelector('#panel .why >> text=gate');
    assert.match(await page.textContent('#panel'), /held by hold.*Nothing that becomes ready later goes before it after/s);
    writeFileSync(join(world.folder, 'data/runs', run, 'work/go'), '');
    await world.until(page, run, ['succeeded']);
    const { steps } = await world.api(page, 'GET', `/runs/${run}/steps?order=start`);
    const began = steps.map((it) => it.step).filter((name) => /^(low|high|middle)$/.test(name));
    assert.deepEqual(began, shown);
    assert.deepEqual(shown, ['high', 'middle', 'low']);
  },

  async 'another priority shows the order first, and then it is so'(world, page) {
    const { run_id: run } = await world.api(page, 'POST', '/runs', { flow: 'contest' });
    const small = await world.window({ width: 360, height: 740 });
    await world.goto(small, '/queues');
    const own = `#p-waiting [data-priority][data-run="${run}"]`;
    await small.waitForFunction((own) => document.querySelectorAll(own).length === 3, own);
    const button = small.locator(`${own}[data-step=three]`);
    assert.ok((await button.boundingBox()).height >= 44, 'it can be touched');
    // By keys alone.
    await button.focus();
    await small.keyboard.press('Enter');
    await small.waitForSelector('dialog input[name=priority]:focus');
    assert.equal(await small.inputValue('dialog input[name=priority]'), '80');
    const order = async () => (await small.locator('dialog .order tbody th bdi:first-child').allTextContents()).filter((name) => /^(one|two|three)$/.test(name));
    assert.equal((await order())[0], 'three');
    for (const it of await small.locator('dialog button, dialog input:not([type=checkbox])').all()) assert.ok((await it.boundingBox()).height >= 44, await it.textContent());
    await small.click('dialog .levels >> text=background');
    await small.waitForFunction(() => document.querySelector('dialog .order tbody tr:last-child bdi')?.textContent === 'three');
    assert.equal((await order()).at(-1), 'three');
    await small.click('dialog .levels >> text=critical');
    await small.waitForFunction(() => document.querySelector('dialog .order tbody tr bdi')?.textContent === 'three');
    const shown = await order();
    const said = JSON.parse(await world.command(`${await dialogCommand(small)} --dry-run --format json`));
    assert.deepEqual(said.after.filter((it) => it.run_id === run).map((it) => it.step), shown);
    assert.deepEqual(await world.axe(small), []);
    await small.click('dialog .primary');
    await small.waitForFunction((own) => document.querySelector(`${own}[data-step=three]`)?.dataset.priority === '100', own);
    await world.goto(small, `/runs/${run}/steps/two`);
    await small.waitForSelector('#panel >> text=Change priority…');
    writeFileSync(join(world.folder, 'data/runs', run, 'work/go'), '');
    await world.until(page, run, ['succeeded']);
    const { steps } = await world.api(page, 'GET', `/runs/${run}/steps?order=start`);
    assert.deepEqual(steps.map((it) => it.step).filter((name) => /^(one|two|three)$/.test(name)), shown);
    await world.goto(small, '/system?tab=audit');
    await small.waitForSelector('#p-system >> text=priority 100');
    assert.deepEqual(small.wrong, []);
    await small.context().close();
  },
};

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

  async 'each command that is shown does what its button does'(world, page) {
    const { run_id: busy } = await world.api(page, 'POST', '/runs', { flow: 'busy' });
    await world.until(page, busy, ['running']);
    await world.goto(page, `/runs/${busy}`);
    const commands = await page.locator('#p-head .commands code').allTextContents();
    await world.command(commands.find((it) => it.includes(' pause ')));
    await page.waitForSelector('#p-head .word:text("paused")');
    await world.command((await page.locator('#p-head .commands code').allTextContents()).find((it) => it.includes(' resume ')));
    await page.waitForSelector('#p-head .word:text("running")');
    await page.click('#p-head >> text=Cancel…');
    await page.waitForSelector('dialog code.command');
    const cancel = await dialogCommand(page);
    await page.keyboard.press('Escape');
    await world.command(cancel);
    await page.waitForSelector('#p-head .word:text("cancelled")');

    const { run_id: asking } = await world.api(page, 'POST', '/runs', { flow: 'release' });
    await world.asking(page, asking);
    await world.goto(page, `/runs/${asking}/steps/ask`);
    await world.command((await page.locator('#panel .commands code').allTextContents()).find((it) => it.includes(' approve ')));
    await world.until(page, asking, ['succeeded']);

    const failed = await world.run(page, 'nightly');
    await world.goto(page, `/runs/${failed}`);
    await page.click('#panel >> text=Retry from here…');
    await page.waitForSelector('dialog code.command');
    const again = JSON.parse(await world.command(`${await dialogCommand(page)} --format json || true`));
    assert.equal(again.state, 'failed');
    assert.equal(again.steps.test.attempts, 1);
    assert.equal(again.steps.fetch.attempts, 0, 'it was reused');
    await page.keyboard.press('Escape');

    await world.goto(page, '/schedules/nightly%2Fnightly');
    await world.command((await page.locator('#p-head .commands code').allTextContents()).find((it) => it.includes(' pause ')));
    await page.reload();
    await page.click('#p-head >> text=Resume');
    await page.waitForSelector('#p-head >> text=Pause');
  },

  async 'what waits starts in the order in which it was shown'(world, page) {
    const { run_id: run } = await world.api(page, 'POST', '/runs', { flow: 'line' });
    await world.goto(page, '/queues');
    await page.waitForFunction(() => ['low', 'high', 'middle'].every((name) => [...document.querySelectorAll('#p-waiting tbody th a')].some((it) => it.textContent === name)));
    const shown = (await page.locator('#p-waiting tbody th a').allTextContents()).filter((name) => /^(low|high|middle)$/.test(name));
    // Why it waits, and for whom, stands beside it.
    assert.match(await page.textContent('#p-waiting tr:has-text("high")'), /limit gate has 1 of 1 in use.*held by hold/s);
    await page.click('#p-waiting a:has-text("high")');
    await page.waitForSelector('#panel .why >> text=gate');
    writeFileSync(join(world.folder, 'data/runs', run, 'work/go'), '');
    await world.until(page, run, ['succeeded']);
    const { steps } = await world.api(page, 'GET', `/runs/${run}/steps?order=start`);
    const began = steps.map((it) => it.step).filter((name) => /^(low|high|middle)$/.test(name));
    assert.deepEqual(began, shown);
    assert.deepEqual(shown, ['high', 'middle', 'low']);
  },
};

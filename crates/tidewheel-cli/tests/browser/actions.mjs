// Actions on a page, and assertions about it. An action waits until the page is ready for it; an assertion reads again until it holds.
//
// Tests do not call the methods of Playwright that act or read at once: `tidewheel-sim/tests/it/tidy/waits_browser.rs` lists them.
import assert from 'node:assert/strict';
import { setTimeout as pause } from 'node:timers/promises';

/** The time that a wait allows, in milliseconds: far longer than anything takes on a busy machine, so only a hang reaches it. */
export const PATIENCE = Number(process.env.TIDEWHEEL_TEST_PATIENCE ?? 120) * 1000;

/** Polls `read` until `check` accepts what it resolves to, and returns that. A read that fails counts as "not yet"; at the end its error is thrown. */
export async function eventually(read, check) {
  const end = performance.now() + PATIENCE;
  for (;;) {
    const start = performance.now();
    try {
      const value = await read();
      check(value);
      return value;
    } catch (error) {
      if (performance.now() > end || /has been closed/.test(error.message)) throw error;
    }
    // Costly reads are made less often, or they would slow down what they wait for.
    await pause(Math.max(20, performance.now() - start));
  }
}

/** Checks a value against an equal value, a pattern, or a function that is true for it. */
function matches(value, expected, what) {
  if (expected instanceof RegExp) assert.match(value ?? '', expected, what);
  else if (typeof expected === 'function') assert.ok(expected(value), `${what}: ${JSON.stringify(value)} is not ${expected}`);
  else assert.deepEqual(value, expected, what);
}

/** Asserts that `read` comes to resolve to what is expected. */
export const expect = (read, expected, what) => eventually(read, (value) => matches(value, expected, what));

/** Resolves when the scripts of a page have started and everything that it has requested is shown. */
export async function settled(page) {
  if (page.hasScripts) await page.waitForSelector('html[data-updates=settled]', { state: 'attached' });
}

/** The first element that a selector finds; also accepts a locator. */
const first = (page, target) => (typeof target === 'string' ? page.locator(target).first() : target);
const act = (how) => async (page, target, ...rest) => {
  await settled(page);
  await how(first(page, target), ...rest);
};

export const click = act((it, options) => it.click(options));
export const tap = act((it) => it.tap());
export const fill = act((it, text) => it.fill(text));
export const check = act((it) => it.check());
export const uncheck = act((it) => it.uncheck());
export const select = act((it, option) => it.selectOption(option));
export const focus = act((it) => it.focus());
export const hover = act((it) => it.hover());

/** Presses keys, one after the other. */
export async function press(page, ...keys) {
  for (const key of keys) {
    await settled(page);
    await page.keyboard.press(key);
  }
}

/** Types a text into what has the focus. */
export async function type(page, text) {
  await settled(page);
  await page.keyboard.type(text);
}

/** Turns the wheel of the mouse by so many pixels. */
export async function wheel(page, pixels) {
  await settled(page);
  await page.mouse.wheel(0, pixels);
}

/** Drags the mouse from one point to another. */
export async function drag(page, [fromX, fromY], [toX, toY]) {
  await settled(page);
  await page.mouse.move(fromX, fromY);
  await page.mouse.down();
  await page.mouse.move(toX, toY);
  await page.mouse.up();
}

/** Goes back in the history of the page. */
export async function back(page) {
  await page.goBack();
  await settled(page);
}

/** Loads the page again. */
export async function reload(page) {
  await page.reload();
  await settled(page);
}

/** Reads elements as they are, without waiting: for a page whose clock or server the test has stopped. */
export const now = {
  texts: (page, selector) => page.locator(selector).evaluateAll((all) => all.map((it) => it.textContent)),
  text: async (page, selector) => (await now.texts(page, selector))[0],
  attribute: (page, selector, name) => page.locator(selector).evaluateAll((all, name) => all[0]?.getAttribute(name), name),
  count: (page, selector) => page.locator(selector).count(),
};

// Reads of a page that has settled.
const reading = (how) => async (page, selector, ...rest) => {
  await settled(page);
  await first(page, selector).waitFor({ state: 'attached' });
  return how(page, selector, ...rest);
};
export const text = reading(now.text);
export const texts = reading(now.texts);
export const attribute = reading(now.attribute);
export const boxes = reading((page, selector) => page.locator(selector).evaluateAll((all) => all.map((it) => it.getBoundingClientRect().toJSON())));
export const box = async (page, selector) => (await boxes(page, selector))[0];
export const count = async (page, selector) => (await settled(page), now.count(page, selector));
/** Evaluates a function in a page that has settled. */
export const evaluate = async (page, how, arg) => (await settled(page), page.evaluate(how, arg));

// Assertions: each reads again until it holds. All wait for the page first, or that there is nothing would hold too early.
const asserting = (how) => (page, selector, expected, what = selector) => expect(async () => (await settled(page), how(page, selector)), expected, `${what}`);
export const expectText = asserting(now.text);
export const expectTexts = asserting(now.texts);
export const expectCount = asserting(now.count);
export const expectValue = asserting((page, selector) => page.inputValue(selector));
export const expectVisible = asserting((page, selector) => page.isVisible(selector));
export const expectDisabled = asserting((page, selector) => page.isDisabled(selector));
export const expectAttribute = (page, selector, name, expected) => expect(async () => (await settled(page), now.attribute(page, selector, name)), expected, `${name} of ${selector}`);
/** Asserts what a function in the page comes to return. */
export const expectThat = (page, how, expected, arg) => expect(async () => (await settled(page), page.evaluate(how, arg)), expected, `${how}`);

/** Stops the clock of a page that has `clock.install`. It must be stopped at an instant that is not over yet, so a busy machine may need several attempts. */
export const stopClock = (page) => eventually(() => page.clock.pauseAt(Date.now() + 5000), () => {});

/** Keeps messages of the page, which it removes after some seconds otherwise: a test that uses one has no deadline. Pages opened from now on have it. */
export const keepMessages = (page) => page.addInitScript(() => {
  const [shortest, longest] = [7000, 12000];
  const later = globalThis.setTimeout;
  globalThis.setTimeout = (work, ms, ...rest) => (shortest <= ms && ms <= longest ? 0 : later(work, ms, ...rest));
});

// Flows that several files of tests use. Each file has a server of its own, which has these and those of the file.

export const EVIL = '<img src=x onerror=alert(1)>';

export const FLOWS = {
  'nightly.yaml': `
name: nightly
description: Copies what matters, checks it, and tells.
params: { level: { type: int, default: 3, min: 1, max: 9, description: How deep it looks } }
schedule: [{ name: nightly, cron: '0 2 * * *', zone: Europe/Berlin }]
flow:
  - { name: fetch, run: 'echo fetched 812 files' }
  - { name: build, run: 'echo built', depends_on: [fetch] }
  - { name: lint, run: 'printf "\\033[33mwarning\\033[0m: one thing\\n"', depends_on: [fetch] }
  - { name: test, run: 'echo level $LEVEL; if [ $LEVEL = 5 ]; then exit 0; fi; echo expected 3, found 4 >&2; exit 1', env: { LEVEL: '{{ params.level }}' }, depends_on: [build] }
  - { name: publish, run: 'echo published', depends_on: [test, lint] }
`,
  'release.yaml': `
name: release
tags: [ship]
flow:
  - { name: pack, run: 'echo packed', outputs: { size: '42' } }
  - { name: ask, wait: { approval: 'Ship 2.1 to everybody?', every: 50ms }, depends_on: [pack] }
  - { name: ship, run: 'echo shipped', depends_on: [ask] }
`,
  'odd.yaml': `
name: odd
description: "${EVIL}"
tags: ["${EVIL}"]
params: { who: { default: "${EVIL}" } }
flow:
  - { name: "a ${EVIL}", run: "printf '${EVIL}\\\\033]0;title\\\\007\\\\n'; echo '<script>alert(2)</script>' >&2; exit 1" }
`,
  'large.yaml': `
name: large
flow:
  - { name: each, foreach: ${JSON.stringify(Array.from({ length: 1500 }, (_, it) => it))}, wait: 1ms }
`,
  'chatty.yaml': `
name: chatty
flow:
  - { name: talk, run: 'seq -f "line %g of many" 1 3000' }
`,
  'busy.yaml': `
name: busy
limits: { one: { units: 1 } }
flow:
  - { name: crunch, foreach: [1, 2, 3, 4], run: 'sleep 600', limits: { one: 1 } }
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

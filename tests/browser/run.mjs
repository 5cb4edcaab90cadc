// Runs the suite: `node run.mjs [FILE…]`. Builds the trees, then runs the tests; what is measured runs last and alone.
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { chromium } from './lib/chromium.mjs';
import { here, program, screenshots, work } from './lib/paths.mjs';
import { isStrict } from './lib/budget.mjs';
import { build, names } from './lib/trees.mjs';

const skip = (why) => {
  // A developer without a browser can still run the rest. Where the suite must run, as in CI, it is no choice.
  console.log(`SKIPPED: browser tests: ${why}`);
  process.exit(process.env.CI ? 1 : 0);
};
if (!chromium()) skip('no chromium on PATH, and CHROMIUM is not set');
if (!fs.existsSync(path.join(here, 'node_modules'))) skip('no node_modules; `npm ci` installs them');
if (!fs.existsSync(program)) {
  console.error(`${program} is not there; \`cargo build\` makes it`);
  process.exit(2);
}

const started = Date.now();
const seconds = (since) => `${((Date.now() - since) / 1000).toFixed(1)} s`;
fs.mkdirSync(work, { recursive: true });
fs.rmSync(screenshots, { recursive: true, force: true });
const asked = process.argv.slice(2);
for (const name of names) console.log(`tree ${name}: ${((await build(name)) / 1000).toFixed(1)} s`);

// How long a page takes to answer fails no test but where budgets are asked for.
const isBudget = (file) => file === 'measure-interaction.test.mjs';
const all = fs.readdirSync(here).filter((file) => file.endsWith('.test.mjs') && (isStrict || !isBudget(file))).sort();
const files = asked.length ? asked : all;
const isMeasured = (file) => path.basename(file).startsWith('measure-');
const run = (list, jobs) => {
  if (!list.length) return 0;
  const flags = ['--test', `--test-concurrency=${jobs}`, '--test-reporter=spec'];
  return spawnSync(process.execPath, [...flags, ...list], { cwd: here, stdio: 'inherit' }).status ?? 1;
};
const failed = run(files.filter((file) => !isMeasured(file)), 2) + run(files.filter(isMeasured), 1);
console.log(`browser tests: ${failed ? 'FAILED' : 'passed'} in ${seconds(started)}`);
process.exit(failed ? 1 : 0);

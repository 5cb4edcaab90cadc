// Builds the published trees that the tests look at.
import { execFileSync, spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import fs from 'node:fs';
import path from 'node:path';
import readline from 'node:readline';
import { isStrict } from './budget.mjs';
import { BUNDLED, hostile, made, vectors } from './registries.mjs';
import { here, program, work } from './paths.mjs';

/// Base address of the built trees. Links are relative; only canonical addresses, feeds and the like hold it.
export const BASE = 'https://agents.example.com/some/where';

/// How many agents the largest registry has. A debug build of the program needs minutes for as many as budgets are for.
export const LARGE = isStrict ? 10_000 : 1_000;

const REGISTRIES = {
  bundled: () => BUNDLED,
  hostile,
  vectors,
  ...Object.fromEntries([1, 60, 61].map((count) => [`made-${count}`, () => made(count)])),
  'made-large': () => made(LARGE, 'made-large'),
};

export const tree = (name) => path.join(work, 'trees', name);

/// The trees of which only some files are kept: what thousands of agents have on disk takes long to write.
export const SAMPLED = new Set(['made-large']);

/// In a sample, one icon stands for all, which are alike.
export const STAND_IN = 'amber-lantern-00000.svg';

/// Of a large tree: no more than two agents and two pages of a list.
const isSampled = (file) => {
  const [folder, ...rest] = file.split('/');
  if (folder === 'agents' && rest.length > 1) return /-0000[01]$/.test(rest[0]);
  if (file.endsWith('.svg') && !rest.length) return file === STAND_IN;
  return !rest.some((part) => Number(part) > 2);
};

/// The element that `serve` adds to every page.
const RELOAD = /<script src="\/-\/reload\.js" defer><\/script>$/;

/// Takes the sample from the program's own server, which keeps the tree in memory.
const sample = async (name, registry) => {
  const child = spawn(program, ['--registry-dir', registry, 'serve', '--port', '0'], { stdio: ['ignore', 'pipe', 'inherit'] });
  try {
    const [line] = await Promise.race([
      once(readline.createInterface(child.stdout), 'line'),
      once(child, 'exit').then(([code]) => { throw new Error(`${name}: serve ended with ${code}`); }),
    ]);
    const url = line.match(/http:\/\/127\.0\.0\.1:\d+\//)[0];
    const get = async (file) => {
      const answer = await fetch(url + file.replace(/index\.html$/, ''));
      if (!answer.ok) throw new Error(`${name}: ${file}: ${answer.status}`);
      return Buffer.from(await answer.arrayBuffer());
    };
    const sums = (await get('SHA256SUMS')).toString();
    const files = sums.trim().split('\n').map((row) => row.split(/\s+\*?/)[1]);
    for (const file of ['SHA256SUMS', ...files.filter(isSampled)]) {
      const place = path.join(tree(name), file);
      fs.mkdirSync(path.dirname(place), { recursive: true });
      const bytes = await get(file);
      fs.writeFileSync(place, file.endsWith('.html') ? bytes.toString().replace(RELOAD, '') : bytes);
    }
  } finally {
    child.kill();
  }
};

/// What a tree depends on: this folder's `lib` and the program.
const key = () => {
  const { size, mtimeMs } = fs.statSync(program);
  const made = ['registries.mjs', 'trees.mjs'].map((file) => fs.readFileSync(path.join(here, 'lib', file)));
  return createHash('sha256').update(`${size} ${mtimeMs} ${LARGE}`).update(Buffer.concat(made)).digest('hex');
};

/// Builds a tree, unless it is there and neither the program nor what the tests make has changed. Returns the milliseconds.
export const build = async (name) => {
  const started = Date.now();
  const stamp = `${tree(name)}.key`;
  const isKnown = name !== 'bundled' && fs.existsSync(stamp) && fs.readFileSync(stamp, 'utf8') === key();
  if (isKnown) return 0;
  fs.rmSync(stamp, { force: true });
  fs.rmSync(tree(name), { recursive: true, force: true });
  const registry = REGISTRIES[name]();
  try {
    if (SAMPLED.has(name)) await sample(name, registry);
    else execFileSync(program, ['--registry-dir', registry, 'build', '--out', tree(name), '--base-url', BASE], { stdio: 'pipe' });
  } catch (error) {
    throw new Error(`${name} cannot be built: ${String(error.stderr || error.message).slice(0, 3000)}`);
  }
  fs.writeFileSync(stamp, key());
  return Date.now() - started;
};

export const names = Object.keys(REGISTRIES);

/// What was built: the entries of the index, and the answers of agents by id.
export const data = (name) => {
  const read = (file) => JSON.parse(fs.readFileSync(file, 'utf8'));
  const registry = name === 'bundled' ? BUNDLED : path.join(work, 'registries', name);
  const { agents } = read(path.join(tree(name), 'registry.json'));
  const rows = read(path.join(registry, 'capabilities.json')).agents.filter((row) => row.channel !== 'preview');
  const byId = (list) => new Map(list.map((row) => [row.id, row]));
  const answers = byId(rows.filter((row) => row.protocol_version));
  // Those that were tried and gave no answer.
  const silent = byId(rows.filter((row) => !row.protocol_version && row.verdict !== 'pass'));
  return { agents, answers, silent };
};

/// The paths of all pages of a tree, as addresses relative to its root.
export const pages = (name) => {
  const found = [];
  const walk = (folder) => {
    for (const item of fs.readdirSync(path.join(tree(name), folder), { withFileTypes: true })) {
      if (item.isDirectory()) walk(`${folder}${item.name}/`);
      else if (item.name === 'index.html') found.push(folder);
      else if (item.name.endsWith('.html')) found.push(folder + item.name);
    }
  };
  walk('');
  return found.sort();
};

/// One page of each type: the home page, one of each folder, one of all filters, and one with and one without an answer of
/// the agent. New types of pages are covered by being there.
export const pageTypes = (name) => {
  const types = new Map();
  const home = fs.readFileSync(path.join(tree(name), 'index.html'), 'utf8');
  const filters = new Set([...home.matchAll(/type="checkbox" name="([^"]+)"/g)].map(([, key]) => key));
  const { agents, answers } = data(name);
  const chosen = ['agents/goose/'];
  const untested = agents.find(({ id }) => !answers.has(id));
  if (untested) chosen.push(`agents/${untested.id}/`);
  const size = (page) => fs.statSync(path.join(tree(name), page, 'index.html')).size;
  const isCommand = (page) => /^docs\/commands\/./.test(page);
  const [longest] = pages(name).filter(isCommand).sort((one, other) => size(other) - size(one));
  for (const page of pages(name)) {
    const [first] = page.split('/');
    const folder = filters.has(first) ? 'filter' : first;
    // One template and the help of the program make the pages of all commands: the longest stands for them.
    if (isCommand(page) && page !== longest) continue;
    // Each guide is a text of its own.
    if (chosen.includes(page) || folder === 'docs') types.set(page, page);
    else if (folder === 'agents' && page.split('/').length === 3) types.set('agents/', types.get('agents/') || page);
    else if (!types.has(folder)) types.set(folder, page);
    // A folder's own index and a page below it are different types.
    if (page === `${folder}/`) types.set(`${folder}/`, page);
  }
  return [...new Set(types.values())];
};

/// One page of each template: those of each type, and the longest of the guides, of which only the texts differ.
export const pageTemplates = (name) => {
  const isGuide = (page) => /^docs\/[^/]+\/$/.test(page) && page !== 'docs/rules/';
  const types = pageTypes(name);
  const size = (page) => fs.statSync(path.join(tree(name), page, 'index.html')).size;
  const [longest] = types.filter(isGuide).sort((one, other) => size(other) - size(one));
  return types.filter((page) => !isGuide(page) || page === longest);
};

// Builds the published trees that the tests look at.
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { BUNDLED, hostile, made } from './registries.mjs';
import { program, work } from './paths.mjs';

/// Base address of the built trees. Links are relative; only canonical addresses, feeds and the like hold it.
export const BASE = 'https://agents.example.com/some/where';

const REGISTRIES = {
  bundled: () => BUNDLED,
  hostile,
  ...Object.fromEntries([1, 24, 25, 10_000].map((count) => [`made-${count}`, () => made(count)])),
};

export const tree = (name) => path.join(work, 'trees', name);

/// Builds a tree, over the one that is there.
export const build = (name) => {
  const started = Date.now();
  const registry = REGISTRIES[name]();
  try {
    execFileSync(program, ['--registry-dir', registry, 'build', '--out', tree(name), '--base-url', BASE], { stdio: 'pipe', maxBuffer: 1 << 26 });
  } catch (error) {
    throw new Error(`${name} cannot be built: ${String(error.stderr).slice(0, 3000)}`);
  }
  return Date.now() - started;
};

export const names = Object.keys(REGISTRIES);

/// What was built: the entries of the index, and the answers of agents by id.
export const data = (name) => {
  const read = (file) => JSON.parse(fs.readFileSync(file, 'utf8'));
  const registry = name === 'bundled' ? BUNDLED : path.join(work, 'registries', name);
  const { agents } = read(path.join(tree(name), 'registry.json'));
  // An agent that was started and gave no answer is as good as not tested.
  const rows = read(path.join(registry, 'capabilities.json')).agents.filter((row) => row.protocol_version && row.channel !== 'preview');
  const answers = new Map(rows.map((row) => [row.id, row]));
  return { agents, answers };
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
  for (const page of pages(name)) {
    const [first] = page.split('/');
    const folder = filters.has(first) ? 'filter' : first;
    if (chosen.includes(page)) types.set(page, page);
    else if (folder === 'agents' && page.split('/').length === 3) types.set('agents/', types.get('agents/') || page);
    else if (!types.has(folder)) types.set(folder, page);
    // A folder's own index and a page below it are different types.
    if (page === `${folder}/`) types.set(`${folder}/`, page);
  }
  return [...new Set(types.values())];
};

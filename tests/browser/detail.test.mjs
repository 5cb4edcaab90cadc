// The page of an agent: settings to copy, tables, and what its facts say.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { open, withSites } from './lib/browser.mjs';
import { BASE, data, tree } from './lib/trees.mjs';

withSites('bundled');

const CLIPBOARD = { permissions: ['clipboard-read', 'clipboard-write'] };

test('every snippet is copied as it is shown, and that is announced', () => open('agents/goose/', async (page) => {
  await page.evaluate(() => { for (const part of document.querySelectorAll('details')) part.open = true; });
  const snippets = await page.locator('.snippet').all();
  assert.ok(snippets.length >= 7, `${snippets.length} snippets`);
  for (const snippet of snippets) {
    const button = snippet.locator('.copy');
    await button.click();
    await page.waitForFunction(() => document.getElementById('copied').textContent === 'Copied');
    const text = await snippet.locator('code').textContent();
    assert.equal(await page.evaluate(() => navigator.clipboard.readText()), text);
    assert.equal(await button.textContent(), 'Copied');
    assert.match(await button.getAttribute('aria-label'), /^Copy: .+/);
  }
  assert.equal(new Set(await page.locator('.copy').evaluateAll((list) => list.map((button) => button.ariaLabel))).size, snippets.length);
}, CLIPBOARD));

test('a button keeps its size when it says that it has copied', () => open('agents/goose/', async (page) => {
  const button = page.locator('.copy').first();
  const before = await button.boundingBox();
  await button.click();
  await page.waitForFunction(() => document.getElementById('copied').textContent === 'Copied');
  assert.deepEqual(await button.boundingBox(), before);
}, CLIPBOARD));

test('without a clipboard the text is chosen, ready for Ctrl C', () => open('agents/goose/', async (page) => {
  for (const broken of ['undefined', 'rejecting']) {
    await page.evaluate((how) => {
      const value = how === 'undefined' ? undefined : { writeText: () => Promise.reject(new Error('no')) };
      Object.defineProperty(navigator, 'clipboard', { value, configurable: true });
      getSelection().removeAllRanges();
    }, broken);
    const snippet = page.locator('.snippet').first();
    await snippet.locator('.copy').click();
    await page.waitForFunction(() => /press Ctrl C/.test(document.getElementById('copied').textContent));
    const text = await snippet.locator('code').textContent();
    assert.equal(await page.evaluate(() => getSelection().toString().trim()), text.trim());
  }
}));

test('a link to an editor unfolds its settings', () => open('agents/goose/#emacs', async (page) => {
  const ids = await page.locator('details.client').evaluateAll((list) => list.map((part) => part.id));
  assert.deepEqual(ids.filter((id) => ['zed', 'jetbrains', 'codecompanion', 'avante', 'emacs', 'vscode', 'cli'].includes(id)).length, 7, ids.join());
  assert.ok(await page.locator('#emacs').evaluate((part) => part.open && part.getBoundingClientRect().top < innerHeight));
  await page.evaluate(() => { location.hash = '#vscode'; });
  await page.waitForFunction(() => document.getElementById('vscode').open);
}));

test('the Zed settings are JSON for this agent', () => open('agents/goose/#zed', async (page) => {
  const texts = await page.locator('#zed code').allTextContents();
  const settings = texts.map((text) => JSON.parse(text));
  assert.ok(settings.some(({ agent_servers: servers }) => servers.goose), JSON.stringify(settings));
}));

test('capabilities are told as they were answered', async () => {
  const { agents, answers } = data('bundled');
  const { id } = agents.find((agent) => answers.has(agent.id));
  const row = answers.get(id);
  await open(`agents/${id}/`, async (page) => {
    const cell = (label) => page.locator('.caps tr', { hasText: label }).locator('td').textContent();
    // The answer to a request for sessions that exist confirms a capability; the bundled snapshot has no examinations.
    const state = (feature) => {
      if (!(feature in row.features)) return 'Not known';
      if (!row.features[feature]) return 'Not announced';
      const known = { auth_required: 'Needs sign-in', method_not_found: 'Failed', ok: feature === 'session/list' && 'Tested' };
      return known[row.probes[feature]] || 'Announced';
    };
    assert.equal(await cell('Load sessions'), state('session/load'));
    assert.equal(await cell('List sessions'), state('session/list'));
    assert.equal(await cell('Images in prompts'), state('prompt/image'));
    assert.equal(await page.locator('#capabilities + p time').getAttribute('datetime'), row.checked_at.slice(0, 10));
  });
});

test('data for machines: agent.json, and JSON-LD without what nobody stated', async () => {
  const { agents } = data('bundled');
  for (const agent of agents) {
    const folder = path.join(tree('bundled'), 'agents', agent.id);
    assert.deepEqual(JSON.parse(fs.readFileSync(path.join(folder, 'agent.json'), 'utf8')).id, agent.id);
    const html = fs.readFileSync(path.join(folder, 'index.html'), 'utf8');
    const ld = JSON.parse(html.match(/<script type="application\/ld\+json">(.*?)<\/script>/s)[1]);
    assert.equal(ld['@type'], 'SoftwareApplication');
    assert.equal(ld.name, agent.name);
    assert.equal(ld.url, `${BASE}/agents/${agent.id}/`);
    for (const key of ['offers', 'aggregateRating', 'review']) assert.ok(!(key in ld), `${agent.id}: ${key}`);
  }
});

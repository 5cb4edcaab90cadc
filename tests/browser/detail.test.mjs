// The page of an agent: settings to copy, tables, and what its facts say.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { open, site, withSites } from './lib/browser.mjs';
import { BASE, data, tree } from './lib/trees.mjs';

withSites('bundled');

const CLIPBOARD = { permissions: ['clipboard-read', 'clipboard-write'] };

// A slow machine looks at the message after the three seconds for which a page shows it.
const keepMessages = (page) => page.evaluate(() => {
  const wait = window.setTimeout;
  window.setTimeout = (call, time) => time === 3000 ? 0 : wait(call, time);
});

test('every snippet is copied as it is shown, and that is announced', () => open('agents/goose/', async (page) => {
  await page.evaluate(() => { for (const part of document.querySelectorAll('details')) part.open = true; });
  await keepMessages(page);
  const snippets = await page.locator('.snippet').all();
  assert.ok(snippets.length >= 8, `${snippets.length} snippets`);
  for (const snippet of snippets) {
    const panel = snippet.locator('xpath=ancestor::section[@role="tabpanel"]');
    if (await panel.count()) await page.locator(`#${await panel.getAttribute('aria-labelledby')}`).click();
    const button = snippet.locator('.copy');
    await page.evaluate(() => { document.getElementById('copied').textContent = ''; });
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
  await keepMessages(page);
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

const EDITORS = ['zed', 'jetbrains', 'codecompanion', 'avante', 'emacs', 'vscode', 'cli'];
const chosen = (page) => page.locator('[role=tabpanel]').evaluateAll((panels) => panels.filter((panel) => panel.checkVisibility()).map((panel) => panel.id).join());

test('a link to an editor shows its settings, and no others', () => open('agents/goose/#emacs', async (page) => {
  assert.deepEqual(await page.locator('.client').evaluateAll((list) => list.map((part) => part.id)), EDITORS);
  assert.equal(await chosen(page), 'emacs');
  assert.ok(await page.locator('#emacs').evaluate((part) => part.getBoundingClientRect().top < innerHeight));
  await page.evaluate(() => { location.hash = '#vscode'; });
  await page.waitForFunction(() => document.getElementById('vscode').checkVisibility());
  assert.equal(await chosen(page), 'vscode');
}));

test('editors are tabs that arrows move, and the address follows', () => open('agents/goose/', async (page) => {
  const tabs = page.getByRole('tab');
  assert.deepEqual(await tabs.evaluateAll((list) => list.map((tab) => tab.hash.slice(1))), EDITORS);
  assert.equal(await chosen(page), 'zed');
  await tabs.first().focus();
  const length = await page.evaluate(() => history.length);
  for (const [key, expected] of [['ArrowRight', 'jetbrains'], ['End', 'cli'], ['ArrowRight', 'zed'], ['ArrowLeft', 'cli'], ['Home', 'zed'], ['ArrowRight', 'jetbrains']]) {
    await page.keyboard.press(key);
    assert.equal(await chosen(page), expected, key);
    const state = await page.evaluate(() => {
      const { activeElement: tab } = document;
      return [tab.hash, tab.ariaSelected, document.querySelectorAll('[role=tab][tabindex="0"]').length, document.querySelectorAll('[role=tab][aria-selected=true]').length];
    });
    assert.deepEqual(state, [`#${expected}`, 'true', 1, 1]);
  }
  // One stop in the order of Tab, and no entry in the history for each editor.
  await page.keyboard.press('Tab');
  assert.ok(await page.evaluate(() => document.activeElement.closest('#jetbrains')));
  assert.deepEqual([new URL(page.url()).hash, await page.evaluate(() => history.length)], ['#jetbrains', length]);
  for (const panel of await page.locator('[role=tabpanel]').all()) {
    const label = await panel.getAttribute('aria-labelledby');
    assert.ok(await page.locator(`#${label}`).count(), label);
  }
}));

test('the last editor is remembered, and a link wins over it', () => open('agents/goose/', async (page) => {
  await page.getByRole('tab', { name: 'Emacs' }).click();
  await page.goto(`${site().url}agents/gemini/`);
  assert.equal(await chosen(page), 'emacs');
  await page.goto(`${site().url}agents/gemini/#zed`);
  await page.reload();
  assert.equal(await chosen(page), 'zed');
  await page.evaluate(() => localStorage.setItem('editor', '#"><img src=x>'));
  await page.goto(`${site().url}agents/goose/`);
  assert.equal(await chosen(page), 'zed');
}));

test('tabs work where nothing can be stored', () => open('agents/goose/', async (page) => {
  await page.addInitScript(() => Object.defineProperty(globalThis, 'localStorage', { get() { throw new DOMException('no', 'SecurityError'); } }));
  await page.reload();
  await page.getByRole('tab', { name: 'VS Code' }).click();
  assert.equal(await chosen(page), 'vscode');
}));

test('the Zed settings are JSON for this agent', () => open('agents/goose/#zed', async (page) => {
  const texts = await page.locator('#zed pre code').allTextContents();
  const settings = texts.map((text) => JSON.parse(text));
  assert.ok(settings.some(({ agent_servers: servers }) => servers.goose), JSON.stringify(settings));
}));

// The checks that use a feature.
const CHECKS = {
  'session/load': ['sessions/load', 'turns/load'],
  'session/list': ['sessions/list'],
  'prompt/image': ['turns/images'],
};

test('capabilities are told as they were answered', async () => {
  const { agents, answers } = data('bundled');
  const { id } = agents.find((agent) => answers.has(agent.id));
  const row = answers.get(id);
  const examined = row.examination?.version === row.version ? row.examination.checks : [];
  await open(`agents/${id}/`, async (page) => {
    const cell = (label) => page.locator('.caps dl > div', { has: page.getByText(label, { exact: true }) }).locator('dd').textContent();
    const state = (feature) => {
      if (!(feature in row.features)) return 'Not known';
      if (!row.features[feature]) return 'Not announced';
      // What an examination has shown counts more than an answer.
      const results = examined.filter((check) => CHECKS[feature].includes(check.id)).map((check) => check.result);
      if (results.some((result) => result === 'fail' || result === 'warning')) return 'Failed';
      if (results.includes('pass')) return 'Tested';
      const known = { auth_required: 'Needs sign-in', method_not_found: 'Failed', ok: feature === 'session/list' && 'Tested' };
      return known[row.probes[feature]] || 'Announced';
    };
    assert.equal(await cell('Load'), state('session/load'));
    assert.equal(await cell('List'), state('session/list'));
    assert.equal(await cell('Images'), state('prompt/image'));
    assert.equal(await page.locator('#capabilities + p time').getAttribute('datetime'), row.checked_at.slice(0, 10));
  });
});

test('data for machines: agent.json, and JSON-LD of what the manifest states', async () => {
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

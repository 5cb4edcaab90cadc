// Eleven questions of visitors, each answered from the home page within four actions: a click, a key, or a text with Enter.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { named, open, settled, withSites } from './lib/browser.mjs';
import { matching } from './lib/facets.mjs';
import { data } from './lib/trees.mjs';

withSites('bundled');

const MOST = 4;

const journey = (question, answer, options = {}) => test(question, () => open('', async (page) => {
  let actions = 0;
  const act = async (action) => {
    actions++;
    await action();
  };
  const visitor = {
    click: (locator) => act(() => locator.click()),
    press: (key) => act(() => page.keyboard.press(key)),
    write: (locator, text) => act(async () => { await locator.fill(text); await locator.press('Enter'); }),
    type: (text) => act(() => page.keyboard.type(text)),
  };
  await answer(page, visitor);
  assert.ok(actions <= MOST, `${actions} actions`);
}, options));

const search = (page) => page.locator('#q');
const first = (page) => page.locator('#list h3 a').first();
const fact = (page, title) => page.locator('.facts dt', { hasText: title }).locator('xpath=following-sibling::dd');

journey('Which open source agent runs in Zed on Windows without an API key?', async (page, { write, click }) => {
  await write(search(page), 'open source zed windows no key');
  const { agents } = data('bundled');
  const open = new Set(matching(data('bundled'), { license: ['open'], auth: ['no-key'], os: ['windows'] }));
  assert.ok(open.size > 0);
  await named(page, ([name]) => open.has(agents.find((agent) => agent.name === name)?.id));
  await click(first(page));
  await page.locator('#zed.on').waitFor();
  assert.match(page.url(), /#zed$/);
});

journey('How do I use Gemini in Neovim?', async (page, { write, click }) => {
  await write(search(page), 'gemini in neovim');
  await named(page, ([name]) => name === 'Gemini CLI');
  await click(first(page));
  await page.locator('#codecompanion.on pre').first().waitFor();
  assert.match(await page.locator('#codecompanion.on pre').first().textContent(), /gemini/);
});

journey('How do three agents differ in modes, MCP and images?', async (page, { click, write }) => {
  await page.locator('#list .card', { hasText: 'Claude Agent' }).hover();
  await click(page.locator('#list .card', { hasText: 'Claude Agent' }).getByRole('link', { name: 'Compare' }));
  await write(page.locator('#add'), 'Nanocoder');
  await page.getByRole('columnheader', { name: /Nanocoder/ }).waitFor();
  await write(page.locator('#add'), 'Codex');
  await page.getByRole('columnheader', { name: /Codex/ }).waitFor();
  const rows = await page.locator('.versus [scope=row]').allTextContents();
  for (const row of ['Modes', 'HTTP', 'Images']) assert.ok(rows.includes(row), `${row}: ${rows.join()}`);
});

journey('Which agents were tested, when, and what failed?', async (page, { click }) => {
  await click(page.getByRole('navigation', { name: 'Site' }).getByRole('link', { name: 'Capabilities' }));
  await click(page.getByRole('link', { name: /examined/ }).first());
  await page.getByRole('heading', { level: 1, name: /Examined/ }).waitFor();
  const text = await page.locator('main').textContent();
  assert.match(text, /\d{4}-\d\d-\d\d/);
  assert.match(text, /turns\/|sessions\/|protocol\//);
});

journey('What changed this week?', async (page, { click }) => {
  await click(page.getByRole('navigation', { name: 'Site' }).getByRole('link', { name: 'Changes' }));
  const weeks = page.getByRole('heading', { level: 2, name: /^Week of \d{4}-\d\d-\d\d$/ });
  if (!await page.locator('.empty').count()) assert.ok(await weeks.count() > 0);
});

journey('Who maintains Codex, and where is its source?', async (page, { write, click }) => {
  await write(search(page), 'codex');
  await named(page, ([name]) => name === 'Codex');
  await click(first(page));
  assert.match(await fact(page, /^By$/).textContent(), /OpenAI/);
  assert.match(await fact(page, /^Source$/).locator('a').getAttribute('href'), /^https:/);
});

journey('Which agents resume sessions?', async (page, { write }) => {
  await write(search(page), 'session resume');
  const expected = matching(data('bundled'), { cap: ['session-resume'] });
  assert.ok(expected.length > 0);
  await settled(page, expected.length);
  assert.match(await page.locator('#read').textContent(), /Resume sessions/);
});

journey('What if I mistype a name?', async (page, { write, click }) => {
  await write(search(page), 'gemni');
  await page.locator('#read').getByText('“gemni” is read as “gemini”').waitFor();
  await click(first(page));
  await page.getByRole('heading', { level: 1, name: 'Gemini CLI' }).waitFor();
});

journey('Can I do it with the keyboard only?', async (page, { press, type }) => {
  await press('Control+k');
  await type('goose');
  await named(page, ([name]) => name === 'goose');
  await press('Enter');
  await page.waitForFunction(() => document.activeElement.closest('#list'));
  await press('Enter');
  await page.getByRole('heading', { level: 1, name: 'goose' }).waitFor();
});

journey('Can I do it without JavaScript?', async (page, { click }) => {
  await click(page.getByRole('navigation', { name: 'Site' }).getByRole('link', { name: 'A–Z' }));
  await click(page.getByRole('link', { name: 'Gemini CLI', exact: true }));
  assert.ok(await page.locator('#codecompanion pre').first().isVisible());
}, { javaScriptEnabled: false });

journey('Can I do it on a phone?', async (page, { write, click }) => {
  const top = (locator) => locator.evaluate((element) => element.getBoundingClientRect().top + scrollY);
  assert.ok(await top(page.locator('#list .card').first()) <= 420, 'the first agent is in sight');
  await write(search(page), 'gemini');
  await named(page, ([name]) => name === 'Gemini CLI');
  await click(first(page));
  await page.getByRole('heading', { level: 1, name: 'Gemini CLI' }).waitFor();
  assert.ok(await top(page.locator('#install')) <= 420, 'how to set it up is in sight');
}, { viewport: { width: 360, height: 780 } });

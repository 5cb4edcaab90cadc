// What people come with, and how many actions it takes: typing into a field, a click, a choice.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { cards, count, named, open, settled, withSites } from './lib/browser.mjs';
import { matching } from './lib/facets.mjs';
import { data } from './lib/trees.mjs';

withSites('bundled');

const MOST = 6;
const VIEWPORTS = { desktop: { width: 1280, height: 900 }, phone: { width: 390, height: 844 } };

/// Counts actions, and fails at the first one too many.
const counted = () => {
  let taken = 0;
  const act = (action) => {
    taken += 1;
    assert.ok(taken <= MOST, `more than ${MOST} actions`);
    return action;
  };
  return { act, taken: () => taken };
};

/// Copies the settings for Zed from the page of an agent, and returns the agent's id.
const copyForZed = async (page, act) => {
  await act(page.getByRole('button', { name: /^Copy: Zed/ }).first().click());
  await page.getByText('Copied', { exact: true }).first().waitFor();
  const settings = JSON.parse(await page.evaluate(() => navigator.clipboard.readText()));
  const id = new URL(page.url()).pathname.split('/').at(-2);
  assert.ok(settings.agent_servers[id], JSON.stringify(settings));
  return id;
};

for (const [size, viewport] of Object.entries(VIEWPORTS)) {
  const options = { viewport, permissions: ['clipboard-read', 'clipboard-write'] };

  test(`Zed on Windows, open source, no API key: in words, on a ${size}`, () => open('', async (page) => {
    const { act, taken } = counted();
    const wish = { license: ['open'], auth: ['no-key'] };
    // Packages state no system: they come after the agents with a build for it, and say so.
    const expected = matching(data('bundled'), { ...wish, os: ['windows'] });
    assert.ok(expected.length > 0);
    await act(page.locator('#q').fill('open source windows no api key'));
    await settled(page, expected.length);
    assert.match(await page.locator('#read').textContent(), /Licence: Open source · System: Windows · Sign-in: Without an API key/);
    const hasBuild = ({ distribution }) => Object.keys(distribution.binary || {}).some((platform) => platform.startsWith('windows'));
    const some = data('bundled').agents.filter((agent) => expected.includes(agent.id) && !hasBuild(agent)).length;
    assert.equal(await page.getByText('System not stated').count(), some);
    await act(page.locator('#list h3 a').first().click());
    await page.waitForURL(/\/agents\//);
    assert.ok(expected.includes(await copyForZed(page, act)));
    assert.ok(taken() <= MOST);
  }, options));

  test(`Zed on Windows, open source, no API key: with one-tap questions, on a ${size}`, () => open('', async (page) => {
    const { act, taken } = counted();
    const known = data('bundled');
    const ask = (name) => page.getByRole('group', { name: 'Questions' }).getByRole('button', { name });
    const expected = matching(known, { license: ['open'], auth: ['no-key'] });
    await act(ask('Open source').click());
    await act(ask('No API key').click());
    await settled(page, expected.length);
    assert.equal(await ask('No API key').getAttribute('aria-pressed'), 'true');
    await act(ask('Runs on Windows').click());
    const builds = matching(known, { license: ['open'], auth: ['no-key'], os: ['windows'] });
    await settled(page, builds.length);
    const agent = builds.length ? page.locator('#list h3 a').first() : page.locator('#near h3 a').first();
    await act(agent.click());
    await page.waitForURL(/\/agents\//);
    await copyForZed(page, act);
    assert.ok(taken() <= MOST);
  }, options));

  test(`three agents compared, on a ${size}`, () => open('', async (page) => {
    const { act, taken } = counted();
    const wanted = ['Gemini CLI', 'goose', 'Qwen Code'];
    const card = page.locator('#list .card', { has: page.getByRole('link', { name: wanted[0], exact: true }) });
    await act(card.getByRole('link', { name: 'Compare' }).click());
    for (const name of wanted.slice(1)) {
      await act(page.locator('#add').fill(name));
      await act(page.keyboard.press('Enter'));
    }
    await page.waitForFunction((count) => document.querySelectorAll('.versus thead a').length === count, wanted.length);
    assert.deepEqual(await page.locator('.versus thead a').allTextContents(), wanted);
    // Every row has a mark with a text for each of them.
    for (const row of await page.locator('.versus tbody tr:has(td)').all()) {
      const texts = await row.locator('td').allTextContents();
      assert.equal(texts.length, wanted.length);
      assert.ok(texts.every((text) => text.trim()), texts.join());
    }
    assert.ok(taken() <= MOST);
  }, options));

  test(`an agent in Neovim, on a ${size}`, () => open('', async (page) => {
    const { act, taken } = counted();
    await act(page.locator('#q').fill('in Neovim'));
    await settled(page, data('bundled').agents.length);
    await act(page.getByRole('link', { name: /work in Neovim/ }).click());
    await page.waitForURL(/\/editors\/codecompanion\/$/);
    assert.match(await page.locator('main').textContent(), /Neovim/);
    await act(page.getByRole('button', { name: /^Copy/ }).first().click());
    await page.getByText('Copied', { exact: true }).first().waitFor();
    assert.match(await page.evaluate(() => navigator.clipboard.readText()), /codecompanion/);
    assert.ok(taken() <= MOST);
  }, options));
}

test('a card leads to the comparison with this agent', () => open('', async (page) => {
  const link = page.locator('#list .card', { hasText: 'goose' }).getByRole('link', { name: 'Compare' });
  await link.click();
  await page.waitForURL(/\/matrix\/\?ids=goose$/);
}));

test('claude code finds the Claude agent', () => open('?q=claude%20code', async (page) => {
  await settled(page, 1);
  assert.deepEqual(await cards(page), ['Claude Agent']);
}));

test('agents with some of the words come last, and say so', () => open('', async (page) => {
  await page.locator('#q').fill('goose uvx');
  await named(page, ([first]) => first === 'goose');
  assert.equal(await page.locator('#list .card').first().getByText('Partial match').count(), 1);
  const { total } = await count(page);
  assert.match(await page.locator('#count').textContent(), new RegExp(`^${total} agents?, ${total} only in part`));
}));

// Everything by keyboard alone, and where the focus goes.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { cards, count, open, settled, withSites } from './lib/browser.mjs';
import { matching } from './lib/facets.mjs';
import { data } from './lib/trees.mjs';

withSites('bundled', 'made-25');

const focused = (page) => page.evaluate(() => {
  const { activeElement: element } = document;
  return element.id || element.getAttribute('value') || element.textContent.trim();
});

/// Presses Tab until the focus is where it should be. Fails when it is not reached.
const tabTo = async (page, selector) => {
  for (let step = 0; step < 120; step++) {
    await page.keyboard.press('Tab');
    if (await page.evaluate((wanted) => document.activeElement.matches(wanted), selector)) return;
  }
  assert.fail(`${selector} is not reached by Tab; the focus is at ${await focused(page)}`);
};

test('the first Tab offers to skip to the content', () => open('', async (page) => {
  await page.keyboard.press('Tab');
  const skip = page.locator('.skip');
  assert.ok(await skip.evaluate((link) => document.activeElement === link && link.getBoundingClientRect().top >= 0));
  await page.keyboard.press('Enter');
  assert.match(page.url(), /#main$/);
}));

for (const key of ['Control', 'Meta']) {
  test(`${key} and K go to the search and choose its text`, () => open('', async (page) => {
    await page.locator('#q').fill('goose');
    await page.locator('footer a').first().focus();
    await page.keyboard.press(`${key}+k`);
    assert.equal(await focused(page), 'q');
    await page.keyboard.type('cline');
    assert.equal(await page.locator('#q').inputValue(), 'cline');
  }));
}

test('no single key is taken', () => open('', async (page) => {
  for (const letter of ['/', 's', 'k', '?', 'j']) await page.keyboard.press(letter);
  assert.equal(await page.evaluate(() => document.activeElement === document.body), true);
  assert.equal(new URL(page.url()).search, '');
}));

test('search, filter, open and copy without a mouse', () => open('', async (page) => {
  const known = data('bundled');
  await tabTo(page, '#q');
  await page.keyboard.type('goose');
  await tabTo(page, 'input[value="linux"]');
  await page.keyboard.press('Space');
  // A filter changes results, not the place.
  assert.equal(await focused(page), 'linux');
  const ids = new Set(matching(known, { os: ['linux'] }));
  const text = (agent) => [agent.name, agent.id, agent.description, ...(agent.authors || [])].join(' ').toLowerCase();
  await settled(page, known.agents.filter((agent) => ids.has(agent.id) && text(agent).includes('goose')).length);
  await tabTo(page, '#list h3 a');
  await page.keyboard.press('Enter');
  await page.waitForURL(/agents\/goose\/$/);
  await tabTo(page, '.copy');
  await page.keyboard.press('Enter');
  await page.waitForFunction(() => document.getElementById('copied').textContent === 'Copied');
}, { permissions: ['clipboard-read', 'clipboard-write'] }));

test('"show more" moves the focus to the first new agent', () => open('', async (page) => {
  const total = data('bundled').agents.length;
  await page.locator('#more').focus();
  await page.keyboard.press('Enter');
  await page.waitForFunction(() => document.activeElement.closest('#list'));
  const names = await cards(page);
  assert.equal(names.length, Math.min(48, total));
  assert.equal(new Set(names).size, names.length, 'no agent is there twice');
  assert.equal(await focused(page), names[24]);
  assert.deepEqual(await count(page), { shown: names.length, total });
}));

test('"show more" is there for the 25th agent and gone after it', () => open('', async (page) => {
  assert.ok(await page.locator('#more').isVisible());
  await page.locator('#more').click();
  await page.waitForFunction(() => document.activeElement.closest('#list'));
  assert.ok(!await page.locator('#more').isVisible());
  assert.equal(await focused(page), (await cards(page))[24]);
}, { name: 'made-25' }));

test('the focus is always to be seen', () => open('agents/goose/', async (page) => {
  const seen = new Set();
  for (let step = 0; step < 60; step++) {
    await page.keyboard.press('Tab');
    const state = await page.evaluate(() => {
      const { activeElement: element } = document;
      if (element === document.body) return null;
      const style = getComputedStyle(element);
      const { top, bottom } = element.getBoundingClientRect();
      return { what: element.outerHTML.slice(0, 80), outline: parseFloat(style.outlineWidth), style: style.outlineStyle, inView: bottom > 0 && top < innerHeight };
    });
    if (!state) break;
    seen.add(state.what);
    assert.ok(state.outline >= 2 && state.style !== 'none' && state.inView, JSON.stringify(state));
  }
  assert.ok(seen.size > 15);
}));

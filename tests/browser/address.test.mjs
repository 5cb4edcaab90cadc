// The address is the state: deep links, Back and Forward.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { answered, cards, count, open, settled, showing, withSites } from './lib/browser.mjs';
import { matching } from './lib/facets.mjs';
import { data } from './lib/trees.mjs';

withSites('bundled');

const length = (page) => page.evaluate(() => history.length);

test('typing replaces the address, deliberate changes push it', () => open('', async (page) => {
  const start = await length(page);
  await page.locator('#q').pressSequentially('code');
  await page.waitForURL(/\?q=code$/);
  assert.equal(await length(page), start);
  await page.locator('input[value="open"]').check();
  await page.waitForURL(/\?q=code&license=open$/);
  assert.equal(await length(page), start + 1);
  await page.locator('#sort').selectOption('name');
  assert.equal(await length(page), start + 2);
  // Nothing changed: nothing to go back to.
  await page.locator('#q').press('Enter');
  assert.equal(await length(page), start + 2);
  await page.locator('#clear').click();
  assert.equal(await length(page), start + 3);
}));

test('Back and Forward bring back words, filters, order and results', () => open('', async (page) => {
  const known = data('bundled');
  const [linux, opened] = [matching(known, { os: ['linux'] }), matching(known, { os: ['linux'], license: ['open'] })];
  await page.locator('input[value="linux"]').check();
  await settled(page, linux.length);
  await page.locator('input[value="open"]').check();
  await settled(page, opened.length);
  await page.locator('#sort').selectOption('name-desc');
  const names = new Map(known.agents.map(({ id, name }) => [id, name.toLowerCase()]));
  const last = [...opened].sort((a, b) => (names.get(a) < names.get(b) ? 1 : -1));
  await showing(page, last);
  await page.goBack();
  await settled(page, opened.length);
  assert.equal(await page.locator('#sort').inputValue(), '');
  await page.goBack();
  await settled(page, linux.length);
  assert.ok(!await page.locator('input[value="open"]').isChecked() && await page.locator('input[value="linux"]').isChecked());
  await page.goBack();
  await settled(page, known.agents.length);
  assert.equal(new URL(page.url()).search, '');
  for (let step = 0; step < 3; step++) await page.goForward();
  await settled(page, opened.length);
  await showing(page, last);
}));

test('Back from an agent leads to the same results', () => open('?q=code&license=open', async (page) => {
  await answered(page);
  const [before, found] = [await cards(page), await count(page)];
  await page.locator('#list h3 a').first().click();
  await page.waitForURL(/\/agents\//);
  await page.goBack();
  await settled(page, found.total);
  assert.deepEqual(await cards(page), before);
  assert.equal(await page.locator('#q').inputValue(), 'code');
}));

test('a link shows what the one who copied it saw', () => open('', async (page) => {
  await page.locator('#q').fill('agent');
  await page.locator('input[value="npx"]').check();
  await page.locator('#sort').selectOption('name-desc');
  // The last change is answered when all cards are in its order.
  await page.waitForFunction(() => {
    const names = [...document.querySelectorAll('#list h3')].map((title) => title.textContent.toLowerCase());
    return location.search.includes('name-desc') && +document.getElementById('count').textContent.match(/\d+/) === names.length
      && names.every((name, at) => !at || names[at - 1] >= name);
  });
  const seen = [await cards(page), await count(page)];
  await page.goto(page.url());
  await settled(page, seen[1].total);
  assert.deepEqual([await cards(page), await count(page)], seen);
}));

test('an address with unknown values is no error', () => open('?q=%00%E2%80%AE&os=beos&license=open&license=open&x=1&sort=worst&cap=', async (page) => {
  await answered(page);
  assert.equal(await page.locator('#sort').inputValue(), '');
  assert.ok(await page.locator('input[value="open"]').isChecked());
  assert.equal(await page.locator('#groups input:checked').count(), 1);
}));

test('words of any length are bounded', () => open(`?q=${'x'.repeat(3000)}`, async (page) => {
  await settled(page, 0);
  assert.equal((await page.locator('#q').inputValue()).length, 200);
}));

// A reader looks for an open source agent for Windows on Arm that needs no Node.js and no API key, and for its settings
// in Zed, with nothing but what the pages show.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { cards, count, open, settled, withSites } from './lib/browser.mjs';
import { matching } from './lib/facets.mjs';
import { data } from './lib/trees.mjs';

withSites('bundled', 'made-61');

const WISH = { os: ['windows'], arch: ['aarch64'], dist: ['binary', 'uvx'], license: ['open'], auth: ['no-key'] };

const choose = async (page, size) => {
  if (size === 'phone') await page.getByRole('button', { name: 'Filters' }).click();
  const filter = (group, value) => page.getByRole('group', { name: group, exact: true }).getByRole('checkbox', { name: value });
  await filter('System', 'Windows').check();
  await filter('Processor', 'Arm').check();
  await filter('Runs as', 'Local binary').check();
  await filter('Runs as', 'uvx').check();
  await filter('Licence', 'Open source').check();
  await filter('Sign-in', /^Without/).check();
};

const copySettings = async (page) => {
  const [first] = await cards(page);
  await page.getByRole('link', { name: first, exact: true }).click();
  await page.getByRole('heading', { name: first, level: 1 }).waitFor();
  await page.getByRole('button', { name: /^Copy: Zed/ }).first().click();
  await page.getByText('Copied', { exact: true }).first().waitFor();
  const settings = JSON.parse(await page.evaluate(() => navigator.clipboard.readText()));
  const id = new URL(page.url()).pathname.split('/').at(-2);
  assert.ok(settings.agent_servers[id], JSON.stringify(settings));
  return id;
};

for (const [size, viewport] of Object.entries({ desktop: { width: 1280, height: 900 }, phone: { width: 390, height: 844 } })) {
  const options = { viewport, permissions: ['clipboard-read', 'clipboard-write'] };

  test(`from the home page to the settings for Zed, on a ${size}`, () => open('', async (page) => {
    const expected = matching(data('made-61'), WISH);
    assert.ok(expected.length > 0);
    await choose(page, size);
    await settled(page, expected.length);
    assert.deepEqual(await count(page), { shown: expected.length, total: expected.length });
    assert.ok(expected.includes(await copySettings(page)));
  }, { ...options, name: 'made-61' }));

  test(`when no agent is known to fit, the page says what to give up, on a ${size}`, () => open('', async (page) => {
    const known = data('bundled');
    // More than any agent does, whatever the snapshot says.
    const wish = { ...WISH, dist: ['binary'], protocol: ['v1'], auth: ['untested'] };
    assert.deepEqual(matching(known, wish), []);
    await choose(page, size);
    const filter = (group, value) => page.getByRole('group', { name: group, exact: true }).getByRole('checkbox', { name: value });
    await filter('Runs as', /^uvx/).uncheck();
    await filter('Sign-in', /^Without/).uncheck();
    await filter('Sign-in', /^Not known/).check();
    await filter('Protocol', /^Version 1/).check();
    await settled(page, 0);
    const without = matching(known, { ...wish, protocol: [] });
    await page.getByRole('button', { name: `${without.length} without Protocol: Version 1` }).click();
    await settled(page, without.length);
    // What has just been pressed is gone: the focus is at what it led to.
    assert.equal(await page.evaluate(() => document.activeElement.id), 'results-title');
    assert.ok(without.includes(await copySettings(page)));
    await page.goBack();
    await page.goBack();
    await settled(page, 0);
  }, options));
}

test('what is offered instead leads to as many agents as it says', () => open('?q=goose&os=windows&dist=uvx&license=open', async (page) => {
  await settled(page, 0);
  const address = page.url();
  const offers = await page.locator('#offers button').allTextContents();
  assert.ok(offers.length >= 2 && offers.some((text) => text.endsWith('without “goose”')), offers.join());
  for (const text of offers) {
    await page.goto(address);
    await settled(page, 0);
    await page.getByRole('button', { name: text, exact: true }).click();
    await settled(page, Number(text.split(' ')[0]));
  }
}));

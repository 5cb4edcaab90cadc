// Without JavaScript, without a network, in old and narrow places.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { cards, open, settled, site, withSites } from './lib/browser.mjs';
import { BASE, LARGE, data, pageTypes } from './lib/trees.mjs';

withSites('bundled', 'made-1', 'made-60', 'made-61', 'made-large');

test('without JavaScript all but the search works', () => open('', async (page) => {
  assert.equal(await page.locator('#list .card').count(), data('bundled').agents.length);
  assert.ok(await page.locator('noscript p').isVisible());
  // Nothing that does nothing.
  for (const selector of ['#search', '#more', '#theme', '#clear']) assert.ok(!await page.locator(selector).isVisible(), selector);
  await page.getByRole('link', { name: 'from A to Z' }).first().click();
  await page.waitForURL(/all\/1\/$/);
  assert.equal(await page.locator('.card').count(), data('bundled').agents.length);
  await page.getByRole('navigation', { name: 'Browse' }).getByRole('link', { name: 'Windows' }).click();
  await page.waitForURL(/os\/windows\/$/);
  assert.ok(!await page.getByText('Combine with other filters').isVisible());
  await page.locator('.card h3 a').first().click();
  await page.waitForURL(/\/agents\//);
  assert.ok(!await page.locator('.copy').first().isVisible());
  // All editors are sections with headings, and the links above lead to them.
  for (const id of ['zed', 'cli']) assert.ok(await page.locator(`#${id} h3`).isVisible() && await page.locator(`#${id} pre`).first().isVisible(), id);
  await page.locator('.tabs a[href="#cli"]').click();
  assert.match(page.url(), /#cli$/);
  assert.equal(await page.locator('[role=tab], [role=tabpanel]').count(), 0);
}, { javaScriptEnabled: false }));

test('a page without JavaScript looks the same to those who read', async () => {
  for (const address of ['agents/goose/', 'matrix/', 'all/1/', 'docs/', 'docs/user/', 'docs/rules/']) {
    await open(address, async (page) => {
      assert.ok((await page.locator('main').innerText()).length > 200, address);
    }, { javaScriptEnabled: false });
  }
});

test('search works offline after the first use', () => open('', async (page, context) => {
  await page.locator('#q').fill('goose');
  await page.waitForFunction(() => document.querySelector('#list h3')?.textContent === 'goose');
  await context.setOffline(true);
  await page.locator('#q').fill('cline');
  await page.waitForFunction(() => document.querySelector('#list h3')?.textContent === 'Cline');
  await page.locator('#q').fill('opencdoe');
  await page.waitForFunction(() => document.querySelector('#list h3')?.textContent === 'OpenCode');
  await page.locator('#q').fill('');
  await page.locator('input[value="open"]').check();
  await page.waitForFunction(() => document.querySelectorAll('#list .card').length > 5);
}, { allow: /ERR_INTERNET_DISCONNECTED/ }));

for (const [name, count] of [['made-1', 1], ['made-60', 60], ['made-61', 61], ['made-large', LARGE]]) {
  test(`a registry of ${count}`, () => open('', async (page) => {
    const known = data(name);
    assert.match(await page.locator('.lead').textContent(), count === 1 ? /^1 agent that speaks/ : new RegExp(`^${count.toLocaleString('en', { useGrouping: 'min2' })} agents that speak`));
    assert.equal(await page.locator('#list .card').count(), count > 60 ? 24 : count);
    assert.equal(await page.locator('#more').isVisible(), count > 60);
    // A number in every name, so that each is found alone.
    const last = known.agents.at(-1);
    await page.locator('#q').fill(last.id.split('-').at(-1));
    await page.waitForFunction((name) => document.querySelector('#list h3')?.textContent === name, last.name);
    await page.locator('#q').fill('qqqxxx');
    await settled(page, 0);
    assert.deepEqual(await cards(page), []);
  }, { name }));
}

test('the search of any page is a form that needs no script', () => open('matrix/', async (page) => {
  await page.locator('#q').fill('goose');
  await page.locator('#q').press('Enter');
  await page.waitForURL(`${site().url}?q=goose`);
  assert.ok(await page.locator('noscript p').isVisible());
}, { javaScriptEnabled: false }));

test('a page that is not there says so, below any path, and leads on', async () => {
  for (const address of ['nothing', 'agents/unknown/', 'a/b/c/d/e.html?x#y']) {
    await open(address, async (page) => {
      assert.equal(await page.locator('h1').textContent(), 'Page not found');
      const root = new URL(`${BASE}/`).pathname;
      const links = await page.locator(':is(a, link, form):not(.skip):not([rel=search])').evaluateAll((list) => list.map((link) => link.getAttribute('href') || link.getAttribute('action')));
      assert.deepEqual(links.filter((link) => !link.startsWith(root) && !link.startsWith('https://')), [], address);
      assert.notEqual(await page.locator('.brand').evaluate((link) => getComputedStyle(link).display), 'inline', `${address} has its style`);
      await page.locator('#q').fill('goose');
      await page.locator('#q').press('Enter');
      await page.waitForURL(`${site().url}?q=goose`);
      await page.goBack();
      await page.locator('main a').first().click();
      await page.waitForURL(site().url);
    }, { allow: /404/ });
  }
});

test('nothing is asked of another host, by any page', async () => {
  for (const address of pageTypes('bundled')) await open(address, (page) => page.waitForLoadState('networkidle'));
});

test('text cannot become markup by script', () => open('', async (page) => {
  const outcome = await page.evaluate(() => {
    try { document.body.innerHTML = '<b>x</b>'; } catch (error) { return error.name; }
    return 'done';
  });
  assert.equal(outcome, 'TypeError');
  await page.evaluate(() => { globalThis.violations.length = 0; });
}, { allow: /TrustedHTML/ }));

// Search by words, with typos, over all fields.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { cards, count, named, open, settled, showing, site, withSites } from './lib/browser.mjs';
import { VECTORS } from './lib/registries.mjs';
import { data, tree } from './lib/trees.mjs';

withSites('bundled', 'vectors');

const search = (page, text) => page.locator('#q').fill(text);

test('words are found in names, ids, descriptions and authors, best first', () => open('', async (page) => {
  const { agents } = data('bundled');
  for (const { name } of agents.filter((_, at) => at % 6 === 0)) {
    await search(page, name);
    await named(page, ([first]) => first === name);
  }
  // The middle of a compound name.
  await search(page, 'code');
  await named(page, (found) => found.includes('OpenCode') && found.includes('Qwen Code'));
  const { authors, name } = agents.find((agent) => agent.authors?.length && !agent.name.includes(agent.authors[0].split(' ')[0]));
  await search(page, authors[0].split(' ')[0]);
  await named(page, (found) => found.includes(name));
}));

test('what is typed and chosen before the script has come stays', async () => {
  const early = async (address, script, use) => open('404.html', async (page) => {
    let release;
    const isUsed = new Promise((done) => { release = done; });
    await page.route(script, async (route) => { await isUsed; await route.continue(); });
    await page.goto(site().url + address, { waitUntil: 'commit' });
    await use(page, release);
  });
  await early('', /\/search\.[^/]*\.js$/, async (page, release) => {
    await search(page, 'gemini');
    release();
    await named(page, ([first]) => first === 'Gemini CLI');
    assert.equal(await page.locator('#q').inputValue(), 'gemini');
    assert.match(page.url(), /\?q=gemini$/);
  });
  await early('matrix/', /\/compare\.[^/]*\.js$/, async (page, release) => {
    await page.locator('#all input').nth(1).check();
    release();
    await page.locator('#go').waitFor();
    assert.ok(await page.locator('#all input').nth(1).isChecked());
  });
});

test('every word must be there, in any field, whatever its case and accents', () => open('', async (page) => {
  const { agents } = data('bundled');
  const words = 'TERMINAL program'.toLowerCase().split(' ');
  const text = (agent) => [agent.name, agent.id, agent.description, ...(agent.authors || [])].join(' ').toLowerCase();
  const expected = agents.filter((agent) => words.every((word) => text(agent).includes(word))).length;
  assert.ok(expected > 0 && expected < agents.length);
  await search(page, '  TÉRMINAL   program ');
  await page.waitForFunction((whole) => {
    const [all, some = 0] = (document.getElementById('count').textContent.match(/\d+/g) || []).map(Number);
    return all - some === whole;
  }, expected);
}));

test('a typo still finds the agent, and the page says so', () => open('', async (page) => {
  for (const [typed, name] of [['opencdoe', 'OpenCode'], ['mistrel', 'Mistral Vibe'], ['gose', 'goose'], ['juni', 'Junie']]) {
    await search(page, typed);
    await page.waitForFunction((wanted) => [...document.querySelectorAll('#list h3')].some((title) => title.textContent === wanted), name);
    if (typed !== 'juni') await page.locator('#count').getByText('with similar spellings').waitFor();
  }
}));

test('a word that no agent has leaves the others as they are, and an editor is the one that the results lead to', () => open('', async (page) => {
  await search(page, 'goose qqqq in zed');
  await settled(page, 1);
  assert.match(await page.locator('#read').textContent(), /No agent mentions “qqqq”.*All agents work in Zed/);
  assert.equal(await page.locator('#list h3 a').getAttribute('href'), './agents/goose/#zed');
  await page.waitForFunction(() => /1 agent matches\. No agent mentions “qqqq”/.test(document.getElementById('live').textContent));
  await search(page, 'gose');
  await page.locator('#read').getByText('“gose” is read as “goose”').waitFor();
}));

test('the number of results is announced once, after typing, and not on arrival', () => open('', async (page) => {
  assert.equal(await page.locator('#live').textContent(), '');
  assert.equal(await page.locator('#live').getAttribute('role'), 'status');
  await page.evaluate(() => {
    globalThis.said = [];
    new MutationObserver(() => globalThis.said.push(document.getElementById('live').textContent)).observe(document.getElementById('live'), { childList: true });
  });
  // In one go: a busy machine would make pauses in which the page may speak.
  await page.locator('#q').evaluate((box) => {
    for (const text of ['g', 'go', 'goo', 'goos', 'goose']) {
      box.value = text;
      box.dispatchEvent(new Event('input', { bubbles: true }));
    }
  });
  await page.waitForFunction(() => globalThis.said.length > 0);
  // More than that is never said.
  await page.waitForTimeout(700);
  const { total } = await count(page);
  assert.deepEqual(await page.evaluate(() => globalThis.said), [`${total} ${total === 1 ? 'agent matches' : 'agents match'}`]);
}));

test('without a result the page says what to do, and one click starts over', () => open('', async (page) => {
  await search(page, 'qqqqxxxxzzzz');
  await settled(page, 0);
  assert.ok(await page.locator('#nothing').isVisible());
  assert.equal((await cards(page)).length, 0);
  await page.locator('#clear').click();
  await settled(page, data('bundled').agents.length);
  assert.ok(!await page.locator('#nothing').isVisible());
  assert.equal(await page.evaluate(() => document.activeElement.id), 'q');
}));

test('the queries of the command line give the same results', () => open('', async (page) => {
  // The ranking of all queries is tested without a browser.
  for (const [query, ...results] of VECTORS.queries.filter((_, at) => at % 12 === 0)) {
    const [ids, partial] = results.map((text) => text.split(' ').filter(Boolean));
    await search(page, query);
    await showing(page, [...ids, ...partial]);
    const marked = page.locator('#list .card', { has: page.locator('.chip.auth', { hasText: /^(Partial match|System not stated)$/ }) });
    const links = await marked.locator('h3 a').evaluateAll((list) => list.map((link) => link.getAttribute('href').split('/')[2]));
    assert.deepEqual(links, partial, query);
  }
}, { name: 'vectors' }));

test('nothing unfiltered stands under filters while the catalog loads', () => open('', async (page) => {
  let go;
  const gate = new Promise((next) => { go = next; });
  await page.route('**/catalog.*', async (route) => { await gate; await route.continue(); });
  await page.locator('input[value="proprietary"]').check();
  await page.getByText('Loading the catalog').waitFor();
  assert.ok(!await page.locator('#list').isVisible());
  assert.equal(await page.locator('#count').textContent(), '');
  go();
  await page.locator('#list').waitFor();
  const { agents } = data('bundled');
  await settled(page, agents.filter(({ license }) => /proprietary/i.test(license || '')).length);
}));

test('filters are choices or exclude agents, and counts are those of the answers', () => open('', async (page) => {
  const { agents } = data('bundled');
  const groups = await page.locator('#groups fieldset').evaluateAll((list) => list.map((group) => (
    [...group.querySelectorAll('label small')].map((small) => Number(small.textContent)))));
  assert.ok(groups.length > 5, 'there are filters');
  for (const counts of groups) {
    assert.ok(counts.every((count) => count > 0 && count <= agents.length), counts.join());
    assert.ok(counts.length > 1 || counts[0] < agents.length, counts.join());
  }
}));

test('orders by name', () => open('', async (page) => {
  const agents = [...data('bundled').agents].sort((a, b) => (a.name.toLowerCase() < b.name.toLowerCase() ? -1 : 1));
  const ids = agents.map(({ id }) => id);
  await page.locator('#sort').selectOption('name-desc');
  await showing(page, [...ids].reverse());
  await page.locator('#sort').selectOption('name');
  await showing(page, ids);
}));

test('orders by date, the newest first', (context) => open('', async (page) => {
  const orders = await page.locator('#sort option').evaluateAll((list) => list.map(({ value }) => value));
  if (!orders.includes('updated')) { context.skip('the registry has no history'); return; }
  const catalog = JSON.parse(fs.readFileSync(path.join(tree('bundled'), await page.locator('#search').getAttribute('data-catalog')), 'utf8'));
  for (const order of ['updated', 'added']) {
    const expected = catalog.id.map((id, at) => [id, catalog[order][at], at]).sort((a, b) => b[1] - a[1] || a[2] - b[2]).map(([id]) => id);
    await page.locator('#sort').selectOption(order);
    await showing(page, expected);
  }
}));

test('the cards of the script are those of the page', () => open('', async (page) => {
  // Elements, attributes in any order, and text.
  const html = () => page.locator('#list').evaluate((list) => [...list.querySelectorAll('*')].map((element) => [
    element.localName, ...[...element.attributes].map(({ name, value }) => `${name}=${value}`).sort(), element.children.length ? '' : element.textContent,
  ].join(' ')));
  const before = await html();
  await page.locator('#sort').selectOption('name');
  await page.waitForFunction(() => location.search === '?sort=name');
  await settled(page, data('bundled').agents.length);
  const after = await html();
  assert.equal(after.length, before.length);
  after.forEach((line, at) => assert.equal(line, before[at]));
}));

test('the catalog is fetched once, and only when it is needed', () => open('', async (page) => {
  const asked = () => site().requests.filter((path) => path.includes('/catalog.')).length;
  const before = asked();
  await page.waitForLoadState('networkidle');
  assert.equal(asked(), before);
  await search(page, 'goose');
  await page.locator('#q').fill('cline');
  const { name } = data('bundled').agents.find(({ id }) => id === 'cline');
  await named(page, ([first]) => first === name);
  assert.equal(asked(), before + 1);
}));

test('where a typing error and a filter leave nothing, what would leave something is offered', () => open('', async (page) => {
  await search(page, 'gose');
  await page.waitForFunction(() => /^1 agent, with similar/.test(document.getElementById('count').textContent));
  await page.locator('input[value="proprietary"]').check();
  await page.getByRole('button', { name: '1 without Licence: Proprietary' }).click();
  await page.waitForFunction(() => /^1 agent, with similar/.test(document.getElementById('count').textContent));
}));

test('a catalog that cannot be had is said, and tried again', () => open('', async (page) => {
  await page.route('**/catalog.*', (route) => route.abort());
  await page.locator('#q').fill('goose');
  await page.locator('#live').getByText('could not be loaded').waitFor();
  await page.locator('#failed').waitFor();
  assert.ok(!await page.locator('#list').isVisible(), 'nothing unfiltered stands under the word');
  await page.unroute('**/catalog.*');
  await page.locator('#retry').click();
  await page.waitForFunction(() => document.querySelector('#list h3')?.textContent === 'goose');
}, { allow: /ERR_FAILED/ }));

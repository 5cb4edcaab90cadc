// Filters: each value, combinations, and every count against a plain recount.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { open, settled, showMore, withSites } from './lib/browser.mjs';
import { countOf, matching } from './lib/facets.mjs';
import { data } from './lib/trees.mjs';

withSites('bundled', 'made-large');

const shownCounts = (page) => page.locator('#groups label').evaluateAll((labels) => labels.map((label) => {
  const input = label.querySelector('input');
  return [input.name, input.value, Number(label.querySelector('small').textContent.replaceAll(',', ''))];
}));

/// Where a filter keeps all agents, their number does not tell when the page has answered: the counts are waited for.
const expectCounts = async (page, known, choice, where) => {
  const wrong = async () => (await shownCounts(page)).find(([key, slug, shown]) => shown !== countOf(known, choice, key, slug));
  for (let tries = 0; tries < 200 && await wrong(); tries++) await page.waitForTimeout(50);
  const [key, slug, shown] = await wrong() ?? [];
  assert.equal(key, undefined, `${where}: ${key}=${slug} is ${shown}, with ${JSON.stringify(choice)}`);
};

const address = (choice) => `?${Object.entries(choice).flatMap(([key, slugs]) => slugs.map((slug) => `${key}=${slug}`)).join('&')}`;

/// The ids of all results, page after page.
const allResults = async (page) => {
  while (await page.locator('#more').isVisible()) await showMore(page);
  const links = await page.locator('#list h3 a').evaluateAll((list) => list.map((link) => link.getAttribute('href').split('/')[2]));
  return links.sort();
};

test('every value alone gives its agents, and the counts beside it are right', () => open('', async (page) => {
  const known = data('bundled');
  await expectCounts(page, known, {}, 'as published');
  const values = await shownCounts(page);
  assert.ok(values.length > 20, 'there are filters');
  for (const [key, slug] of values) {
    const box = page.locator(`input[name="${key}"][value="${slug}"]`);
    const expected = matching(known, { [key]: [slug] });
    await box.check();
    await settled(page, expected.length);
    assert.deepEqual(await allResults(page), expected, `${key}=${slug}`);
    await expectCounts(page, known, { [key]: [slug] }, 'after a click');
    await box.uncheck();
    await settled(page, known.agents.length);
  }
}));

const COMBINATIONS = [
  { os: ['windows'], arch: ['aarch64'] },
  { os: ['macos', 'windows'], arch: ['x86-64'] },
  { os: ['windows'], arch: ['aarch64'], dist: ['binary', 'uvx'], license: ['open'], auth: ['no-key'] },
  { license: ['open', 'none'], dist: ['npx'] },
  { cap: ['session-load', 'session-list'] },
  { cap: ['session-load', 'prompt-image', 'mcp-http'], auth: ['no-key', 'api-key'], os: ['linux', 'unstated'] },
  { auth: ['untested'], protocol: ['untested'] },
  { started: ['answered'], os: ['unstated'], arch: ['x86-64'] },
];

for (const name of ['bundled', 'made-large']) {
  test(`combinations: any within a group, all between groups and among capabilities (${name})`, async () => {
    const known = data(name);
    for (const choice of COMBINATIONS) {
      const expected = matching(known, choice);
      await open(address(choice), async (page) => {
        await settled(page, expected.length);
        if (expected.length < 200) assert.deepEqual(await allResults(page), expected, JSON.stringify(choice));
        await expectCounts(page, known, choice, name);
      }, { name });
    }
  });
}

test('filters and words work together', () => open('?q=code&license=open', async (page) => {
  const known = data('bundled');
  const open_ = new Set(matching(known, { license: ['open'] }));
  const text = (agent) => [agent.name, agent.id, agent.description, ...(agent.authors || [])].join(' ').toLowerCase();
  const expected = known.agents.filter((agent) => open_.has(agent.id) && text(agent).includes('code')).map(({ id }) => id).sort();
  await settled(page, expected.length);
  assert.deepEqual(await allResults(page), expected);
}));

test('the static pages of a value list the same agents', async () => {
  const known = data('bundled');
  for (const [key, slug] of [['os', 'windows'], ['license', 'open'], ['auth', 'no-key'], ['dist', 'npx'], ['cap', 'session-load']]) {
    await open(`${key}/${slug}/`, async (page) => {
      const links = await page.locator('.cards h3 a').evaluateAll((list) => list.map((link) => link.getAttribute('href').split('/').at(-2)));
      assert.deepEqual(links.sort(), matching(known, { [key]: [slug] }), `${key}/${slug}/`);
    });
  }
});

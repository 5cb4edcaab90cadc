// The matrix and its comparison: the address, adding and removing, Back, and what is not an agent.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { open, site, withSites } from './lib/browser.mjs';
import { data } from './lib/trees.mjs';

withSites('bundled', 'hostile', 'made-large');

const names = (page) => page.locator('.versus thead a').allTextContents();
const query = (page) => new URL(page.url()).search;
const said = (page) => page.locator('#said').textContent();

/// Waits until these agents are compared, and no others.
const comparing = async (page, expected) => {
  await page.waitForFunction((wanted) => {
    const shown = [...document.querySelectorAll('.versus thead a')].map((link) => link.textContent);
    return String(shown) === wanted && !document.documentElement.classList.contains('pending');
  }, String(expected));
  assert.equal(await page.locator('#all').isVisible(), expected.length === 0);
};

const cell = (page, label) => page.locator('.versus tr', { has: page.getByRole('rowheader', { name: label, exact: true }) }).locator('td').allTextContents();

test('ids that are not agents are said and change nothing else', () => open('matrix/?ids=gemini,unknown-agent,../../evil,%3Cimg%20src=x%20onerror=alert(1)%3E,CON', async (page) => {
  await comparing(page, ['Gemini CLI']);
  assert.match(await said(page), /Not in this registry: “unknown-agent”, “\.\.\/\.\.\/evil”, “<img src=x onerror=alert\(1\)>”, “CON”\./);
  assert.equal(await page.locator('#compare img').count(), 0);
}, { allow: /404/ }));

test('what no agent is known for is not said of them, and ids that do not fit are counted', () => open('matrix/?ids=goose,agentao,a,b,c,d,e,f', async (page) => {
  await comparing(page, [data('bundled').agents.find(({ id }) => id === 'goose').name, data('bundled').agents.find(({ id }) => id === 'agentao').name]);
  assert.ok(!data('bundled').answers.has('goose') && data('bundled').answers.has('agentao'));
  assert.equal(await page.locator('#none').textContent(), '');
  assert.match(await said(page), /Left out, because 6 fit: 2 more\./);
  assert.equal((await cell(page, 'Systems'))[1], 'Any, by npx or uvx');
}, { allow: /404/ }));

test('without an agent in the address the whole matrix stays', async () => {
  for (const address of ['matrix/?ids=', 'matrix/?ids=,,', 'matrix/?ids=unknown-agent', 'matrix/?other=1']) {
    await open(address, async (page) => {
      await comparing(page, []);
      assert.ok(await page.locator('.matrix').isVisible(), address);
    }, { allow: /404/ });
  }
});

test('a page that cannot be loaded is said, and loaded again later', () => open('matrix/', async (page) => {
  await page.route('**/agents/goose/', (route) => route.abort());
  await page.goto(`${site().url}matrix/?ids=gemini,goose`);
  await comparing(page, ['Gemini CLI']);
  assert.match(await said(page), /Could not be loaded: “goose”\./);
  await page.unroute('**/agents/goose/');
  await page.locator('#whole').click();
  await page.goBack();
  await comparing(page, ['Gemini CLI', 'goose']);
}, { allow: /ERR_FAILED/ }));

test('what is awaited is said in place of the whole matrix', () => open('matrix/', async (page) => {
  await page.clock.install();
  const held = [];
  await page.route('**/agents/{gemini,goose}/', (route) => held.push(route));
  await page.goto(`${site().url}matrix/?ids=gemini,goose`);
  await page.waitForFunction(() => document.getElementById('said').textContent === 'Loading 2 agents…');
  await page.clock.fastForward(10_000);
  assert.ok(!await page.locator('#all').isVisible());
  while (held.length < 2) await page.waitForTimeout(20);
  await held[0].continue();
  await held[1].abort('timedout');
  await comparing(page, ['Gemini CLI']);
  assert.match(await said(page), /^1 agent compared.* Could not be loaded: “goose”\.$/);
}, { allow: /TIMED_OUT/ }));

test('a list of agents that cannot be loaded makes no agent unknown', () => open('matrix/', async (page) => {
  await page.route('**/catalog.*.json', (route) => route.abort());
  await page.locator('#add').fill('goose');
  await page.keyboard.press('Enter');
  await page.waitForFunction(() => document.getElementById('said').textContent === 'The list of agents could not be loaded.');
  await page.unroute('**/catalog.*.json');
  await page.keyboard.press('Enter');
  await comparing(page, ['goose']);
}, { allow: /ERR_FAILED/ }));

test('licence, sign-in and capabilities are those of the agents', () => open('matrix/?ids=claude-acp,gemini', async (page) => {
  await comparing(page, ['Claude Agent', 'Gemini CLI']);
  const { agents, answers } = data('bundled');
  const of = (id) => agents.find((agent) => agent.id === id);
  assert.deepEqual(await cell(page, 'Licence, as stated'), [of('claude-acp').license, of('gemini').license]);
  assert.deepEqual(await cell(page, 'Version'), [of('claude-acp').version, of('gemini').version]);
  assert.deepEqual(await cell(page, 'Runs as'), ['npx (needs Node.js)', 'npx (needs Node.js)']);
  for (const [at, id] of ['claude-acp', 'gemini'].entries()) {
    const shown = (await cell(page, 'Sign-in'))[at];
    for (const { name } of answers.get(id).auth_methods) assert.ok(shown.includes(name), `${id}: ${name}`);
  }
  // Neither agent has it, so that there is no row for it.
  assert.deepEqual(await cell(page, 'Inject'), []);
  assert.match(await page.locator('#none').textContent(), /Proposals: Inject/);
  assert.deepEqual(await cell(page, 'Images'), ['Tested', 'Tested']);
}));

test('agents are added by name, removed, and Back undoes both', () => open('matrix/', async (page) => {
  const add = async (text) => { await page.locator('#add').fill(text); await page.keyboard.press('Enter'); };
  await add('no such name');
  await page.waitForFunction(() => /No agent is called/.test(document.getElementById('said').textContent));
  await add('cli');
  await page.waitForFunction(() => /Several agents match “cli”/.test(document.getElementById('said').textContent));
  assert.equal(query(page), '');
  await add('Gemini CLI');
  await comparing(page, ['Gemini CLI']);
  assert.equal(query(page), '?ids=gemini');
  await add('goose');
  await comparing(page, ['Gemini CLI', 'goose']);
  await add('goose');
  await comparing(page, ['Gemini CLI', 'goose']);
  assert.match(await page.title(), /^Gemini CLI, goose/);
  await page.getByRole('button', { name: 'Remove Gemini CLI' }).click();
  await comparing(page, ['goose']);
  // The button that had the focus is gone.
  assert.equal(await page.evaluate(() => document.activeElement.id), 'add');
  await page.goBack();
  await comparing(page, ['Gemini CLI', 'goose']);
  await page.goBack();
  await comparing(page, ['Gemini CLI']);
  await page.goBack();
  await comparing(page, []);
  assert.equal(await page.locator('h1').textContent(), 'What agents can do');
  await page.goForward();
  await comparing(page, ['Gemini CLI']);
}));

test('rows that are ticked are compared, six at most', () => open('matrix/', async (page) => {
  assert.ok(!await page.locator('#go').isVisible());
  const boxes = page.locator('.matrix input');
  for (let at = 0; at < 6; at++) await boxes.nth(at).check();
  assert.ok(await boxes.nth(6).isDisabled());
  await boxes.nth(5).uncheck();
  assert.ok(!await boxes.nth(6).isDisabled());
  const wanted = (await page.locator('.matrix tbody a').allTextContents()).slice(0, 5);
  await page.getByRole('button', { name: 'Compare 5 agents' }).click();
  await comparing(page, wanted);
}));

test('an agent leads to its comparison', () => open('agents/goose/', async (page) => {
  await page.getByRole('link', { name: 'Compare with others' }).click();
  await comparing(page, ['goose']);
  assert.equal((await cell(page, 'Load')).length, 0);
}));

test('hostile names stay text', () => open('matrix/?ids=hostile-markup,hostile-rtl', async (page) => {
  await page.waitForFunction(() => document.querySelectorAll('.versus thead a').length === 2);
  const { agents } = data('hostile');
  assert.ok((await names(page)).every((name) => agents.some((agent) => agent.name.startsWith(name.replace(/…$/, '')) || /[\u202a-\u202e]/.test(agent.name))));
  assert.equal(await page.locator('#compare img, #compare script, #compare svg').count(), 0);
}, { name: 'hostile' }));

test('agents of other pages of a large matrix are found', () => open('matrix/', async (page) => {
  await page.locator('#add').fill('amber-lantern-00000');
  await page.keyboard.press('Enter');
  await comparing(page, ['Amber Lantern 00000']);
  await page.locator('#add').fill('lantern');
  await page.waitForFunction(() => document.querySelectorAll('#names option').length === 20);
}, { name: 'made-large' }));

test('without JavaScript the matrix is whole', () => open('matrix/?ids=gemini', async (page) => {
  assert.ok(await page.locator('.matrix').isVisible());
  for (const selector of ['#pick', '#go', '.matrix input']) assert.ok(!await page.locator(selector).first().isVisible(), selector);
}, { javaScriptEnabled: false }));

test('every mark has its state as text, and the matrix fits a desktop window', () => open('matrix/', async (page) => {
  const texts = new Set(await page.locator('.matrix td > span').allTextContents());
  for (const text of texts) assert.ok(['Tested', 'Announced', 'Needs sign-in', 'Failed', 'Not announced', 'Not known'].includes(text), text);
  const width = await page.locator('.matrix').evaluate((table) => table.scrollWidth);
  assert.ok(width <= 1150, `${width} px`);
  const head = page.locator('.matrix thead');
  await page.evaluate(() => document.querySelector('.matrix tbody tr:nth-child(5)').scrollIntoView({ block: 'start' }));
  const below = await page.locator('header.top').evaluate((part) => part.getBoundingClientRect().bottom);
  assert.ok(await head.evaluate((part, top) => Math.abs(part.getBoundingClientRect().top - top) < 2, below), 'the head stays in sight');
}, { viewport: { width: 1280, height: 600 } }));

test('the last column of the matrix is whole at 1,200 px', () => open('matrix/', async (page) => {
  const [whole, shown] = await page.locator('.wide').evaluate((part) => [part.scrollWidth, part.clientWidth]);
  assert.ok(whole <= shown, `${whole} of ${shown} px`);
}, { viewport: { width: 1200, height: 800 } }));

// The shade is the background of the part that scrolls: cells without a colour of their own let it through.
for (const [what, address, part] of [['matrix', 'matrix/', '.wide'], ['comparison', 'matrix/?ids=gemini,goose,claude-acp', '#chosen']]) {
  test(`a shade says that a ${what} goes on beyond the edge of a phone`, () => open(address, async (page) => {
    await page.locator(`${part} tbody td`).first().waitFor();
    const looks = await page.locator(part).evaluate((element) => ({
      scrolls: element.scrollWidth > element.clientWidth,
      shade: getComputedStyle(element).backgroundImage.split('linear-gradient').length - 1,
      cells: [...new Set([...element.querySelectorAll('tbody td')].map((cell) => getComputedStyle(cell).backgroundColor))],
    }));
    assert.deepEqual(looks, { scrolls: true, shade: 2, cells: ['rgba(0, 0, 0, 0)'] });
  }, { viewport: { width: 390, height: 844 } }));
}

test('names stay in sight on a phone', () => open('matrix/', async (page) => {
  await page.locator('.wide').evaluate((part) => part.scrollTo(400, 0));
  const left = await page.locator('.matrix tbody th').first().evaluate((name) => name.getBoundingClientRect().left);
  assert.ok(left >= 0 && left < 40, `${left} px`);
}, { viewport: { width: 390, height: 844 } }));

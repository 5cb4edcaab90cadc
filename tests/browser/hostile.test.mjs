// A registry that wishes the reader ill.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { answered, open, site, withSites } from './lib/browser.mjs';
import { HOSTILE } from './lib/registries.mjs';
import { data, pages } from './lib/trees.mjs';

withSites('hostile');
const name = 'hostile';

/// The counts of the questions, whose width the script keeps.
const OWN = '[data-is] > small';

/// Elements and attributes that no page has for itself.
const intruders = (page) => page.evaluate((own) => [...document.querySelectorAll('*')].filter((element) => (
  ['IFRAME', 'OBJECT', 'EMBED', 'B', 'I', 'STYLE'].includes(element.tagName)
  || (element.tagName === 'IMG' && element.getAttribute('src') === 'x')
  || (element.tagName === 'SCRIPT' && !element.src && element.type !== 'application/ld+json')
  || [...element.attributes].some(({ name: key, value }) => key.startsWith('on') || (key === 'style' && !element.matches(own)) || /^\s*javascript:/i.test(value))
)).map((element) => element.outerHTML.slice(0, 100)), OWN);

test('texts stay texts on every page, and the pages stay as wide as the window', async () => {
  for (const viewport of [{ width: 1280, height: 900 }, { width: 320, height: 640 }]) {
    await open('', async (page) => {
      for (const address of pages(name).filter((path) => !path.startsWith('docs/'))) {
        await page.goto(site(name).url + address);
        assert.deepEqual(await intruders(page), [], address);
        const [scroll, inner] = await page.evaluate(() => [document.documentElement.scrollWidth, innerWidth]);
        assert.ok(scroll <= inner, `${address}: ${scroll} px in a window of ${inner} px`);
      }
    }, { name, viewport, allow: /404/ });
  }
});

test('names are shown as they are, without what is invisible', () => open('?sort=name', async (page) => {
  await answered(page);
  const shown = await page.locator('#list h3 a').allTextContents();
  assert.equal(shown.length, data(name).agents.length);
  for (const key of ['markup', 'script', 'template', 'comment']) assert.ok(shown.some((text) => HOSTILE[key].startsWith(text.replace(/…$/, ''))), key);
  assert.ok(shown.every((text) => !/[\u202a-\u202e\u2066-\u2069\u200e\u200f]/.test(text)), shown.join());
  assert.ok(shown.every((text) => [...text].length <= 81));
  assert.deepEqual(await intruders(page), []);
}, { name }));

test('right-to-left names keep to their own place', () => open('agents/hostile-rtl/', async (page) => {
  assert.equal(await page.locator('h1').evaluate((title) => getComputedStyle(title).direction), 'rtl');
  assert.equal(await page.locator('pre').first().evaluate((text) => getComputedStyle(text).direction), 'ltr');
  assert.equal(await page.locator('h2').first().evaluate((title) => getComputedStyle(title).direction), 'ltr');
}, { name }));

test('what is typed is as harmless as what is read', () => open(`?q=${encodeURIComponent(HOSTILE.script)}&os=${encodeURIComponent('"><b>')}`, async (page) => {
  await answered(page);
  assert.equal(await page.locator('#q').inputValue(), HOSTILE.script);
  assert.deepEqual(await page.locator('#list h3 a').allTextContents(), [HOSTILE.script]);
  assert.deepEqual(await intruders(page), []);
}, { name }));

test('hostile settings are copied whole', () => open('agents/hostile-template/#zed', async (page) => {
  const texts = await page.locator('#zed pre code').allTextContents();
  const args = texts.map((text) => JSON.parse(text)).flatMap(({ agent_servers: servers }) => Object.values(servers).flatMap((server) => server.args || []));
  assert.ok(args.includes(HOSTILE.template) && args.includes('it\'s') && args.includes('a"b') && args.includes('\\'), args.join(' | '));
}, { name }));

test('an icon opened directly runs nothing', () => open('hostile-markup.svg', async (page) => {
  assert.equal(await page.evaluate(() => document.documentElement.localName), 'svg');
  const policy = await page.evaluate(async () => (await fetch(location.href).catch(() => null))?.headers.get('content-security-policy') ?? 'blocked');
  assert.equal(policy, 'blocked');
}, { name, allow: /Content Security Policy|Blocked script execution|violation: connect-src/ }));

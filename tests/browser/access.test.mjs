// axe finds nothing on any type of page, in any of the ways to look at it.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import { createRequire } from 'node:module';
import { test } from 'node:test';
import { answered, open, site, withSites } from './lib/browser.mjs';
import { pageTemplates, pageTypes } from './lib/trees.mjs';

withSites('bundled', 'hostile');

const AXE = fs.readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

/// The rules that the colours decide.
const COLOURS = { type: 'rule', values: ['color-contrast', 'link-in-text-block'] };
const ALL = { type: 'tag', values: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'] };

const violations = async (page, context, rules = ALL) => {
  // The policy of the page stops scripts that a page adds; the debugger's own are not the page's.
  const session = await context.newCDPSession(page);
  await session.send('Runtime.evaluate', { expression: AXE });
  await session.detach();
  return page.evaluate(async (runOnly) => {
    for (const part of document.querySelectorAll('details')) part.open = true;
    const { violations: found } = await globalThis.axe.run(document, { runOnly });
    return found.flatMap(({ id, nodes }) => nodes.map((node) => `${id}: ${node.html.slice(0, 120)} ${node.failureSummary.split('\n').at(-1).trim()}`));
  }, rules);
};

/// The options of a context, and the rules whose results depend on them.
const MODES = {
  light: [{ colorScheme: 'light' }, ALL],
  dark: [{ colorScheme: 'dark' }, COLOURS],
  'at 320 px': [{ viewport: { width: 320, height: 640 }, hasTouch: true }, ALL],
  'in forced colours': [{ forcedColors: 'active' }, COLOURS],
};
const STATES = ['?q=code&os=linux', '?q=qqqxxx', '?sort=name-desc&cap=session-load'];

for (const [mode, [options, rules]] of Object.entries(MODES)) {
  test(`no page has a barrier, ${mode}`, async () => {
    // Colours come from the styles, which all guides share.
    const addresses = [...(rules === COLOURS ? pageTemplates : pageTypes)('bundled'), ...STATES];
    assert.ok(addresses.length >= 12);
    await open('', async (page, context) => {
      for (const address of addresses) {
        await page.goto(site().url + address);
        await answered(page);
        if (mode === 'at 320 px' && await page.locator('#toggle').isVisible()) await page.locator('#toggle').click();
        assert.deepEqual(await violations(page, context, rules), [], address);
      }
    }, options);
  });
}

test('no page of hostile texts has a barrier', async () => {
  await open('', async (page, context) => {
    for (const address of ['', 'all/1/', 'matrix/', 'agents/hostile-markup/', 'agents/hostile-rtl/', 'agents/hostile-spaceless/']) {
      await page.goto(site('hostile').url + address);
      assert.deepEqual(await violations(page, context), [], address);
    }
  }, { name: 'hostile' });
});

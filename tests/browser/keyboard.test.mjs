// Everything by keyboard alone, and where the focus goes.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { cards, count, open, settled, showMore, site, withSites } from './lib/browser.mjs';
import { matching } from './lib/facets.mjs';
import { LARGE, data, pageTypes } from './lib/trees.mjs';

withSites('bundled', 'made-61', 'made-large');

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

test('arrows lead from the words to the results, and from card to card', () => open('', async (page) => {
  const at = () => page.evaluate(() => [...document.querySelectorAll('#list .card')].indexOf(document.activeElement.closest('.card')));
  await page.locator('#q').focus();
  for (const [key, card] of [['ArrowDown', 0], ['ArrowDown', 1], ['ArrowDown', 2], ['ArrowUp', 1], ['ArrowUp', 0]]) {
    await page.keyboard.press(key);
    assert.equal(await at(), card, key);
  }
  await page.keyboard.press('ArrowUp');
  assert.equal(await focused(page), 'q');
  // In the words, and elsewhere, arrows do what they always do.
  await page.keyboard.press('ArrowUp');
  assert.equal(await focused(page), 'q');
}));

test('arrows choose the words of an input method while it composes', () => open('', async (page) => {
  await page.locator('#q').focus();
  const stays = await page.evaluate(() => {
    const press = (isComposing) => document.activeElement.dispatchEvent(new KeyboardEvent('keydown', { key: 'ArrowDown', bubbles: true, cancelable: true, isComposing }));
    return [press(true), document.activeElement.id, press(false)];
  });
  assert.deepEqual(stays, [true, 'q', false]);
}));

test('on a phone, Tab goes through a page from its top to its end', () => open('agents/goose/', async (page) => {
  await page.setViewportSize({ width: 390, height: 844 });
  const [setup, facts] = await page.evaluate(() => ['.setup', 'aside'].map((part) => document.querySelector(part).getBoundingClientRect().top));
  assert.ok(setup < facts);
  assert.ok(await page.evaluate(() => Boolean(document.querySelector('.setup').compareDocumentPosition(document.querySelector('aside')) & Node.DOCUMENT_POSITION_FOLLOWING)));
}));

test('words that nothing has can be taken back', () => open('?q=zzzzqqqq', async (page) => {
  await settled(page, 0);
  const offer = page.locator('#offers button');
  assert.deepEqual(await offer.allTextContents(), [`${data('bundled').agents.length} without “zzzzqqqq”`]);
  await offer.click();
  await settled(page, data('bundled').agents.length);
  assert.equal(await page.locator('#q').inputValue(), '');
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

test('Control and K go to the search of every page', () => open('', async (page) => {
  for (const address of pageTypes('bundled')) {
    await page.goto(site().url + address);
    await page.keyboard.press('Control+k');
    assert.equal(await focused(page), 'q', address);
    assert.ok(await page.locator('#q').isVisible(), address);
  }
}));

test('the search of any page leads to its results', () => open('agents/goose/', async (page) => {
  await page.keyboard.press('Control+k');
  await page.keyboard.type('cline');
  await page.keyboard.press('Enter');
  await page.waitForURL(`${site().url}?q=cline`);
  await page.waitForFunction(() => document.querySelector('#list h3')?.textContent === 'Cline');
  assert.equal(await page.locator('#q').inputValue(), 'cline');
}));

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
  const total = data('made-61').agents.length;
  await page.locator('#more').focus();
  await page.keyboard.press('Enter');
  await page.waitForFunction(() => document.activeElement.closest('#list'));
  const names = await cards(page);
  assert.equal(names.length, Math.min(48, total));
  assert.equal(new Set(names).size, names.length, 'no agent is there twice');
  assert.equal(await focused(page), names[24]);
  assert.deepEqual(await count(page), { shown: names.length, total });
}, { name: 'made-61' }));

test('"show more" shows more when the box was only looked at', () => open('', async (page) => {
  await page.locator('#q').focus();
  await page.waitForLoadState('networkidle');
  await showMore(page);
  assert.equal(await focused(page), (await cards(page))[24]);
}, { name: 'made-61' }));

test('who types after "show more" is not called back', () => open('', async (page) => {
  await showMore(page);
  for (const wait of [0, 10, 20, 35, 50]) {
    await page.locator('#q').fill('');
    await settled(page, LARGE);
    await page.locator('#more').click();
    await page.keyboard.press('Control+k');
    await page.waitForTimeout(wait);
    await page.keyboard.type('amber', { delay: 15 });
    const all = `24 of ${LARGE.toLocaleString('en', { useGrouping: 'min2' })}`;
    await page.waitForFunction((all) => {
      const { textContent } = document.getElementById('count');
      return textContent.startsWith('24 of ') && !textContent.startsWith(all);
    }, all);
    assert.equal(await page.locator('#q').inputValue(), 'amber', `after ${wait} ms`);
    assert.equal(await page.evaluate(() => document.activeElement.id), 'q');
  }
}, { name: 'made-large' }));

test('"show more" right after a filter adds to what the filter gives', () => open('', async (page) => {
  const { length } = matching(data('made-large'), { dist: ['npx'] });
  await showMore(page);
  const lengths = await page.evaluate(async (start) => {
    const [seen, list] = [new Set(), document.getElementById('list')];
    new MutationObserver(() => seen.add(list.children.length)).observe(list, { childList: true });
    document.querySelector('input[value="npx"]').click();
    document.getElementById('more').click();
    while (!document.getElementById('count').textContent.startsWith(start)) await new Promise((next) => { setTimeout(next, 20); });
    return [...seen];
  }, `48 of ${length}`);
  // The list had 48, then has the first 24 of the filter, and is added to.
  assert.ok(lengths.includes(24) && Math.max(...lengths) === 48, String(lengths));
  const names = await cards(page);
  assert.equal(new Set(names).size, 48);
  assert.equal(await count(page).then(({ shown }) => shown), 48);
}, { name: 'made-large' }));

test('the skip link takes nothing away', () => open('', async (page) => {
  await showMore(page);
  const before = await cards(page);
  await page.locator('.skip').focus();
  await page.keyboard.press('Enter');
  await page.waitForTimeout(300);
  assert.deepEqual(await cards(page), before);
}, { name: 'made-61' }));

test('"show more" goes after the last agent', () => open('', async (page) => {
  for (const shown of [48, 61]) {
    await page.locator('#more').click();
    await page.waitForFunction((n) => document.querySelectorAll('#list .card').length === n, shown);
  }
  await page.waitForFunction(() => document.activeElement.closest('#list'));
  assert.ok(!await page.locator('#more').isVisible());
  assert.equal(await focused(page), (await cards(page))[48]);
}, { name: 'made-61' }));

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

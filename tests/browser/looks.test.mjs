// Themes, print, narrow windows, large text, and pages that hold still; with `SCREENSHOTS`, pictures for people.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { answered, open, site, withSites } from './lib/browser.mjs';
import { fonts } from './lib/fonts.mjs';
import { screenshots } from './lib/paths.mjs';
import { PIECES } from './lib/server.mjs';
import { pageTemplates, pageTypes } from './lib/trees.mjs';

withSites('bundled', 'made-large');

const background = (page) => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
const isDark = async (page) => (await background(page)).match(/\d+/g).slice(0, 3).every((part) => Number(part) < 80);

test('the theme follows the system, or the choice, which is kept', () => open('', async (page) => {
  await page.emulateMedia({ colorScheme: 'dark' });
  assert.ok(await isDark(page));
  await page.emulateMedia({ colorScheme: 'light' });
  assert.ok(!await isDark(page));
  await page.locator('#theme').selectOption('dark');
  assert.ok(await isDark(page));
  for (const address of ['agents/goose/', 'matrix/', '']) {
    await page.goto(site().url + address);
    assert.ok(await isDark(page), address);
    assert.equal(await page.locator('#theme').inputValue(), 'dark');
  }
  await page.emulateMedia({ colorScheme: 'dark' });
  await page.locator('#theme').selectOption('light');
  assert.ok(!await isDark(page));
  await page.locator('#theme').selectOption('');
  assert.ok(await isDark(page));
}));

test('the theme is there before the first paint', () => open('', async (page) => {
  await page.evaluate(() => localStorage.setItem('theme', 'dark'));
  await page.route('**/search.*', (route) => setTimeout(() => route.continue(), 500));
  const loading = page.reload();
  await page.waitForFunction(() => document.querySelector('h1'));
  assert.ok(await isDark(page));
  await loading;
}));

test('icons can be seen in both themes', () => open('', async (page) => {
  const filter = () => page.locator('#list .icon').first().evaluate((icon) => getComputedStyle(icon).filter);
  await page.locator('#theme').selectOption('dark');
  assert.equal(await filter(), 'invert(1)');
  await page.locator('#theme').selectOption('light');
  assert.equal(await filter(), 'invert(0)');
}));

/// What is wider than the window, or cut off by it.
const outside = (page) => page.evaluate(() => {
  const { scrollWidth } = document.documentElement;
  const cut = [...document.querySelectorAll('h1, h2, h3, p, dd, li, summary, button, a')].filter((element) => {
    const { left, right } = element.getBoundingClientRect();
    return right > left && (right > innerWidth + 1 || left < -1) && !element.closest('.scroll, pre, .sr, .skip, .leap, .asks, .tabs, .top nav');
  }).map((element) => element.outerHTML.slice(0, 100));
  return scrollWidth > innerWidth ? [`${scrollWidth} px in ${innerWidth} px`, ...cut] : cut;
});

/// What can be clicked and is hard to hit.
const small = (page) => page.evaluate(() => (
  [...document.querySelectorAll('button, select, summary, nav a, fieldset label, .pages a, header a')].filter((element) => {
    const { width, height } = element.getBoundingClientRect();
    return width && (width < 24 || height < 24) && !element.closest('.sr') && !element.matches('.skip, .crumbs a');
  }).map((element) => `${element.outerHTML.slice(0, 90)} ${Math.round(element.getBoundingClientRect().height)} px`)
));

for (const font of fonts) {
  test(`pages fit a window of 320 px, also with text twice as large, and can be clicked there, in ${font}`, () => open('', async (page, context) => {
    const session = await context.newCDPSession(page);
    const zoom = (width, deviceScaleFactor) => session.send('Emulation.setDeviceMetricsOverride', { width, height: 640, deviceScaleFactor, mobile: false });
    for (const address of [...pageTypes('bundled'), '?q=code&os=linux']) {
      await zoom(320, 1);
      await page.goto(site().url + address);
      assert.deepEqual(await small(page), [], address);
      await page.evaluate(() => {
        for (const part of document.querySelectorAll('details')) part.open = true;
        document.getElementById('toggle')?.setAttribute('aria-expanded', 'true');
      });
      assert.deepEqual(await outside(page), [], address);
      // Text is enlarged in a window of 640 px, while the page is open.
      await zoom(640, 1);
      await zoom(320, 2);
      assert.deepEqual(await page.evaluate(() => [innerWidth, devicePixelRatio]), [320, 2]);
      assert.deepEqual(await outside(page), [], `${address}, with text twice as large`);
    }
  }, { font }));
}

/// Which of these cover another one, and which cannot be clicked.
const covered = (page) => page.evaluate(() => {
  const parts = ['toggle', 'count', 'clear', 'sort'].map((id) => document.getElementById(id)).filter((part) => part.checkVisibility());
  const places = parts.map((part) => {
    const range = document.createRange();
    range.selectNodeContents(part);
    return (part.matches('p') ? range : part).getBoundingClientRect();
  });
  return parts.filter((part, at) => {
    const one = places[at];
    const meets = (other) => other !== one && one.left < other.right && other.left < one.right && one.top < other.bottom && other.top < one.bottom;
    return places.some(meets) || !part.contains(document.elementFromPoint((one.left + one.right) / 2, (one.top + one.bottom) / 2));
  }).map((part) => part.id);
});

for (const font of fonts) {
  test(`no control covers the number of results, however wide the window and large the text, in ${font}`, () => open('?q=code&license=open', async (page) => {
    await answered(page);
    for (const fontSize of [16, 24]) for (const width of [320, 375, 479, 481, 768, 959, 961, 1280]) {
      await page.setViewportSize({ width, height: 900 });
      await page.evaluate((size) => {
        document.documentElement.style.fontSize = `${size}px`;
        document.getElementById('toggle').lastElementChild.textContent = ' (12)';
        document.getElementById('count').scrollIntoView({ block: 'center' });
      }, fontSize);
      assert.deepEqual(await covered(page), [], `${width} px, text of ${fontSize} px`);
      assert.deepEqual(await outside(page), [], `${width} px, text of ${fontSize} px`);
    }
  }, { font }));
}

test('paper gets the content and nothing to press', () => open('agents/goose/', async (page) => {
  await page.emulateMedia({ media: 'print' });
  for (const selector of ['.top', 'footer', '.copy', '.skip']) assert.ok(!await page.locator(selector).first().isVisible(), selector);
  assert.ok(await page.locator('h1').isVisible() && await page.locator('#zed pre').first().isVisible());
  const text = await page.locator('#zed pre').first().evaluate((element) => [element.scrollWidth, element.clientWidth]);
  assert.ok(text[0] <= text[1] + 1, 'settings are not cut off');
  await page.goto(`${site().url}matrix/`);
  assert.ok(await page.locator('.wide').evaluate((part) => getComputedStyle(part).overflowX === 'visible'), 'the table is not cut off');
  const pdf = await page.pdf({ format: 'A4' });
  assert.ok(pdf.length > 5000);
}));

test('paper is light in every theme', () => open('agents/goose/', async (page) => {
  for (const colorScheme of ['light', 'dark']) {
    for (const theme of ['', 'light', 'dark']) {
      await page.emulateMedia({ media: 'screen', colorScheme });
      await page.locator('#theme').selectOption(theme);
      await page.emulateMedia({ media: 'print', colorScheme });
      const style = (selector, key) => page.locator(selector).first().evaluate((element, name) => getComputedStyle(element)[name], key);
      const parts = (colour) => colour.match(/\d+/g).slice(0, 3).map(Number);
      const what = `${colorScheme}, ${theme}`;
      assert.ok(parts(await style('h1', 'color')).every((part) => part < 80), what);
      assert.ok(parts(await style('pre', 'backgroundColor')).every((part) => part > 200), what);
      assert.equal(await style('.title .icon', 'filter'), 'invert(0)', what);
    }
  }
}));

test('forced colours keep edges, and icons on a plate', () => open('', async (page) => {
  const style = (selector, key) => page.locator(selector).first().evaluate((element, name) => getComputedStyle(element)[name], key);
  assert.equal(await style('#list .icon', 'filter'), 'none');
  assert.equal(await style('#list .icon', 'backgroundColor'), 'rgb(255, 255, 255)');
  assert.notEqual(await style('#list .card', 'borderTopWidth'), '0px');
}, { forcedColors: 'active' }));

test('transitions are short, and absent for those who wish less motion', async () => {
  const longest = (page) => page.evaluate(() => Math.max(...[...document.querySelectorAll('*')].map((element) => {
    const { transitionDuration, animationName } = getComputedStyle(element);
    return animationName === 'none' ? Math.max(...transitionDuration.split(',').map(parseFloat)) : Infinity;
  })));
  for (const [reducedMotion, least, most] of [['reduce', 0, 0], ['no-preference', 0.05, 0.2]]) {
    await open('', async (page) => {
      for (const address of pageTypes('bundled')) {
        await page.goto(site().url + address);
        const seconds = await longest(page);
        assert.ok(seconds >= least && seconds <= most, `${address}, ${reducedMotion}: ${seconds} s`);
      }
    }, { reducedMotion });
  }
});

/// Counts how far the page moves while it loads, and says what moved.
const watchShift = (page) => page.addInitScript(() => {
  globalThis.shift = 0;
  globalThis.moved = [];
  const nameOf = ({ node }) => (node?.outerHTML ?? node?.parentElement?.outerHTML ?? '').slice(0, 60);
  new PerformanceObserver((list) => {
    for (const entry of list.getEntries()) {
      globalThis.shift += entry.value;
      globalThis.moved.push(...entry.sources.map(nameOf));
    }
  }).observe({ type: 'layout-shift', buffered: true });
});

const holdsStill = async (page, address) => {
  await page.waitForTimeout(150);
  const { shift, moved } = await page.evaluate(() => ({ shift: globalThis.shift, moved: globalThis.moved }));
  assert.ok(shift <= 0.02, `${address} at ${page.viewportSize().width} px: layout shift ${shift} of ${moved.join(', ')}`);
};

test('tables hold still while their rows arrive', async () => {
  for (const viewport of [{ width: 1280, height: 900 }, { width: 360, height: 740 }]) {
    await open('', async (page) => {
      await watchShift(page);
      for (const address of ['examined/', 'matrix/']) {
        await page.goto(site().url + address);
        await holdsStill(page, address);
      }
    }, { viewport, extraHTTPHeaders: { [PIECES]: '1500' } });
  }
});

for (const font of fonts) {
  test(`pages hold still while they load, in ${font}`, async () => {
    const addresses = [...pageTemplates('bundled'), '?q=code', '?q=open+source+windows', '?os=windows&arch=aarch64&license=open'];
    const trees = font === 'noto' ? ['bundled', 'made-large'] : ['bundled'];
    for (const viewport of [{ width: 1280, height: 900 }, { width: 360, height: 740 }]) {
      for (const name of trees) {
        await open('', async (page) => {
          await watchShift(page);
          for (const address of name === 'bundled' ? addresses : ['', '?q=code', '?q=gemini', '?os=windows&license=open']) {
            await page.goto(site(name).url + address);
            await answered(page);
            await holdsStill(page, `${name} ${address}`);
          }
        }, { name, font, viewport });
      }
    }
  });
}

for (const [size, viewport] of Object.entries({ desktop: { width: 1280, height: 900 }, phone: { width: 390, height: 844 } })) {
  for (const colorScheme of ['light', 'dark']) {
    test(`pictures, ${size}, ${colorScheme}`, { skip: !process.env.SCREENSHOTS }, async () => {
      fs.mkdirSync(screenshots, { recursive: true });
      await open('', async (page) => {
        for (const [title, address] of Object.entries({ home: '', filtered: '?q=code&license=open', agent: 'agents/goose/', matrix: 'matrix/', docs: 'docs/', guide: 'docs/user/', rules: 'docs/rules/' })) {
          await page.goto(site().url + address);
          await page.waitForLoadState('networkidle');
          const file = path.join(screenshots, `${title}-${size}-${colorScheme}.png`);
          await page.screenshot({ path: file });
          assert.ok(fs.statSync(file).size > 5000);
          if (['agent', 'home', 'guide'].includes(title)) await page.screenshot({ path: file.replace('.png', '-whole.png'), fullPage: true });
        }
      }, { viewport, colorScheme });
    });
  }
}

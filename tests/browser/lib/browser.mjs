// Pages of a tree in the browser. Whatever a page should never do is found at the end of every test.
import assert from 'node:assert/strict';
import { after, before } from 'node:test';
import { chromium as playwright } from 'playwright-core';
import { FLAGS, chromium } from './chromium.mjs';
import { environment } from './fonts.mjs';
import { serve } from './server.mjs';

const browsers = new Map();
const servers = new Map();

/// The browser with this default font, which is started once.
const start = (font) => {
  if (!browsers.has(font)) browsers.set(font, playwright.launch({ executablePath: chromium(), args: FLAGS, env: environment(font) }));
  return browsers.get(font);
};

/// Starts a server for each tree, for the tests of this file.
export const withSites = (...names) => {
  before(async () => {
    for (const name of names) servers.set(name, await serve(name));
  });
  after(async () => {
    for (const browser of browsers.values()) await (await browser).close();
    for (const server of servers.values()) await server.close();
  });
};

export const site = (name = 'bundled') => servers.get(name);

/// Opens a page in a context of its own, gives it to `use`, and then looks at what it has done: no message on the console, no
/// error, no violation of the policy, no request to another host. `allow` is a pattern of messages that are meant; `font` is the
/// default font.
export const open = async (address, use, { name = 'bundled', allow, font, ...options } = {}) => {
  const { url } = site(name);
  const context = await (await start(font)).newContext({ viewport: { width: 1280, height: 900 }, ...options });
  context.setDefaultTimeout(300_000);
  const wrong = [];
  const note = (text) => { if (!allow?.test(text)) wrong.push(text); };
  try {
    await context.addInitScript(() => {
      globalThis.violations = [];
      addEventListener('securitypolicyviolation', (event) => globalThis.violations.push(`${event.violatedDirective} ${event.blockedURI}`));
    });
    context.on('request', (request) => {
      if (!request.url().startsWith(new URL(url).origin)) note(`request to ${request.url()}`);
    });
    context.on('page', (page) => {
      page.on('console', (message) => note(`console ${message.type()}: ${message.text()} ${message.location().url}`));
      page.on('pageerror', (error) => note(`error: ${error.message}`));
      page.on('dialog', (dialog) => { note(`dialog: ${dialog.message()}`); dialog.dismiss(); });
    });
    const page = await context.newPage();
    await page.goto(url + address);
    const result = await use(page, context);
    if (!page.isClosed() && options.javaScriptEnabled !== false) {
      for (const violation of await page.evaluate(() => globalThis.violations)) note(`violation: ${violation}`);
    }
    assert.deepEqual(wrong, [], address);
    return result;
  } finally {
    await context.close();
  }
};

/// The names of the agents that are shown.
export const cards = (page) => page.locator('#list .card h3 a').allTextContents();

/// Waits until these agents are shown, and no others.
export const showing = async (page, ids) => {
  const links = page.locator('#list h3 a');
  const shown = () => links.evaluateAll((list) => list.map((link) => link.getAttribute('href').split('/')[2]));
  for (const end = Date.now() + 60_000; Date.now() < end && String(await shown()) !== String(ids);) await page.waitForTimeout(20);
  assert.deepEqual(await shown(), ids);
};

/// Waits until the names of the agents that are shown are as `test` wants them.
export const named = async (page, test) => {
  const limit = Date.now() + 60_000;
  let names = await cards(page);
  while (!test(names) && Date.now() < limit) { await page.waitForTimeout(20); names = await cards(page); }
  assert.ok(test(names), `${test}: ${names}`);
};

/// What the page says of its results: how many are shown, and of how many.
export const count = async (page) => {
  const [, shown, total] = (await page.locator('#count').textContent()).replaceAll(',', '').match(/^(?:(\d+) of )?(\d+) agent/);
  return { shown: Number(shown ?? total), total: Number(total) };
};

/// Waits until the page shows the answer to the query in its address. A home page that awaits its catalog has an empty count.
export const answered = (page) => page.waitForFunction(() => (
  !document.documentElement.classList.contains('pending') && document.getElementById('count')?.textContent !== ''
));

/// Waits until a search has been answered with this many agents.
export const settled = async (page, expected) => {
  await page.waitForFunction((total) => {
    const numbers = document.getElementById('count').textContent.match(/^(?:[\d,]+ of )?(\d{1,4}|\d{1,3}(?:,\d{3})+) agent/);
    return numbers && +numbers[1].replaceAll(',', '') === total && !document.documentElement.classList.contains('pending');
  }, expected);
};

/// Asks for more results, and waits until they are there.
export const showMore = async (page) => {
  const { shown } = await count(page);
  await page.locator('#more').click();
  await page.waitForFunction((before) => Number(document.getElementById('count').textContent.match(/\d+/)) > before, shown);
};

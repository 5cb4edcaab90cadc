// How long a page takes to answer, with 10,000 agents, on this machine and on one a quarter as fast.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { open, withSites } from './lib/browser.mjs';
import { timed } from './lib/budget.mjs';

withSites('made-10000');

const interact = async (page) => {
  const box = page.locator('#q');
  const pause = () => page.waitForTimeout(250);
  await box.click();
  await pause();
  for (const letter of 'amber') { await page.keyboard.press(letter); await page.waitForTimeout(60); }
  await pause();
  for (let step = 0; step < 5; step++) { await page.keyboard.press('Backspace'); await page.waitForTimeout(60); }
  await pause();
  for (const letter of 'lantren') { await page.keyboard.press(letter); await page.waitForTimeout(60); }
  await pause();
  await box.fill('');
  await pause();
  for (const value of ['linux', 'open', 'npx', 'session-load']) {
    await page.locator(`#groups input[value="${value}"]`).click();
    await pause();
  }
  await page.locator('#more').click();
  await pause();
  await page.locator('#sort').selectOption('name-desc');
  await pause();
  await page.locator('#clear').click();
  await pause();
};

for (const [rate, limit] of [[1, 100], [4, 200]]) {
  test(`the worst interaction at ${rate}× slower`, (context) => open('', async (page) => {
    const session = await page.context().newCDPSession(page);
    await session.send('Emulation.setCPUThrottlingRate', { rate });
    await page.evaluate(() => {
      globalThis.durations = [];
      new PerformanceObserver((list) => {
        for (const entry of list.getEntries()) if (entry.interactionId) globalThis.durations.push([entry.duration, entry.name]);
      }).observe({ type: 'event', durationThreshold: 16, buffered: true });
    });
    await interact(page);
    const [durations, interactions] = await page.evaluate(() => [globalThis.durations, performance.interactionCount ?? 0]);
    durations.sort(([a], [b]) => b - a);
    assert.ok(durations.length > 0 || interactions > 20, 'interactions were seen');
    const [worst, name] = durations[0] || [16, 'any'];
    timed(context, `worst of ${interactions} interactions at ${rate}× slower CPU, ms (${name})`, worst, limit);
  }, { name: 'made-10000' }));
}

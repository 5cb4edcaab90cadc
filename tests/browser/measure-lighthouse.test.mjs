// Lighthouse, as on a phone. What it says of access, practices and search engines is the same everywhere; its opinion of speed
// is not.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { launch } from 'chrome-launcher';
import lighthouse from 'lighthouse';
import { FLAGS, chromium } from './lib/chromium.mjs';
import { fixed, isStrict, timed } from './lib/budget.mjs';
import { environment } from './lib/fonts.mjs';
import { serve } from './lib/server.mjs';

const PAGES = { home: '', 'a filtered link': '?q=code&os=linux', 'an agent': 'agents/AGENT/', 'the matrix': 'matrix/' };
const TREES = isStrict ? ['bundled', 'made-large'] : ['bundled'];

for (const name of TREES) {
  for (const [title, page] of Object.entries(PAGES)) {
    test(`Lighthouse, ${name}: ${title}`, { timeout: 180_000 }, async (context) => {
      const server = await serve(name);
      const browser = await launch({ chromePath: chromium(), chromeFlags: ['--headless', ...FLAGS], envVars: environment(), logLevel: 'silent' });
      try {
        const agent = name === 'bundled' ? 'goose' : 'amber-lantern-00000';
        const run = async () => {
          const { lhr } = await lighthouse(server.url + page.replace('AGENT', agent), { port: browser.port, output: 'json', logLevel: 'silent' });
          return lhr;
        };
        let report = await run();
        // Once more, should something else have kept the machine busy.
        if (isStrict && report.categories.performance.score < 0.95) report = await run();
        const score = (key) => Math.round(report.categories[key].score * 100);
        for (const key of ['accessibility', 'best-practices', 'seo']) {
          const missed = report.categories[key].auditRefs.filter(({ id, weight }) => weight && report.audits[id].score !== null && report.audits[id].score < 1);
          assert.deepEqual(missed.map(({ id }) => `${id}: ${report.audits[id].displayValue || report.audits[id].title}`), [], key);
          assert.equal(score(key), 100, key);
        }
        const figure = (id) => report.audits[id].numericValue;
        context.diagnostic(`scores ${['performance', 'accessibility', 'best-practices', 'seo'].map(score).join('/')}, `
          + `FCP ${Math.round(figure('first-contentful-paint'))} ms, LCP ${Math.round(figure('largest-contentful-paint'))} ms, TBT ${Math.round(figure('total-blocking-time'))} ms`);
        timed(context, 'performance', score('performance'), 95, score('performance') >= 95);
        fixed(context, 'layout shift', Number(figure('cumulative-layout-shift').toFixed(3)), 0.05);
        const requests = report.audits['network-requests'].details.items;
        const blocking = requests.filter(({ resourceType, priority }) => ['Document', 'Stylesheet'].includes(resourceType) || (resourceType === 'Script' && priority !== 'Low'));
        fixed(context, `requests before the first paint (${requests.length} in all)`, blocking.length, 4);
      } finally {
        await browser.kill();
        await server.close();
      }
    });
  }
}

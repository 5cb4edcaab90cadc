// What the tree says to programs: valid HTML, feeds, site map, search description, and links that lead somewhere.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { XMLParser, XMLValidator } from 'fast-xml-parser';
import { HtmlValidate } from 'html-validate';
import { parseHeaders } from './lib/server.mjs';
import { BASE, data, pageTypes, pages, tree } from './lib/trees.mjs';

const read = (name, file) => fs.readFileSync(path.join(tree(name), file), 'utf8');
const file = (page) => (page.endsWith('.html') ? page : `${page}index.html`);

const files = (name, ending) => fs.readdirSync(tree(name), { recursive: true }).map((item) => item.split(path.sep).join('/')).filter((item) => item.endsWith(ending));

const xml = (text, where) => {
  assert.equal(XMLValidator.validate(text), true, where);
  return new XMLParser({ ignoreAttributes: false, isArray: (tag) => ['url', 'entry', 'link', 'Url'].includes(tag) }).parse(text);
};

test('every type of page is valid HTML', async () => {
  const validator = new HtmlValidate({
    extends: ['html-validate:standard'],
    rules: {
      // Written without spaces and in lines of any length, because it is not read as text.
      'no-trailing-whitespace': 'off', 'long-title': 'off',
      // One kind of quotes and of empty elements, but not this tool's.
      'void-style': 'off', 'no-inline-style': 'error', 'doctype-style': 'off',
      // A script with a digest in its name, from the same host.
      'require-sri': 'off',
    },
  });
  for (const name of ['bundled', 'hostile', 'made-1', 'made-large']) {
    for (const page of pageTypes(name)) {
      const report = await validator.validateString(read(name, file(page)));
      const found = report.results.flatMap(({ messages }) => messages.map(({ ruleId, message, line, column }) => `${line}:${column} ${ruleId}: ${message}`));
      assert.deepEqual([...new Set(found)].slice(0, 10), [], `${name}: ${page}`);
    }
  }
});

const unescape = (text) => text.replace(/&#(\d+);/g, (_, code) => String.fromCodePoint(code)).replace(/&amp;/g, '&');

test('every link inside leads to a file that is there, and to a place in it', () => {
  for (const name of ['bundled', 'hostile', 'made-61']) {
    const ids = new Map();
    const idsOf = (target) => {
      if (!ids.has(target)) ids.set(target, new Set([...read(name, target).matchAll(/ id="([^"]*)"/g)].map(([, id]) => id)));
      return ids.get(target);
    };
    const there = new Set(fs.readdirSync(tree(name), { recursive: true }).map((item) => item.split(path.sep).join('/')));
    let seen = 0;
    for (const page of pages(name)) {
      const html = read(name, file(page));
      for (const [, link] of html.matchAll(/ (?:href|src)="([^"]*)"/g)) {
        const url = new URL(unescape(link), `${BASE}/${page}`);
        if (!url.href.startsWith(`${BASE}/`)) continue;
        seen += 1;
        const inside = decodeURIComponent(url.href.slice(BASE.length + 1).split(/[?#]/)[0]);
        const target = inside === '' || inside.endsWith('/') ? `${inside}index.html` : inside;
        assert.ok(there.has(target), `${name}: ${page} links to ${link}`);
        if (url.hash) assert.ok(idsOf(target).has(url.hash.slice(1)), `${name}: ${page} links to ${link}`);
      }
    }
    assert.ok(seen > 500, name);
  }
});

test('feeds are Atom', () => {
  for (const name of ['bundled', 'hostile']) {
    const feeds = files(name, '.atom');
    const linked = pages(name).flatMap((page) => [...read(name, file(page)).matchAll(/type="application\/atom\+xml"[^>]* href="([^"]*)"/g)].map(([, link]) => link));
    assert.ok(!linked.length || feeds.length);
    for (const item of feeds) {
      const { feed } = xml(read(name, item), item);
      assert.equal(feed['@_xmlns'], 'http://www.w3.org/2005/Atom', item);
      const ids = new Set();
      for (const part of [feed, ...(feed.entry || [])]) {
        assert.ok(part.id && part.title !== undefined, item);
        assert.match(String(part.updated), /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$/, item);
        assert.ok(!ids.has(part.id), `${item}: ${part.id} is there twice`);
        ids.add(part.id);
      }
    }
  }
});

test('the site map names pages that are there', () => {
  for (const name of ['bundled', 'hostile', 'made-61']) {
    const { urlset } = xml(read(name, 'sitemap.xml'), name);
    assert.ok(urlset.url.length >= data(name).agents.length);
    for (const { loc } of urlset.url) {
      assert.ok(loc.startsWith(`${BASE}/`), loc);
      assert.ok(fs.existsSync(path.join(tree(name), loc.slice(BASE.length + 1), 'index.html')), loc);
    }
    assert.ok(read(name, 'robots.txt').includes(`Sitemap: ${BASE}/sitemap.xml`));
  }
});

test('browsers can add the search', () => {
  const { OpenSearchDescription: description } = xml(read('bundled', 'opensearch.xml'), 'opensearch.xml');
  assert.ok(description.ShortName.length <= 16 && description.Description);
  const html = description.Url.find((url) => url['@_type'] === 'text/html');
  assert.equal(html['@_template'], `${BASE}/?q={searchTerms}`);
});

test('data blocks and JSON files parse', () => {
  for (const name of ['bundled', 'hostile']) {
    let blocks = 0;
    for (const page of pages(name)) {
      for (const [, text] of read(name, file(page)).matchAll(/<script type="application\/ld\+json">(.*?)<\/script>/gs)) {
        assert.equal(JSON.parse(text)['@context'], 'https://schema.org', page);
        blocks += 1;
      }
    }
    assert.ok(blocks >= data(name).agents.length);
    for (const item of files(name, '.json')) JSON.parse(read(name, item));
    for (const item of files(name, '.svg')) xml(read(name, item), item);
  }
});

test('hosts that read _headers send the policy, and icons get a stricter one', () => {
  const blocks = parseHeaders(read('bundled', '_headers'));
  const of = (name) => blocks.filter(({ pattern }) => pattern.test(name)).flatMap(({ changes }) => changes);
  const policy = new Map(of('/index.html').filter(([, value]) => value));
  assert.match(policy.get('content-security-policy'), /default-src 'none'.*trusted-types 'none'.*frame-ancestors 'none'/);
  assert.ok(!policy.get('content-security-policy').includes('unsafe'));
  assert.equal(policy.get('x-content-type-options'), 'nosniff');
  assert.match(new Map(of('/goose.svg')).get('content-security-policy'), /sandbox/);
  assert.match(new Map(of('/assets/x.js')).get('cache-control'), /immutable/);
});

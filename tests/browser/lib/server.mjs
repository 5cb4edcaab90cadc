// A static host: brotli, the tree's own `_headers`, and the site below a path, as on hosts of project pages.
import fs from 'node:fs';
import http from 'node:http';
import path from 'node:path';
import zlib from 'node:zlib';
import { SAMPLED, STAND_IN, tree } from './trees.mjs';

const KINDS = {
  html: 'text/html; charset=utf-8', css: 'text/css; charset=utf-8', js: 'text/javascript; charset=utf-8', json: 'application/json',
  svg: 'image/svg+xml', xml: 'application/xml', atom: 'application/atom+xml', md: 'text/markdown; charset=utf-8',
};
const ROOT = '/some/where/';

/// The blocks of a `_headers` file: a pattern of paths, and headers to set or, with `!`, to take away.
export const parseHeaders = (text) => {
  const blocks = [];
  for (const line of text.split('\n')) {
    if (!line.trim()) continue;
    if (!/^\s/.test(line)) {
      const pattern = line.trim().split('*').map((part) => part.replace(/[.+?^${}()|[\]\\]/g, '\\$&')).join('.*');
      blocks.push({ pattern: new RegExp(`^${pattern}$`), changes: [] });
    } else if (line.trim().startsWith('!')) {
      blocks.at(-1).changes.push([line.trim().slice(1).trim().toLowerCase()]);
    } else {
      const at = line.indexOf(':');
      blocks.at(-1).changes.push([line.slice(0, at).trim().toLowerCase(), line.slice(at + 1).trim()]);
    }
  }
  return blocks;
};

const headersOf = (blocks, name) => {
  const headers = new Map();
  for (const { pattern, changes } of blocks) {
    if (!pattern.test(name)) continue;
    for (const [key, value] of changes) if (value === undefined) headers.delete(key); else headers.set(key, value);
  }
  return headers;
};

/// The header of requests for pages that arrive in pieces: how many bytes a piece has.
export const PIECES = 'x-pieces';

const sendPieces = async (response, body, size) => {
  for (let at = 0; at < body.length; at += size) {
    response.write(body.subarray(at, at + size));
    // Longer than a frame, so that the browser paints what it has.
    await new Promise((done) => { setTimeout(done, 50); });
  }
  response.end();
};

/// Serves a tree on a free port of 127.0.0.1. `url` is the address of the home page; `requests` are the paths asked for.
export const serve = async (name) => {
  const folder = tree(name);
  const blocks = parseHeaders(fs.readFileSync(path.join(folder, '_headers'), 'utf8'));
  const compressed = new Map();
  const requests = [];
  const server = http.createServer((request, response) => {
    const { pathname } = new URL(request.url, 'http://x');
    requests.push(pathname);
    const inside = pathname.startsWith(ROOT) ? decodeURIComponent(pathname.slice(ROOT.length)) : undefined;
    let file = inside === undefined || inside.includes('..') ? undefined : path.join(folder, inside);
    if (file && (inside === '' || inside.endsWith('/'))) file = path.join(file, 'index.html');
    if (SAMPLED.has(name) && /^[^/]+\.svg$/.test(inside || '')) file = path.join(folder, STAND_IN);
    const isThere = file && fs.existsSync(file) && fs.statSync(file).isFile();
    if (!isThere) file = path.join(folder, '404.html');
    for (const [key, value] of headersOf(blocks, `/${inside ?? ''}`)) response.setHeader(key, value);
    const ending = path.extname(file).slice(1);
    response.setHeader('content-type', KINDS[ending] || 'text/plain; charset=utf-8');
    if (!response.hasHeader('cache-control')) response.setHeader('cache-control', 'no-cache');
    response.statusCode = isThere ? 200 : 404;
    let body = fs.readFileSync(file);
    const size = Number(request.headers[PIECES]);
    if (size && ending === 'html') {
      sendPieces(response, body, size);
      return;
    }
    if (/\bbr\b/.test(request.headers['accept-encoding'] || '') && body.length > 200) {
      if (!compressed.has(file)) {
        compressed.set(file, zlib.brotliCompressSync(body, { params: { [zlib.constants.BROTLI_PARAM_QUALITY]: 5 } }));
      }
      body = compressed.get(file);
      response.setHeader('content-encoding', 'br');
    }
    response.end(body);
  });
  await new Promise((done) => { server.listen(0, '127.0.0.1', done); });
  const url = `http://127.0.0.1:${server.address().port}${ROOT}`;
  const close = () => new Promise((done) => { server.close(done); server.closeAllConnections(); });
  return { url, requests, close };
};

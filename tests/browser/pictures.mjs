// Makes the pictures of the README: `make pictures`. The catalog of the bundled registry in a browser, and a terminal session
// with a real agent from npm. They are committed, so look at them before you do that.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { chromium as playwright } from 'playwright-core';
import { FLAGS, chromium } from './lib/chromium.mjs';
import { environment } from './lib/fonts.mjs';
import { program, project } from './lib/paths.mjs';
import { serve } from './lib/server.mjs';
import { build } from './lib/trees.mjs';

const images = path.join(project, 'docs/images');

/// What the session shows. Each command runs, in an empty home.
const SESSION = [
  ['search', 'google'],
  ['install', 'gemini'],
  ['doctor', 'gemini'],
  ['run', 'gemini', '--', '--version'],
];
/// The longest time that the recording shows nothing new, and the time that a command is read before its output.
const [IDLE, READ] = [1.5, 0.8];
const COLUMNS = 112;
const [CHARACTER, LINE, MARGIN] = [8.43, 20, 16];
const COLOURS = { 31: '#ff7b72', 32: '#7ee787', 33: '#e3b341', 34: '#79c0ff', 35: '#d2a8ff', 36: '#76e3ea', 90: '#8b949e' };

const escape = (text) => text.replace(/[&<>]/g, (sign) => ({ '&': '&amp;', '<': '&lt;', '>': '&gt;' })[sign]);

/// A line with escape sequences for colours as a text element that appears after some seconds.
const line = ([text, seconds], row) => {
  let style = '';
  const parts = text.split(/\x1b\[([\d;]*)m/);
  const spans = parts.map((part, at) => {
    if (at % 2) {
      const codes = part.split(';').filter((code) => code !== '0' && code !== '');
      const colour = codes.map((code) => COLOURS[code.replace(/^9(\d)$/, '3$1')]).find(Boolean);
      style = `${colour ? ` fill="${colour}"` : ''}${codes.includes('1') ? ' font-weight="bold"' : ''}`;
      return '';
    }
    return part && (style ? `<tspan${style}>${escape(part)}</tspan>` : escape(part));
  });
  const delay = seconds ? ` style="animation-delay:${seconds.toFixed(1)}s"` : '';
  return `<text x="${MARGIN}" y="${MARGIN + 14 + row * LINE}" xml:space="preserve"${delay}>${spans.join('')}</text>`;
};

const wrapped = (text) => {
  const plain = text.replace(/\x1b\[[\d;]*m/g, '');
  return plain.length <= COLUMNS ? [text] : [`${plain.slice(0, COLUMNS - 1)}…`];
};

/// Runs a command, and returns its output in pieces, with the seconds after which each came.
const record = async (words, options) => {
  const child = spawn(program, ['--color', 'always', ...words], { ...options, stdio: ['ignore', 'pipe', 'pipe'] });
  const [started, pieces] = [Date.now(), []];
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text) => pieces.push([(Date.now() - started) / 1000, text]));
  }
  const [code] = await once(child, 'close');
  if (code !== 0) throw new Error(`${words.join(' ')} ended with ${code}: ${pieces.map(([, text]) => text).join('')}`);
  return pieces;
};

const session = async () => {
  const home = fs.mkdtempSync(path.join(os.tmpdir(), 'acp-registry-session-'));
  const { HOME: _, ...env } = process.env;
  const lines = [];
  let now = 0;
  try {
    for (const words of SESSION) {
      lines.push([`\x1b[32m$\x1b[0m \x1b[1macp-registry ${words.join(' ')}\x1b[0m`, now]);
      now += READ;
      const pieces = await record(words, {
        cwd: project,
        env: {
          ...env, HOME: home, npm_config_userconfig: path.join(process.env.HOME, '.npmrc'),
          ACP_REGISTRY_INDEX: 'registry', ACP_REGISTRY_ROOT: path.join(home, 'agents'), COLUMNS: String(COLUMNS),
        },
      });
      let before = 0;
      for (const [seconds, text] of pieces) {
        now += Math.min(seconds - before, IDLE);
        before = seconds;
        // `make` has a uv of its own.
        const output = text.replaceAll(home, '~').replace(/\/\S*\/target\/tools\/uv\/bin/g, '~/.local/bin').replaceAll(project, '.').trimEnd();
        lines.push(...output.split('\n').flatMap(wrapped).map((shown) => [shown, now]));
      }
      lines.push(['', now]);
      now += READ;
    }
  } finally {
    fs.rmSync(home, { recursive: true, force: true });
  }
  const [width, height] = [Math.ceil(COLUMNS * CHARACTER) + 2 * MARGIN, (lines.length - 1) * LINE + 2 * MARGIN];
  const font = 'font-family="ui-monospace, SFMono-Regular, Menlo, Consolas, monospace" font-size="14" fill="#e6edf3"';
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img" aria-label="A terminal session: an agent is found, installed, checked and started">
<style>text{animation:appear 0s both}@keyframes appear{from{opacity:0}}@media(prefers-reduced-motion:reduce){text{animation:none}}</style>
<rect width="${width}" height="${height}" rx="8" fill="#0d1117"/>
<g ${font}>
${lines.map(line).join('\n')}
</g>
</svg>
`;
};

/// The pictures of the catalog: page, width and height of the window, colour schemes.
const PICTURES = {
  catalog: ['', 1200, 800, ['light', 'dark']],
  agent: ['agents/gemini/', 1200, 800, ['light', 'dark']],
  matrix: ['matrix/', 1200, 700, ['light', 'dark']],
  compare: ['matrix/?ids=claude-acp,codex-acp,nanocoder', 1200, 700, ['light', 'dark']],
  editors: ['editors/', 1200, 700, ['light', 'dark']],
  changes: ['changes/', 1200, 700, ['light', 'dark']],
  rules: ['docs/rules/', 1200, 700, ['light', 'dark']],
  guide: ['docs/user/', 1200, 700, ['light', 'dark']],
  phone: ['', 390, 844, ['light']],
  'phone-agent': ['agents/gemini/', 390, 844, ['light']],
};

/// A picture as WebP, which is a third of the size of PNG. The browser converts it.
const webp = async (browser, bytes) => {
  const page = await browser.newPage();
  const address = await page.evaluate(async (source) => {
    const image = new Image();
    image.src = source;
    await image.decode();
    const canvas = new OffscreenCanvas(image.width, image.height);
    canvas.getContext('2d').drawImage(image, 0, 0);
    const blob = await canvas.convertToBlob({ type: 'image/webp', quality: 0.85 });
    return new Promise((done) => { const reader = new FileReader(); reader.onload = () => done(reader.result); reader.readAsDataURL(blob); });
  }, `data:image/png;base64,${bytes.toString('base64')}`);
  await page.close();
  return Buffer.from(address.split(',')[1], 'base64');
};

fs.mkdirSync(images, { recursive: true });
// Without the network, `make pictures SESSION=no` makes the pictures of the catalog only.
if (process.env.SESSION !== 'no') fs.writeFileSync(path.join(images, 'session.svg'), await session());
await build('bundled');
const server = await serve('bundled');
const browser = await playwright.launch({ executablePath: chromium(), args: FLAGS, env: environment() });
for (const [name, [address, width, height, schemes]] of Object.entries(PICTURES)) {
  for (const colorScheme of schemes) {
    const page = await browser.newPage({ viewport: { width, height }, colorScheme });
    await page.goto(`${server.url}${address}`);
    await page.waitForLoadState('networkidle');
    const file = path.join(images, `${name}${schemes.length > 1 ? `-${colorScheme}` : ''}.webp`);
    fs.writeFileSync(file, await webp(browser, await page.screenshot()));
    await page.close();
  }
}
await browser.close();
await server.close();

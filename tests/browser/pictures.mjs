// Makes the pictures of the README: `make pictures`. The catalog of the bundled registry in a browser, and a terminal session
// with a real agent from npm. They are committed, so look at them before you do that.
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { chromium as playwright } from 'playwright-core';
import { FLAGS, chromium } from './lib/chromium.mjs';
import { program, project } from './lib/paths.mjs';
import { serve } from './lib/server.mjs';
import { build } from './lib/trees.mjs';

const images = path.join(project, 'docs/images');

/// What the session shows. Each command runs, in an empty home.
const SESSION = [
  ['search', 'gemini'],
  ['install', 'gemini'],
  ['info', 'gemini'],
  ['update', '--dry-run'],
];
const COLUMNS = 96;
const [CHARACTER, LINE, MARGIN] = [8.43, 20, 16];
const COLOURS = { 31: '#ff7b72', 32: '#7ee787', 33: '#e3b341', 34: '#79c0ff', 35: '#d2a8ff', 36: '#76e3ea', 90: '#8b949e' };

const escape = (text) => text.replace(/[&<>]/g, (sign) => ({ '&': '&amp;', '<': '&lt;', '>': '&gt;' })[sign]);

/// A line with escape sequences for colours as a text element.
const line = (text, row) => {
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
  return `<text x="${MARGIN}" y="${MARGIN + 14 + row * LINE}" xml:space="preserve">${spans.join('')}</text>`;
};

const wrapped = (text) => {
  const plain = text.replace(/\x1b\[[\d;]*m/g, '');
  return plain.length <= COLUMNS ? [text] : [`${plain.slice(0, COLUMNS - 1)}…`];
};

const session = () => {
  const home = fs.mkdtempSync(path.join(os.tmpdir(), 'acp-registry-session-'));
  const { HOME: _, ...env } = process.env;
  const lines = [];
  try {
    for (const words of SESSION) {
      const flags = ['--color', 'always'];
      const { stdout, stderr } = spawnSync(program, [...flags, ...words], {
        cwd: project, encoding: 'utf8',
        env: {
          ...env, HOME: home, npm_config_userconfig: path.join(process.env.HOME, '.npmrc'),
          ACP_REGISTRY_INDEX: 'registry', ACP_REGISTRY_ROOT: path.join(home, 'agents'), COLUMNS: String(COLUMNS),
        },
      });
      lines.push(`\x1b[32m$\x1b[0m \x1b[1macp-registry ${words.join(' ')}\x1b[0m`);
      const output = (stdout + stderr).replaceAll(home, '~').replaceAll(project, '.').trimEnd();
      lines.push(...output.split('\n').flatMap(wrapped), '');
    }
  } finally {
    fs.rmSync(home, { recursive: true, force: true });
  }
  const [width, height] = [Math.ceil(COLUMNS * CHARACTER) + 2 * MARGIN, (lines.length - 1) * LINE + 2 * MARGIN];
  const font = 'font-family="ui-monospace, SFMono-Regular, Menlo, Consolas, monospace" font-size="14" fill="#e6edf3"';
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img" aria-label="A terminal session: an agent is found, installed and described">
<rect width="${width}" height="${height}" rx="8" fill="#0d1117"/>
<g ${font}>
${lines.map(line).join('\n')}
</g>
</svg>
`;
};

fs.mkdirSync(images, { recursive: true });
fs.writeFileSync(path.join(images, 'session.svg'), session());
await build('bundled');
const server = await serve('bundled');
const browser = await playwright.launch({ executablePath: chromium(), args: FLAGS });
for (const colorScheme of ['light', 'dark']) {
  const page = await browser.newPage({ viewport: { width: 1280, height: 800 }, colorScheme });
  await page.goto(`${server.url}/`);
  await page.screenshot({ path: path.join(images, `catalog-${colorScheme}.png`) });
}
await browser.close();
await server.close();

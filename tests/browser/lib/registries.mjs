// Registries to build sites of: the bundled one, and made ones. The same arguments give the same bytes.
import fs from 'node:fs';
import path from 'node:path';
import { project, work } from './paths.mjs';

export const BUNDLED = path.join(project, 'registry');

const ICON = '<svg xmlns="http://www.w3.org/2000/svg" width="16" height="16" viewBox="0 0 16 16">'
  + '<path fill="currentColor" d="M2 2h12v12H2zM5 5v6h6V5z"/></svg>\n';
const PLATFORMS = ['darwin-aarch64', 'darwin-x86_64', 'linux-aarch64', 'linux-x86_64', 'windows-aarch64', 'windows-x86_64'];
const FIRST = 'amber anvil arrow birch bolt cedar cobalt comet coral crane delta drift ember fable falcon fern flint forge frost garnet'.split(' ');
const SECOND = 'lantern meadow needle orchard pebble quarry ribbon saddle timber urchin valley willow yonder zenith harbour island'.split(' ');
const VERBS = 'writes reviews explains refactors tests documents searches plans translates repairs'.split(' ');
const OBJECTS = 'code in the terminal|large repositories|pull requests|old programs|notebooks|shell scripts|web pages|firmware|queries|build files'.split('|');
const LICENSES = ['MIT', 'Apache-2.0', 'proprietary', 'GPL-3.0-or-later', 'BSD-3-Clause', undefined];

const agent = (number, count) => {
  const digits = String(number).padStart(5, '0');
  const [first, second] = [FIRST[number % 20], SECOND[Math.floor(number / 20) % 16]];
  const id = `${first}-${second}-${digits}`;
  const name = count < 100 ? `${first} ${second} ${number}` : `${first} ${second} ${digits}`;
  const title = name.replace(/\b[a-z]/g, (letter) => letter.toUpperCase());
  const version = `${number % 7}.${number % 13}.${number % 29}`;
  const distribution = {};
  if (number % 5 < 2) {
    // Every system is there; the second processor of one is not, for some.
    const platforms = PLATFORMS.filter((_, at) => number % 3 || at !== number % 6);
    distribution.binary = Object.fromEntries(platforms.map((platform) => [platform, {
      archive: `https://dl.example.com/${id}/${version}/${id}-${version}-${platform}.tar.gz`,
      cmd: `./${id}${platform.startsWith('windows') ? '.exe' : ''}`,
      args: ['acp'],
    }]));
  }
  if (number % 5 === 1 || number % 5 === 2 || number % 5 === 3) {
    distribution.npx = { package: `@example/${id}@${version}`, args: ['--acp'], ...(number % 4 ? {} : { env: { EXAMPLE_MODE: 'acp' } }) };
  }
  if (number % 5 === 4) distribution.uvx = { package: `${id}==${version}`, args: ['acp'] };
  const license = LICENSES[number % LICENSES.length];
  return {
    id, name: title, version,
    description: `${title} ${VERBS[number % 10]} ${OBJECTS[Math.floor(number / 10) % 10]} and ${VERBS[(number + 3) % 10]} ${OBJECTS[number % 9]}`,
    repository: `https://github.com/example/${id}`,
    authors: [`${second} works ${number % 97}`],
    ...(license ? { license } : {}),
    ...(license === 'proprietary' ? { license_url: `https://example.com/${id}/licence` } : {}),
    distribution,
  };
};

const AUTH = ['agent', 'terminal', 'env_var'];

const answer = (number, { id, version }) => ({
  id, version, channel: 'stable', verdict: 'pass', checked_at: '2026-11-02T00:00:00Z', protocol_version: 1,
  auth_methods: number % 6 === 5 ? [] : [{ id: 'way', name: 'A way in', type: AUTH[number % 3] }],
  features: Object.fromEntries(['session/load', 'session/list', 'session/resume', 'session/fork', 'prompt/image', 'mcp/http', 'nes', 'fs/hitl-editing']
    .map((feature, at) => [feature, (number + at) % (at + 2) === 0])),
  probes: number % 2 ? {} : { 'session/list': 'auth_required' },
});

const write = (folder, agents, answers, config) => {
  // Files of the same names are written over; others have no place here.
  const ids = new Set(agents.map(({ id }) => id));
  for (const item of fs.existsSync(folder) ? fs.readdirSync(folder) : []) {
    if (!ids.has(item)) fs.rmSync(path.join(folder, item), { recursive: true, force: true });
  }
  for (const one of agents) {
    const place = path.join(folder, one.id);
    fs.mkdirSync(place, { recursive: true });
    fs.writeFileSync(path.join(place, 'agent.json'), JSON.stringify(one, null, 2));
    fs.writeFileSync(path.join(place, 'icon.svg'), ICON);
  }
  fs.mkdirSync(folder, { recursive: true });
  fs.writeFileSync(path.join(folder, 'capabilities.json'), JSON.stringify({ schema: 1, agents: answers }));
  if (config) fs.writeFileSync(path.join(folder, 'registry.toml'), config);
  return folder;
};

/// A registry of `count` agents of all kinds; three of four have been started and asked.
export const made = (count, name = `made-${count}`) => {
  const agents = Array.from({ length: count }, (_, number) => agent(number, count));
  const answers = agents.map((one, number) => answer(number, one)).filter((_, number) => number % 4 !== 3);
  return write(path.join(work, 'registries', name), agents, answers);
};

/// Queries and their results, which the command line's search has, too.
export const VECTORS = JSON.parse(fs.readFileSync(path.join(project, 'tests', 'fixtures', 'search.json'), 'utf8'));

/// The agents of these queries.
export const vectors = () => write(path.join(work, 'registries', 'vectors'), VECTORS.agents, VECTORS.capabilities.agents, '[rules]\n"distribution/missing-os" = "allow"\n');

const LONG = 'extraordinarily-long-word'.repeat(400);

/// Texts that would do harm as markup, or to the look of a page.
export const HOSTILE = {
  markup: '<img src=x onerror=alert(1)><b>bold</b>',
  script: '</script><script>alert(1)</script>',
  attribute: '"><svg onload=alert(1)> \' onclick=\'x',
  template: '{{ 7 * 7 }} ${alert(1)} `x` <%= 1 %>',
  bidi: '\u202egnp.exe\u202c \u2066left\u2069 \u200fright',
  rtl: 'עברית עם עוד מילים، عربي مع كلمات',
  emoji: '👩‍👩‍👧 🇬🇧 e\u0301 ﷽ Z̸̢̛͍a̴l̵g̶o̴',
  comment: ']]><!-- --> <!DOCTYPE x> &amp; &#60;',
  spaceless: LONG.slice(0, 10_000),
  words: 'many words '.repeat(909).trim(),
};

/// A registry of which every text is hostile. The rule against invisible characters is off, so that they come as far as the site.
export const hostile = () => {
  const agents = Object.entries(HOSTILE).map(([key, text]) => ({
    id: `hostile-${key}`, name: text, version: '1.0.0', description: `${text} ${text}`, license: 'MIT',
    authors: [text, `second ${text}`],
    repository: 'https://github.com/example/hostile', website: `https://example.com/${encodeURIComponent(text.slice(0, 100))}/"><script>`,
    distribution: {
      npx: { package: `hostile-${key}@1.0.0`, args: [text.slice(0, 500), 'it\'s', 'a"b', '$(x)', '\\'], env: { EXAMPLE: text.slice(0, 500) } },
      binary: Object.fromEntries(PLATFORMS.map((platform) => [platform, {
        archive: `https://dl.example.com/hostile/1.0.0/${encodeURIComponent(text.slice(0, 40))}-1.0.0.tar.gz`, cmd: './hostile', args: [text.slice(0, 500)],
      }])),
    },
  }));
  const answers = agents.map(({ id }) => ({
    id, version: '<b>1', protocol_version: 1, verdict: 'pass', checked_at: '2026-11-02T00:00:00Z',
    auth_methods: [{ id: 'x', name: HOSTILE.script, type: '<i>' }], features: { 'session/load': true, '<u>': true }, probes: {},
  }));
  return write(path.join(work, 'registries', 'hostile'), agents, answers, '[rules]\n"manifest/text-control-characters" = "allow"\n');
};

// Filters, counted the slow and plain way from what the registry publishes.

const OPEN = /^(MIT|Apache-2\.0|GPL-3\.0(-only|-or-later)?|AGPL-3\.0(-only|-or-later)?|LGPL-.*|BSD-[23]-Clause|MPL-2\.0|ISC)$/;
const SYSTEMS = { macos: 'darwin', linux: 'linux', windows: 'windows' };
const PROCESSORS = { aarch64: 'aarch64', 'x86-64': 'x86_64' };
const license = (text) => {
  if (!text) return 'none';
  if (OPEN.test(text)) return 'open';
  if (/^(proprietary|LicenseRef-.*)$/i.test(text)) return 'proprietary';
  throw new Error(`teach the test what kind of licence ${text} is`);
};

const namesKey = (text) => /\bapi ?keys?\b/i.test(`${text}`.replace(/[-_:]/g, ' '));
const auth = (row) => {
  if (!row) return ['untested'];
  const kinds = row.auth_methods.map(({ type, id, name }) => (type === 'env_var' || namesKey(id) || namesKey(name) ? 'api-key' : 'no-key'));
  const opens = row.probes['session/new'] === 'ok' ? ['not-needed'] : [];
  if (kinds.length) return [...kinds, ...opens];
  return opens.length ? ['no-key', ...opens] : ['none'];
};

// The checks of features that are examined without proposals.
const CHECKS = {
  'session/load': ['sessions/load', 'turns/load'],
  'session/list': ['sessions/list'],
  'session/resume': ['sessions/resume', 'turns/resume'],
  'session/close': ['sessions/close'],
  'session/delete': ['sessions/delete'],
  'session/fork': ['sessions/fork'],
  'prompt/image': ['turns/images'],
  'prompt/embedded-context': ['turns/embedded-context'],
  'mcp/http': ['turns/mcp-http'],
};

const isRefuted = (row, feature) => (row.examination?.checks || [])
  .some(({ id, result, message }) => ['fail', 'warning'].includes(result) && (CHECKS[feature] || []).includes(id)
    && (feature !== 'mcp/http' || /if it has an HTTP MCP server|does not send `initialize` to the HTTP/.test(message)));

const hasCapability = (row, slug) => {
  if (!row) return false;
  const feature = slug.replace('-', '/');
  // Announced, but not there when asked.
  const method = { providers: 'providers/list', nes: 'nes/start' }[feature] || feature;
  return row.features[feature] === true && row.probes?.[method] !== 'method_not_found' && !isRefuted(row, feature);
};

// Packages state no systems: they run on any.
const isOnPlatform = ({ distribution }, os, arch) => {
  const platforms = Object.keys(distribution.binary || {});
  const hasPackage = Boolean(distribution.npx || distribution.uvx);
  return hasPackage || (!os.length && !arch.length) || platforms.some((platform) => {
    const [system, processor] = platform.split('-');
    return (!os.length || os.some((slug) => (SYSTEMS[slug] || slug) === system))
      && (!arch.length || arch.some((slug) => PROCESSORS[slug] === processor));
  });
};

const started = (row, silent) => {
  if (row) return 'answered';
  if (!silent) return 'untested';
  return silent.checked_at ? 'silent' : 'failed';
};

const LEVELS = ['handshake', 'protocol', 'sessions', 'turns', 'drafts'];

/// The levels that an agent was examined at and keeps, and whether it fails a check.
const tested = (row) => {
  if (!row?.examination) return ['untested'];
  const { level, reached, checks } = row.examination;
  const rank = (level) => LEVELS.indexOf(level);
  const isCut = ({ message }) => /^(the examination exceeded its time limit|the machine was too busy)/.test(message || '');
  const isMissed = (check) => check.force === 'must' && (check.result === 'fail' || isCut(check));
  const keeps = (level) => rank(reached) >= rank(level)
    && !checks.some((check) => isMissed(check) && rank(check.id.split('/')[0]) <= rank(level));
  const asked = (check) => check.force === 'must' && rank(check.id.split('/')[0]) <= rank(level);
  const fails = checks.some((check) => asked(check) && check.result === 'fail');
  const unmet = fails ? ['failed'] : keeps(level) ? [] : ['incomplete'];
  return [...LEVELS.slice(1).filter(keeps), ...unmet];
};

/// The ids of the agents that a choice leaves. `choice` has lists of slugs by group.
export const matching = ({ agents, answers, silent }, choice) => {
  const wanted = (key) => choice[key] || [];
  const any = (key, has) => !wanted(key).length || wanted(key).some(has);
  return agents.filter((agent) => {
    const row = answers.get(agent.id);
    return isOnPlatform(agent, wanted('os'), wanted('arch'))
      && any('dist', (slug) => agent.distribution[slug])
      && any('license', (slug) => license(agent.license) === slug)
      && any('auth', (slug) => auth(row).includes(slug))
      && any('started', (slug) => started(row, silent.get(agent.id)) === slug)
      && any('tested', (slug) => tested(row || silent.get(agent.id)).includes(slug))
      && any('protocol', (slug) => (row?.protocol_version ? `v${row.protocol_version}` : 'untested') === slug)
      && wanted('cap').every((slug) => hasCapability(row, slug));
  }).map(({ id }) => id).sort();
};

/// How many agents a value would leave: instead of its group's choice, or for capabilities in addition to it.
export const countOf = (data, choice, key, slug) => {
  const next = key === 'cap' ? [...new Set([...(choice.cap || []), slug])] : [slug];
  return matching(data, { ...choice, [key]: next }).length;
};

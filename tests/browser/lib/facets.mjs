// Filters, counted the slow and plain way from what the registry publishes.

const OPEN = /^(MIT|Apache-2\.0|GPL-3\.0(-only|-or-later)?|AGPL-3\.0(-only|-or-later)?|LGPL-.*|BSD-[23]-Clause|MPL-2\.0|ISC)$/;
const SYSTEMS = { macos: 'darwin', linux: 'linux', windows: 'windows' };
const PROCESSORS = { aarch64: 'aarch64', 'x86-64': 'x86_64' };
const ALL = ['darwin', 'linux', 'windows'].flatMap((os) => ['aarch64', 'x86_64'].map((arch) => `${os}-${arch}`));

const license = (text) => {
  if (!text) return 'none';
  if (OPEN.test(text)) return 'open';
  if (/^(proprietary|LicenseRef-.*)$/i.test(text)) return 'proprietary';
  throw new Error(`teach the test what kind of licence ${text} is`);
};

const auth = (row) => {
  if (!row) return ['untested'];
  const kinds = row.auth_methods.map(({ type }) => ({ agent: 'agent', terminal: 'terminal', env_var: 'env-var' })[type] || 'other');
  return kinds.length ? kinds : ['none'];
};

const hasCapability = (row, slug) => {
  if (!row) return false;
  const feature = slug.replace('-', '/');
  // Announced, but not there when asked.
  return row.features[feature] === true && row.probes?.[feature] !== 'method_not_found';
};

const isOnPlatform = ({ distribution }, os, arch) => ALL.some((platform) => {
  const isThere = distribution.npx || distribution.uvx || distribution.binary?.[platform];
  const [system, processor] = platform.split('-');
  return isThere && (!os.length || os.some((slug) => SYSTEMS[slug] === system))
    && (!arch.length || arch.some((slug) => PROCESSORS[slug] === processor));
});

/// The ids of the agents that a choice leaves. `choice` has lists of slugs by group.
export const matching = ({ agents, answers }, choice) => {
  const wanted = (key) => choice[key] || [];
  const any = (key, has) => !wanted(key).length || wanted(key).some(has);
  return agents.filter((agent) => {
    const row = answers.get(agent.id);
    return isOnPlatform(agent, wanted('os'), wanted('arch'))
      && any('dist', (slug) => agent.distribution[slug])
      && any('license', (slug) => license(agent.license) === slug)
      && any('auth', (slug) => auth(row).includes(slug))
      && any('protocol', (slug) => (row?.protocol_version ? `v${row.protocol_version}` : 'untested') === slug)
      && wanted('cap').every((slug) => hasCapability(row, slug));
  }).map(({ id }) => id).sort();
};

/// How many agents a value would leave: instead of its group's choice, or for capabilities in addition to it.
export const countOf = (data, choice, key, slug) => {
  const next = key === 'cap' ? [...new Set([...(choice.cap || []), slug])] : [slug];
  return matching(data, { ...choice, [key]: next }).length;
};

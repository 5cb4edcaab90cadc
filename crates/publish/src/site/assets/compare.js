// Compares the agents that the address names: `?ids=a,b`. What it shows of an agent comes from the agent's own page, so
// that every agent of a large registry can be compared.
(() => {
  'use strict';
  const MOST = 6;
  const PROVEN = 'Proven';
  // How long a page may take, in milliseconds.
  const PATIENCE = 30_000;
  const STATES = ['tested', 'announced', 'auth', 'failed', 'no', 'none'];
  const at = (id) => document.getElementById(id);
  const part = at('compare'), { root, catalog } = part.dataset;
  const form = at('pick'), box = at('add'), said = at('said'), chosen = at('chosen'), none = at('none'), go = at('go');
  const table = chosen.firstElementChild, ticks = [...at('all').querySelectorAll('input')];
  const heading = at('title').textContent, { title } = document;
  const pages = new Map();
  let ids = [], over = 0, asked = 0, names;

  const count = (n) => `${n} ${n === 1 ? 'agent' : 'agents'}`;
  const make = (name, text, set) => Object.assign(document.createElement(name), { textContent: text }, set);

  // ---- agents

  const facts = (page) => ({
    name: page.querySelector('h1').textContent,
    groups: [
      ['', page.querySelectorAll('.facts [data-c]')],
      [PROVEN, page.querySelectorAll('.proofs > div')],
      ...[...page.querySelectorAll('.caps > div')].map((group) => [group.firstElementChild.textContent, group.querySelectorAll('dl > div')]),
    ].map(([name, rows]) => [name, [...rows].map((row) => [
      row.firstElementChild.textContent, row.lastElementChild.textContent, STATES.find((state) => row.classList.contains(state)),
    ])]),
  });

  // The facts of an agent; `null` if there is no such agent, `undefined` if that is not known.
  const load = (id) => {
    if (!/^[a-z][a-z0-9-]{0,99}$/.test(id)) return null;
    if (!pages.has(id)) {
      pages.set(id, new Promise((done) => {
        const request = new XMLHttpRequest();
        const fail = () => { pages.delete(id); done(undefined); };
        request.open('GET', `${root}agents/${id}/`);
        request.responseType = 'document';
        request.onload = () => {
          if (request.response?.querySelector('.facts')) done(facts(request.response));
          else if (request.status === 404 || request.status === 200) done(null);
          else fail();
        };
        request.timeout = PATIENCE;
        request.onerror = request.ontimeout = fail;
        request.send();
      }));
    }
    return pages.get(id);
  };

  // ---- table

  const head = (agents) => {
    const row = document.createElement('tr');
    row.append(make('td', ''));
    for (const [id, { name }] of agents) {
      const cell = make('th', '', { scope: 'col', width: `${Math.floor(85 / agents.length)}%` });
      const button = make('button', 'Remove', { type: 'button', ariaLabel: `Remove ${name}` });
      button.addEventListener('click', () => { turn(ids.filter((other) => other !== id)); box.focus(); });
      cell.append(make('a', name, { href: `${root}agents/${id}/`, dir: 'auto' }), button);
      row.append(cell);
    }
    const section = document.createElement('thead');
    section.append(row);
    return section;
  };

  // A body for each group. Returns the labels of the capabilities that none of the agents has.
  const bodies = (agents) => {
    const labels = new Map(), without = [], sections = [];
    for (const [, { groups }] of agents) for (const [group, rows] of groups) {
      if (!labels.has(group)) labels.set(group, new Set());
      for (const [label] of rows) labels.get(group).add(label);
    }
    for (const [group, wanted] of labels) {
      const section = document.createElement('tbody');
      const row = document.createElement('tr');
      if (group) {
        row.append(make('th', group, { scope: 'rowgroup', colSpan: agents.length + 1 }));
        section.append(row);
      }
      for (const label of wanted) {
        const cells = agents.map(([, { groups }]) => {
          const found = groups.find(([name]) => name === group)?.[1].find(([name]) => name === label);
          return found || [label, group ? 'Not known' : label === 'Systems' ? 'Any, by npx or uvx' : '–', group && 'none'];
        });
        if (group && group !== PROVEN && cells.every(([, , state]) => state === 'no')) {
          without.push(`${group}: ${label}`);
          continue;
        }
        const row = document.createElement('tr');
        row.append(make('th', label, { scope: 'row' }), ...cells.map(([, text, state]) => make('td', text, { className: state || '' })));
        row.classList.toggle('same', cells.every(([, text]) => text === cells[0][1]));
        section.append(row);
      }
      const rows = [...section.querySelectorAll('tr:not(:has([scope=rowgroup]))')];
      section.classList.toggle('same', rows.every((row) => row.classList.contains('same')));
      if (rows.length) sections.push(section);
    }
    return [sections, without];
  };

  const show = async () => {
    const mine = ++asked;
    if (ids.length) {
      said.textContent = `Loading ${count(ids.length)}…`;
      at('all').hidden = true;
    }
    const loaded = await Promise.all(ids.map(async (id) => [id, await load(id)]));
    if (mine !== asked) return;
    const agents = loaded.filter(([, agent]) => agent);
    const list = (wanted) => loaded.filter(([, agent]) => agent === wanted).map(([id]) => `“${id.slice(0, 80)}”`).join(', ');
    const unknown = list(null), failed = list(undefined);
    said.textContent = [
      agents.length && `${count(agents.length)} compared; add ${agents.length === 1 ? 'one' : 'another'} by name.`,
      unknown && `Not in this registry: ${unknown}.`,
      failed && `Could not be loaded: ${failed}.`,
      over && `Left out, because ${MOST} fit: ${over} more.`,
    ].filter(Boolean).join(' ');
    const [sections, without] = bodies(agents);
    table.replaceChildren(head(agents), ...sections);
    none.textContent = without.length ? `None of them announces: ${without.join(', ')}.` : '';
    chosen.hidden = !agents.length;
    at('all').hidden = agents.length > 0;
    at('whole').hidden = !ids.length;
    at('differ').parentElement.hidden = agents.length < 2;
    at('title').textContent = agents.length ? 'Compare agents' : heading;
    document.title = agents.length ? `${agents.map(([, { name }]) => name).join(', ')} – compared` : title;
    // What was chosen before this script came stays.
    if (ids.length || mine > 1) for (const tick of ticks) tick.checked = ids.includes(tick.value);
    offer();
    document.documentElement.classList.remove('pending');
  };

  // ---- choice

  const read = () => {
    const text = new URLSearchParams(location.search).get('ids') || '';
    ids = [...new Set(text.split(',').map((id) => id.trim()).filter(Boolean))];
    over = ids.splice(MOST).length;
    show();
  };

  const turn = (next) => {
    const query = next.slice(0, MOST).join(',');
    const address = location.pathname + (query ? `?ids=${query}` : '');
    if (address !== location.pathname + location.search) history.pushState(null, '', address);
    read();
  };

  const offer = () => {
    const n = ticks.filter((tick) => tick.checked).length;
    go.hidden = !n;
    go.textContent = `Compare ${count(n)}`;
    for (const tick of ticks) tick.disabled = n >= MOST && !tick.checked;
  };

  // Ids and names of all agents.
  const json = (answer) => { if (!answer.ok) throw new Error(answer.status); return answer.json(); };
  const loadNames = () => names ||= fetch(catalog, { signal: AbortSignal.timeout(PATIENCE) }).then(json).then(({ id, name }) => (
    id.map((one, i) => [one, name[i] || one.replaceAll('-', ' ')])
  )).catch((error) => { names = undefined; throw error; });

  const matching = async (text) => {
    const wanted = text.trim().toLowerCase();
    const all = await loadNames();
    const exact = all.find(([id, name]) => id === wanted || name.toLowerCase() === wanted);
    return exact ? [exact] : all.filter(([id, name]) => id.includes(wanted) || name.toLowerCase().includes(wanted));
  };

  const suggest = async () => {
    const mine = box.value;
    const found = await matching(mine).catch(() => []);
    if (mine === box.value) at('names').replaceChildren(...found.slice(0, 20).map(([id, name]) => make('option', '', { value: name, label: id })));
  };

  box.addEventListener('focus', suggest);
  box.addEventListener('input', suggest);
  form.addEventListener('submit', async (event) => {
    event.preventDefault();
    const text = box.value.trim();
    if (!text) return;
    said.textContent = 'Loading the list of agents…';
    const matches = await matching(text).catch(() => null);
    const [found, second] = matches || [];
    if (!matches) said.textContent = 'The list of agents could not be loaded.';
    else if (!found || second) said.textContent = `${found ? 'Several agents match' : 'No agent is called'} “${text}”.`;
    else if (ids.length >= MOST) said.textContent = `${MOST} agents are compared at most; remove one first.`;
    else { box.value = ''; turn([...new Set([...ids, found[0]])]); }
  });
  at('whole').addEventListener('click', (event) => {
    if (event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    turn([]);
  });
  at('all').addEventListener('change', offer);
  go.addEventListener('click', () => { turn(ticks.filter((tick) => tick.checked).map((tick) => tick.value)); at('title').scrollIntoView(); });
  at('differ').addEventListener('change', ({ target }) => { table.classList.toggle('differ', target.checked); });
  addEventListener('popstate', read);
  read();
})();

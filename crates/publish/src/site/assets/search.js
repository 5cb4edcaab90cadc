// Search and filters of the home page. The URL holds the state: typing replaces the history entry, other changes add
// one.
(() => {
  'use strict';
  const at = (id) => document.getElementById(id);
  const root = document.documentElement;
  const form = at('search'), box = at('q'), sort = at('sort'), list = at('list'), count = at('count'), live = at('live');
  const more = at('more'), clear = at('clear'), nothing = at('nothing'), done = at('done'), read = at('read'), template = at('card').content;
  const plain = sort.options[0].textContent, toggle = at('toggle'), results = list.parentElement;
  const STEP = Math.max(24, list.children.length);
  const FEW = 5;

  const groups = [...form.querySelectorAll('fieldset')].map((set) => ({
    title: set.firstElementChild.firstChild.data,
    column: +set.dataset.column,
    all: 'all' in set.dataset,
    want: 0,
    values: [...set.querySelectorAll('input')].map((input) => ({
      input, bits: +input.dataset.bits, label: input.nextElementSibling.textContent, n: 0,
      out: input.parentElement.lastElementChild, ask: form.querySelector(`[data-is="${input.name}=${input.value}"]`),
    })),
  }));
  const values = groups.flatMap((group) => group.values);
  // No filter leaves more agents than there are: with the width of the first counts, buttons do not wrap anew.
  for (const { ask } of values) if (ask) ask.lastElementChild.style.minWidth = `${ask.lastElementChild.textContent.length}ch`;
  const columns = [...new Set(groups.map((group) => group.column))];

  let data, fold, parse, rank, WHOLE, UNKNOWN, loading, found = [], near = [], scores, shown = 0, similar = false, editor = '', asked = 0, work, speak;

  // The results of the initial query are not announced to screen readers.
  const quiet = location.search[1] ? 1 : 0;

  // Lets the page handle events. With `draw`, also waits for the next frame, unless the page is hidden and draws
  // none.
  const rest = (draw) => new Promise((next) => {
    if (draw && !document.hidden) requestAnimationFrame(() => setTimeout(next)); else setTimeout(next);
  });

  const pieces = async (list, size, use, draw) => {
    for (let i = 0; i < list.length; i++) {
      if (i && i % size === 0) await rest(draw);
      use(list[i], i);
    }
  };

  const text = () => box.value.trim();

  // ---- catalog

  const load = () => loading ||= Promise.all([fetch(form.dataset.catalog), import(new URL(form.dataset.rank, document.baseURI))]).then(async ([answer, { open, ...levels }]) => {
    if (!answer.ok) throw new Error(answer.status);
    const json = await answer.json();
    ({ fold, parse, rank } = await open(json, pieces));
    ({ WHOLE, UNKNOWN } = levels);
    data = json;
  }).catch((error) => {
    loading = undefined;
    throw error;
  });

  // ---- filters

  const passes = (bits, column) => {
    let one = -1;
    return groups.every((group) => group.column !== column || !group.want
      || (group.all ? (bits & group.want) === group.want : bits & (one &= group.want)));
  };

  // Selects the agents that pass all filters, and counts the agents that each value would leave.
  const filter = (ranks, least) => {
    const kept = [];
    near = [];
    for (const group of groups) {
      group.others = -1;
      for (const other of groups) if (other !== group && other.column === group.column && other.want && !other.all) group.others &= other.want;
      for (const value of group.values) value.n = 0;
    }
    const used = columns.filter((column) => groups.some((group) => group.column === column && group.want));
    for (let i = 0; i < ranks.length; i++) {
      if (ranks[i] < least || !ranks[i]) continue;
      let failed = -1, fails = 0;
      for (const column of used) if (!passes(data.bits[column][i], column)) { failed = column; if (++fails > 1) break; }
      if (fails > 1) continue;
      if (fails) near.push([i, failed]); else kept.push(i);
      for (const group of groups) {
        if (fails && group.column !== failed) continue;
        const bits = data.bits[group.column][i] & (group.all ? fails - 1 : group.others);
        for (const value of group.values) if (bits & value.bits) value.n++;
      }
    }
    return kept;
  };

  // The agents that have all words, and if they are few, those that have some.
  const choose = (ranks) => {
    const whole = filter(ranks, UNKNOWN);
    return whole.length < FEW ? filter(ranks, 1) : whole;
  };

  // ---- page

  // As the pages write numbers: with commas from five digits on.
  const number = (n) => (n > 9999 ? n.toLocaleString('en') : n);
  const agents = (n) => `${number(n)} agent${n === 1 ? '' : 's'}`;
  const also = () => {
    const some = found.filter((i) => scores[i] < WHOLE).length;
    return (some ? `, ${number(some)} only in part` : '') + (similar ? ', with similar spellings' : '');
  };

  const add = (list, text, kind) => {
    const item = document.createElement('li');
    item.className = kind ? `chip ${kind}` : 'chip';
    item.textContent = text;
    list.before(item);
  };

  const card = (i, note) => {
    const item = template.cloneNode(true), id = data.id[i], part = (selector) => item.querySelector(selector);
    const link = part('h3 a'), compare = part('.compare a'), [by, version] = item.querySelectorAll('bdi');
    const tile = part('.tile');
    tile.classList.add(`t${[...id].reduce((hue, letter) => (hue * 31 + letter.charCodeAt()) % 8, 0)}`);
    if (data.icon[i]) {
      const image = new Image(28, 28);
      // `src` is set last, because it starts loading.
      Object.assign(image, { className: 'icon', alt: '', loading: 'lazy', src: `./${id}.svg` });
      tile.append(image);
    } else Object.assign(tile, { ariaHidden: true, textContent: [...data.name[i]][0]?.toUpperCase() });
    link.href = `./agents/${id}/${editor}`;
    link.textContent = data.name[i];
    by.textContent = data.by[i];
    version.textContent = data.version[i];
    if (!data.by[i]) part('.meta').replaceChildren(version);
    part('.text').textContent = data.text[i];
    note ||= scores[i] < UNKNOWN ? 'Partial match' : scores[i] < WHOLE && 'System not stated';
    if (note) add(compare.parentElement, note, 'auth');
    for (const [kind, text] of data.chips[data.chip[i]]) add(compare.parentElement, text, kind);
    compare.href = `./matrix/?ids=${id}`;
    return item;
  };

  // Replaces cards one by one, so that the page neither shrinks meanwhile nor blocks for long.
  const show = async (from) => {
    const mine = asked, cards = list.children;
    shown = Math.min(found.length, from + STEP);
    await pieces(found.slice(from, shown), 6, (i, n) => {
      if (mine !== asked) return;
      const old = cards[from + n];
      if (old) old.replaceWith(card(i)); else list.append(card(i));
    }, true);
    if (mine !== asked) return;
    while (cards[shown]) cards[shown].remove();
    more.hidden = shown === found.length;
    count.textContent = (shown < found.length ? `${shown} of ` : '') + agents(found.length) + also();
    done.textContent = `Show ${agents(found.length)}`;
    nothing.hidden = found.length > 0;
  };

  const announce = () => {
    clearTimeout(speak);
    if (asked > quiet) speak = setTimeout(() => {
      live.textContent = `${agents(found.length)} match${found.length === 1 ? 'es' : ''}${also()}${read.hidden ? '' : `. ${read.textContent}`}`;
    }, 300);
  };

  // If nothing matches, offers to undo a choice, with the number of agents that this would leave, and the agents that
  // lack only one choice.
  const offer = (ranks) => {
    const used = groups.filter((one) => one.want), nearest = near.sort(([a], [b]) => ranks[b] - ranks[a] || a - b).slice(0, 6);
    const title = (column) => used.filter((one) => one.column === column).map((one) => one.title).join(', ');
    at('near').replaceChildren(...nearest.map(([i, column]) => card(i, `Differs: ${title(column)}`)));
    at('near').previousElementSibling.hidden = !nearest.length;
    const choices = used.map((one) => {
      const { want } = one;
      one.want = 0;
      const n = choose(ranks).length;
      one.want = want;
      const chosen = one.values.filter(({ input }) => input.checked);
      return { n, text: `${one.title}: ${chosen.map((value) => value.label).join(', ')}`, undo() { for (const { input } of chosen) input.checked = false; } };
    });
    if (text()) {
      choices.push({ n: filter(data.id.map(() => 1), 1).length, text: `“${text()}”`, undo() { box.value = ''; } });
    }
    at('offers').replaceChildren(...choices.filter(({ n }) => n).sort((a, b) => b.n - a.n).map(({ n, text, undo }) => {
      const button = document.createElement('button');
      button.type = 'button';
      button.textContent = `${number(n)} without ${text}`;
      button.addEventListener('click', () => {
        undo();
        save('pushState');
        update();
        at('results-title').focus();
      });
      return button;
    }));
  };

  const draw = async (ranks) => {
    const mine = asked;
    scores = ranks;
    found = choose(ranks);
    // The catalog is sorted by name. Without words, what was updated last comes first where not all fit.
    sort.options[0].textContent = text() ? 'Best match' : plain;
    // Without words, this is the first order already.
    sort.options[1].hidden = !text() && plain === 'By name';
    const order = sort.value || (text() ? '' : data.id.length > STEP ? 'updated' : 'name'), key = data[order] || ranks;
    if (order === 'name-desc') found.reverse();
    else if (order !== 'name') found.sort((a, b) => key[b] - key[a] || a - b);
    await rest();
    if (mine !== asked) return;
    for (const value of values) {
      value.out.textContent = number(value.n);
      value.input.parentElement.classList.toggle('zero', !value.n);
      if (value.ask) value.ask.lastElementChild.textContent = value.out.textContent;
    }
    await show(0);
    if (mine !== asked) return;
    if (!found.length) offer(ranks);
    ready();
    announce();
  };

  // What stands in place of the list: nothing, that it is awaited, or that it could not be had.
  const ready = (state = '') => {
    root.classList.remove('pending');
    results.dataset.state = state;
    if (state) count.textContent = '';
  };

  // Says what words and phrases of the query were understood as.
  const explain = (terms) => {
    const parts = terms.flatMap(({ text, class: of, editor, read, isUnknown }) => {
      if (isUnknown) return [`No agent mentions “${text}”`];
      if (read) return [`“${text}” is read as ${read.slice(0, 3).map((word) => `“${word}”`).join(' or ')}`];
      if (!editor) return of ? [of[3]] : [];
      const link = document.createElement('a');
      link.href = `./editors/${editor.client}/`;
      link.textContent = `All agents work in ${editor.name}: set one up`;
      return [link];
    });
    similar = terms.some(({ read }) => read?.length);
    const client = terms.find((term) => term.editor)?.editor.client;
    editor = client ? `#${client}` : '';
    read.replaceChildren(...parts.flatMap((part, i) => (i ? [' · ', part] : [part])));
    read.hidden = !parts.length;
  };

  const answer = async (mine) => {
    let picked = 0;
    for (const one of groups) {
      one.want = 0;
      for (const value of one.values) {
        if (value.input.checked) { one.want |= value.bits; picked++; }
        value.ask?.setAttribute('aria-pressed', value.input.checked);
      }
    }
    toggle.lastElementChild.textContent = picked ? ` (${picked})` : '';
    const isAll = !picked && !text();
    clear.hidden = isAll;
    // The list of the page stands under no choice that it does not follow.
    const isOwn = isAll && !sort.value;
    if (!data) ready(isOwn ? '' : 'wait');
    try { await load(); } catch {
      if (mine === asked) {
        ready('failed');
        live.textContent = 'The catalog could not be loaded';
      }
      return;
    }
    await rest(true);
    // A newer query has started.
    if (mine !== asked) return;
    const query = fold(box.value).trim().replace(/\s+/g, ' ');
    const terms = parse(query), ranks = await rank(terms, query, () => mine === asked);
    await rest();
    if (mine !== asked) return;
    explain(terms);
    await draw(ranks);
  };

  const update = () => {
    work = answer(++asked);
  };

  // ---- address

  const address = () => {
    const state = new URLSearchParams();
    for (const [key, value] of new FormData(form)) if (value.trim()) state.append(key, value);
    const text = state.toString();
    return location.pathname + (text ? `?${text}` : '');
  };
  const save = (how) => {
    const next = address();
    // Browsers refuse to write the address too often.
    try { if (next !== location.pathname + location.search) history[how](null, '', next); } catch {}
  };
  const restore = () => {
    const state = new URLSearchParams(location.search);
    box.value = (state.get('q') || '').slice(0, 200);
    sort.value = state.get('sort') || '';
    if (sort.selectedIndex < 0) sort.value = '';
    for (const { input } of values) input.checked = state.getAll(input.name).includes(input.value);
  };

  box.addEventListener('input', () => { save('replaceState'); update(); });
  box.addEventListener('focus', () => load().catch(() => {}));
  at('retry').addEventListener('click', () => { update(); box.focus(); });
  for (const { input, ask } of values) ask?.addEventListener('click', () => input.click());
  sort.addEventListener('change', () => { save('pushState'); update(); });
  form.addEventListener('change', (event) => { if (event.target !== box) { save('pushState'); update(); } });
  form.addEventListener('submit', async (event) => {
    event.preventDefault();
    save('pushState');
    update();
    await work;
    // Enter leads from the words to the best result.
    if (document.activeElement === box && text()) list.querySelector('h3 a')?.focus();
  });
  // Arrows lead from the words into the results, and from one to the next.
  addEventListener('keydown', (event) => {
    const { key, target } = event, step = { ArrowDown: 1, ArrowUp: -1 }[key], cards = [...list.children];
    const here = cards.indexOf(target.closest?.('.card'));
    // Within a composition, arrows choose its words.
    if (!step || event.isComposing || event.ctrlKey || event.metaKey || event.altKey || (here < 0 && (target !== box || step < 0))) return;
    event.preventDefault();
    (cards[here + step]?.querySelector('h3 a') || (step < 0 ? box : target)).focus();
  });
  clear.addEventListener('click', () => {
    box.value = '';
    for (const { input } of values) input.checked = false;
    save('pushState');
    update();
    box.focus();
  });
  more.addEventListener('click', async () => {
    await rest(true);
    if (!shown) update();
    for (let last; last !== work;) await (last = work);
    const mine = asked, from = shown;
    if (list.children.length !== from) return;
    await show(from);
    // Focus stays where the reader has moved it.
    if (mine !== asked || ![more, document.body].includes(document.activeElement)) return;
    (list.children[from]?.querySelector('a') || at('results-title')).focus();
  });
  addEventListener('popstate', () => {
    const before = address();
    restore();
    if (address() !== before) update();
  });
  toggle.addEventListener('click', () => toggle.setAttribute('aria-expanded', toggle.getAttribute('aria-expanded') !== 'true'));
  done.addEventListener('click', () => {
    toggle.click();
    at('results-title').focus();
  });
  // What was typed or chosen before this script came stays.
  quiet || address() === location.pathname ? restore() : save('replaceState');
  if (location.search[1]) update();
  else root.classList.remove('pending');
})();

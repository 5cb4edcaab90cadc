// Search and filters of the home page. The URL holds the state: typing replaces the history entry, other changes add
// one.
(() => {
  'use strict';
  const STEP = 24;
  const at = (id) => document.getElementById(id);
  const root = document.documentElement;
  const form = at('search'), box = at('q'), sort = at('sort'), list = at('list'), count = at('count'), live = at('live');
  const more = at('more'), clear = at('clear'), nothing = at('nothing'), chosen = at('chosen'), template = at('card').content;

  const groups = [...form.querySelectorAll('fieldset')].map((set) => ({
    title: set.firstElementChild.textContent,
    column: +set.dataset.column,
    all: 'all' in set.dataset,
    want: 0,
    values: [...set.querySelectorAll('input')].map((input) => ({
      input, bits: +input.dataset.bits, label: input.nextElementSibling.textContent, out: set.querySelector(`[value="${input.value}"] ~ small`), n: 0,
    })),
  }));
  const columns = [...new Set(groups.map((group) => group.column))];

  let data, loading, found = [], shown = 0, similar = false, asked = 0, work, idle, speak;

  // The results of the initial query are not announced to screen readers.
  const quiet = location.search.length > 1 ? 1 : 0;

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

  const fold = (text) => text.normalize('NFKD').replace(/\p{M}/gu, '').toLowerCase();

  // ---- catalog

  const load = () => loading ||= fetch(form.dataset.catalog).then((answer) => {
    if (!answer.ok) throw new Error(answer.status);
    return answer.json();
  }).then(async (json) => {
    json.name = json.name.map((name, i) => name || json.id[i].replaceAll('-', ' '));
    json.bits = Object.values(json.bits);
    json.fields = [];
    await pieces(json.id, 250, (id, i) => json.fields.push([fold(json.name[i]), id, fold(json.by[i]), fold(json.text[i])]));
    data = json;
  }).catch((error) => {
    loading = undefined;
    throw error;
  });

  // ---- search

  const isStart = (text, i) => i === 0 || !/[\p{L}\p{N}]/u.test(text[i - 1]);

  // Scores how well a word matches an agent; 0 is no match. The command `search` ranks in its own way.
  const score = ([name, id, by, text], word) => {
    if (name === word || id === word) return 100;
    let i = name.indexOf(word);
    if (i === 0) return 40;
    if (i > 0) return isStart(name, i) ? 25 : 12;
    i = id.indexOf(word);
    if (i >= 0) return isStart(id, i) ? 20 : 10;
    i = by.indexOf(word);
    if (i >= 0) return isStart(by, i) ? 6 : 3;
    i = text.indexOf(word);
    return i < 0 ? 0 : isStart(text, i) ? 4 : 1;
  };

  const rank = async (words, query) => {
    const mine = asked, scores = new Float64Array(data.id.length);
    await pieces(data.fields, 2000, (fields, i) => {
      if (mine !== asked) return;
      let sum = 0;
      for (const word of words) {
        const one = score(fields, word);
        if (!one) return;
        sum += one;
      }
      scores[i] = (sum || 1) + (words.length > 1 && fields[0].includes(query) ? 50 : 0);
    });
    return scores;
  };

  // Optimal string alignment distance from `b` to `a` or to a longer prefix of it, computed up to `max`.
  const distance = (a, b, max) => {
    let before = [], last = [], row = [];
    for (let j = 0; j <= b.length; j++) last[j] = j;
    let best = last[b.length];
    for (let i = 1; i <= a.length; i++) {
      row = [i];
      let least = i;
      for (let j = 1; j <= b.length; j++) {
        row[j] = Math.min(last[j] + 1, row[j - 1] + 1, last[j - 1] + (a[i - 1] === b[j - 1] ? 0 : 1));
        if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]) row[j] = Math.min(row[j], before[j - 2] + 1);
        least = Math.min(least, row[j]);
      }
      if (i >= b.length - max) best = Math.min(i === a.length || i >= b.length ? row[b.length] : best, best);
      if (least > max) break;
      before = last;
      last = row;
    }
    return best;
  };

  // The words of all agents, each with the agents that contain it.
  let vocabulary;
  const words = () => vocabulary ||= (async () => {
    const found = new Map();
    await pieces(data.fields, 200, (fields, i) => {
      for (const word of new Set(fields.join(' ').match(/[\p{L}\p{N}]{3,30}/gu))) {
        const agents = found.get(word);
        if (agents) agents.push(i);
        else if (found.size < 50000) found.set(word, [i]);
      }
    });
    return [...found];
  })();

  const rankSimilar = async (tokens) => {
    const mine = asked;
    let all;
    for (const token of tokens) {
      const max = token.length < 4 ? 0 : token.length < 8 ? 1 : 2;
      const hits = new Map();
      const add = (i, value) => { if ((hits.get(i) || 0) < value) hits.set(i, value); };
      await pieces(data.fields, 2000, (fields, i) => { const one = score(fields, token); if (one) add(i, one); });
      if (max && token.length <= 30) {
        await pieces(await words(), 400, ([word, agents]) => {
          if (mine !== asked || word.length < token.length - max) return;
          const d = distance(word, token, max);
          if (d <= max) for (const i of agents) add(i, 2 / (1 + d) + (data.fields[i][0].includes(word) ? 3 : 0));
        });
      }
      all = all ? new Map([...all].filter(([i]) => hits.has(i)).map(([i, value]) => [i, value + hits.get(i)])) : hits;
    }
    const scores = new Float64Array(data.id.length);
    for (const [i, value] of all) scores[i] = value;
    return scores;
  };

  // ---- filters

  const passes = (bits, column) => {
    let one = -1, any = false;
    for (const group of groups) {
      if (group.column !== column || !group.want) continue;
      if (group.all) { if ((bits & group.want) !== group.want) return false; } else { one &= group.want; any = true; }
    }
    return !any || (bits & one) !== 0;
  };

  // Selects the agents that pass all filters, and counts the agents that each value would leave.
  const filter = (scores) => {
    const kept = [];
    for (const group of groups) {
      group.others = -1;
      for (const other of groups) if (other !== group && other.column === group.column && other.want && !other.all) group.others &= other.want;
      for (const value of group.values) value.n = 0;
    }
    const used = columns.filter((column) => groups.some((group) => group.column === column && group.want));
    for (let i = 0; i < scores.length; i++) {
      if (!scores[i]) continue;
      let failed = -1, fails = 0;
      for (const column of used) if (!passes(data.bits[column][i], column)) { failed = column; if (++fails > 1) break; }
      if (fails > 1) continue;
      if (!fails) kept.push(i);
      for (const group of groups) {
        if (fails && group.column !== failed) continue;
        const bits = data.bits[group.column][i];
        if (group.all) {
          if (fails) continue;
          for (const value of group.values) if (bits & value.bits) value.n++;
        } else {
          for (const value of group.values) if (bits & group.others & value.bits) value.n++;
        }
      }
    }
    return kept;
  };

  // ---- page

  const label = (values, bits) => values.filter((value) => value.bits & bits).map((value) => value.label.split(' (')[0]).join(', ');
  const group = (key) => groups.find(({ values }) => values[0]?.input.name === key);
  const tags = (i) => ['dist', 'os'].map(group).filter(Boolean).map(({ column, values }) => label(values, data.bits[column][i])).filter(Boolean).join(' · ');

  const card = (i) => {
    const item = template.cloneNode(true), id = data.id[i];
    const link = item.querySelector('a'), [version, license] = item.querySelectorAll('bdi');
    if (data.icon[i]) {
      const image = new Image(32, 32);
      // `src` is set last, because it starts loading.
      Object.assign(image, { className: 'icon', alt: '', loading: 'lazy', decoding: 'async', src: `./${id}.svg` });
      item.querySelector('.blank').replaceWith(image);
    }
    link.href = `./agents/${id}/`;
    link.textContent = data.name[i];
    version.textContent = data.version[i];
    license.textContent = data.licenses[data.license[i]];
    item.querySelector('.text').textContent = data.text[i];
    item.querySelector('.tags').textContent = tags(i);
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
    count.textContent = `${shown} of ${found.length}${similar ? ', including similar spellings' : ''}`;
    nothing.hidden = found.length > 0;
  };

  const announce = () => {
    clearTimeout(speak);
    if (asked > quiet) speak = setTimeout(() => {
      live.textContent = `${found.length} ${found.length === 1 ? 'agent matches' : 'agents match'}${similar ? ', including similar spellings' : ''}`;
    }, 300);
  };

  // If nothing matches, offers to undo a choice, with the number of agents that this would leave.
  const offer = (scores) => {
    const choices = groups.filter((one) => one.want).map((one) => {
      const { want } = one;
      one.want = 0;
      const n = filter(scores).length;
      one.want = want;
      const chosen = one.values.filter(({ input }) => input.checked);
      return { n, text: `${one.title}: ${chosen.map((value) => value.label).join(', ')}`, undo() { for (const { input } of chosen) input.checked = false; } };
    });
    if (choices.length && box.value.trim()) {
      choices.push({ n: filter(data.id).length, text: `“${box.value.trim()}”`, undo() { box.value = ''; } });
    }
    at('offers').replaceChildren(...choices.filter(({ n }) => n).sort((a, b) => b.n - a.n).map(({ n, text, undo }) => {
      const button = document.createElement('button');
      button.type = 'button';
      button.textContent = `${n} without ${text}`;
      button.addEventListener('click', () => {
        undo();
        save('pushState');
        update();
        at('results-title').focus();
      });
      return button;
    }));
  };

  const draw = async (scores, isSimilar) => {
    const mine = asked;
    similar = isSimilar;
    found = filter(scores);
    const byName = sort.value === 'name' || !box.value.trim();
    // The catalog is sorted by name.
    const days = data[sort.value === 'added' || sort.value === 'updated' ? sort.value : ''];
    if (sort.value === 'name-desc') found.reverse();
    else if (days) found.sort((a, b) => days[b] - days[a] || a - b);
    else if (!byName) found.sort((a, b) => scores[b] - scores[a] || a - b);
    await rest();
    if (mine !== asked) return;
    for (const { values } of groups) for (const value of values) {
      value.out.textContent = value.n;
      value.input.parentElement.classList.toggle('zero', !value.n);
    }
    await show(0);
    if (mine !== asked) return;
    if (!found.length) offer(scores);
    root.classList.remove('pending');
    announce();
  };

  const answer = async (mine) => {
    let picked = 0;
    for (const one of groups) {
      one.want = 0;
      for (const value of one.values) if (value.input.checked) { one.want |= value.bits; picked++; }
    }
    chosen.textContent = picked ? ` (${picked})` : '';
    clear.hidden = !picked && !box.value.trim();
    try { await load(); } catch {
      root.classList.remove('pending');
      live.textContent = count.textContent = 'The catalog could not be loaded; try again.';
      return;
    }
    await rest(true);
    // A newer query has started.
    if (mine !== asked) return;
    const query = fold(box.value).trim().replace(/\s+/g, ' ');
    const tokens = query ? query.split(' ').slice(0, 8) : [];
    const scores = await rank(tokens, query);
    await rest();
    if (mine !== asked) return;
    await draw(scores, false);
    const isStrong = found.some((i) => scores[i] >= 12);
    if (mine === asked && tokens.length && found.length < 5 && !isStrong) {
      idle = setTimeout(async () => {
        const wider = await rankSimilar(tokens);
        if (mine !== asked) return;
        if (filter(wider).length > found.length) draw(wider, true);
        else if (!found.length) offer(wider);
      }, 150);
    }
  };

  const update = () => {
    clearTimeout(idle);
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
    if (next !== location.pathname + location.search) history[how](null, '', next);
  };
  const restore = () => {
    const state = new URLSearchParams(location.search);
    box.value = (state.get('q') || '').slice(0, 200);
    sort.value = state.get('sort') || '';
    if (sort.selectedIndex < 0) sort.value = '';
    for (const { values } of groups) for (const { input } of values) input.checked = state.getAll(input.name).includes(input.value);
  };

  box.addEventListener('input', () => { save('replaceState'); update(); });
  // Retries after a failed load.
  box.addEventListener('focus', () => { if (asked && !loading) update(); else load().catch(() => {}); });
  form.addEventListener('change', (event) => { if (event.target !== box) { save('pushState'); update(); } });
  form.addEventListener('submit', (event) => { event.preventDefault(); save('pushState'); update(); });
  clear.addEventListener('click', () => {
    box.value = '';
    for (const { values } of groups) for (const { input } of values) input.checked = false;
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
  at('toggle').addEventListener('click', ({ currentTarget: button }) => {
    button.setAttribute('aria-expanded', button.getAttribute('aria-expanded') !== 'true');
  });
  restore();
  if (quiet) update();
  else root.classList.remove('pending');
})();

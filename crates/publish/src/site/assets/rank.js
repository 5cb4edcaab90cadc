// How queries are read and agents ranked: the rules of the command `search`. Loaded with the catalog.

// A match of all words, one of which only the system is not known, and less than that. Sums of weights are lower.
export const WHOLE = 1e7, UNKNOWN = 1e6;
const SOME = 1e3;

// Returns the function that folds texts as the command `search` does, by the tables of the catalog.
const folder = ([marks, letters]) => {
  const mark = new RegExp(`[${marks}]`, 'g'), letter = new RegExp(`[${Object.keys(letters).join('')}]`, 'g');
  const plain = (text) => text.toLowerCase().replace(letter, (c) => letters[c]);
  return (text) => plain(plain(text).normalize('NFKD').replace(mark, ''));
};

const WEIGHTS = [[25, 12], [20, 10], [6, 3], [4, 1], [3, 1], [8, 4]], LETTER = /[\p{L}\p{N}]/u;

// How well a word matches an agent; 0 is no match. Whole words are parts of no other.
const score = (fields, word, isWhole) => {
  if (fields[0] === word || fields[1] === word) return 100;
  let best = !isWhole && fields[0].startsWith(word) ? 40 : 0;
  fields.forEach((text, field) => {
    for (let i = text.indexOf(word); i >= 0; i = text.indexOf(word, i + 1)) {
      const isStart = !i || !LETTER.test(text[i - 1]);
      if (isWhole && (!isStart || LETTER.test(text[i + word.length] || ' '))) continue;
      best = Math.max(best, WEIGHTS[field][isStart ? 0 : 1]);
      if (isStart) break;
    }
  });
  return best;
};

// The weight of a term: of its text, else half of that of words that stand for it.
const weigh = ({ text, others, class: of, editor, isFiller }, fields) => {
  const best = score(fields, text, of || editor || isFiller);
  if (best || !others) return best;
  const other = Math.max(...others.map((word) => score(fields, word, true)));
  return other && Math.max(1, other >> 1);
};

// Optimal string alignment distance from `b` to `a`, or to a beginning of it that is not shorter, which is one mistake more.
const distance = (a, b) => {
  let before, row, last = [...b, ''].map((letter, j) => j), best = Infinity;
  for (let i = 1; i <= a.length; i++) {
    row = [i];
    for (let j = 1; j <= b.length; j++) {
      row[j] = Math.min(last[j] + 1, row[j - 1] + 1, last[j - 1] + (a[i - 1] === b[j - 1] ? 0 : 1));
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]) row[j] = Math.min(row[j], before[j - 2] + 1);
    }
    if (i >= b.length || i === a.length) best = Math.min(row[b.length] + (i < a.length ? 1 : 0), best);
    before = last;
    last = row;
  }
  return best;
};

// The words of all agents by their first letter, without those that have digits.
const vocabulary = async (fields, pieces) => {
  const found = new Map();
  await pieces(fields, 200, (texts) => {
    for (const word of texts.join(' ').match(/[\p{L}\p{N}]+/gu) || []) {
      if (!/^\p{L}{3,30}$/u.test(word)) continue;
      const first = String.fromCodePoint(word.codePointAt(0));
      if (!found.get(first)?.add(word)) found.set(first, new Set([word]));
    }
  });
  return found;
};

// Returns the words that are spelled like this one, or longer words that begin so: those with the fewest mistakes, at most
// one in a short word and two in others, and none in the first letter. `isWanted` is false after the next query.
const similar = async (vocabulary, word, pieces, isWanted) => {
  const letters = [...word];
  if (letters.length < 4 || letters.length > 30) return [];
  let least = letters.length < 6 ? 1 : 2, nearest = [];
  await pieces([...vocabulary.get(letters[0]) || []], 400, (other) => {
    if (!isWanted() || other.length < letters.length - least) return;
    const d = distance([...other].slice(0, letters.length + least + 1), letters);
    if (d < least) { least = d; nearest = []; }
    if (d === least) nearest.push(other);
  });
  return nearest.sort();
};

// Prepares a catalog for searches. `pieces` goes through lists and lets the page breathe.
export const open = async (data, pieces) => {
  const fold = folder(data.fold);
  data.name = data.name.map((name, i) => name || data.id[i].replaceAll('-', ' '));
  data.bits = Object.values(data.bits);
  data.phrases = new Map(data.phrases.flatMap(([texts, meaning]) => texts.map((text) => [text, meaning])));
  data.longest = Math.max(...[...data.phrases.keys()].map((text) => text.split(' ').length));
  data.fields = [];
  await pieces(data.id, 250, (id, i) => data.fields.push([fold(data.name[i]), id, fold(data.by[i]), fold(data.text[i]), fold(data.licenses[data.license[i]]), fold(data.programs[i])]));

  // The terms of a query: words, classes of agents with a bit in a column, and editors, in which every agent works.
  const parse = (query) => {
    const words = query.split(' ').filter(Boolean).slice(0, 8), terms = [], places = words.map((_, i) => i);
    const isFiller = (i) => data.phrases.get(words[i]) === 0;
    for (let i = 0; i < words.length;) {
      // A phrase as it stands, else with fillers between its words.
      const all = places.slice(i), told = isFiller(i) ? [] : all.filter((i) => !isFiller(i));
      let next = i + 1, text = words[i], meaning;
      for (let n = data.longest; n && meaning === undefined; n--) for (const of of [all, told]) {
        const phrase = of.slice(0, n).map((i) => words[i]).join(' ');
        if (meaning !== undefined || of.length < n || !data.phrases.has(phrase)) continue;
        meaning = data.phrases.get(text = phrase);
        next = of[n - 1] + 1;
      }
      i = next;
      if (meaning === 0) continue;
      const term = { text };
      if (typeof meaning === 'string') term.text = meaning;
      else if (meaning?.client) term.editor = meaning;
      else if (meaning) term[typeof meaning[0] === 'string' ? 'others' : 'class'] = meaning;
      // Systems and processors are bits of one column: together, they mean one platform.
      const earlier = term.class?.[2] && terms.find((one) => one.class?.[0] === meaning[0] && one.class[1] & meaning[1]);
      if (!earlier) { terms.push(term); continue; }
      const [column, bits, unknown, label] = earlier.class;
      earlier.text += ` ${text}`;
      earlier.class = [column, bits & meaning[1], unknown, `${label} · ${meaning[3]}`];
    }
    return terms.length ? terms : words.map((text) => ({ text, isFiller: true }));
  };

  // Ranks all agents. A word that no agent has is read as words of similar spelling, or left out.
  const rank = async (terms, query, isWanted) => {
    const ranks = new Float64Array(data.id.length), points = terms.map(() => new Uint8Array(data.id.length));
    await pieces(data.fields, 2000, (fields, i) => {
      if (isWanted()) terms.forEach((term, t) => { points[t][i] = weigh(term, fields); });
    });
    for (const [t, term] of terms.entries()) {
      if (!isWanted()) return ranks;
      if (term.class || term.editor || points[t].some(Boolean)) continue;
      if (!term.isFiller) data.vocabulary ||= await vocabulary(data.fields, pieces);
      term.read = term.isFiller ? [] : await similar(data.vocabulary, term.text, pieces, isWanted);
      term.isUnknown = !term.read.length;
      await pieces(term.isUnknown ? [] : data.fields, 2000, (fields, i) => { points[t][i] = weigh({ text: term.text, others: term.read }, fields); });
    }
    const used = terms.map((_, t) => t).filter((t) => !terms[t].isUnknown);
    // Agents that have none of the words are no results for what else is asked of them, nor all agents for an editor where
    // the words are unknown.
    const selects = (t) => (terms[t].editor ? 0 : terms[t].class ? 1 : 2), most = Math.max(...used.map(selects));
    // Words that say nothing, and that no agent mentions.
    if (!used.length && terms[0]?.isFiller) { terms.length = 0; return ranks.fill(WHOLE); }
    if (terms.length && (!used.length || (!most && used.length < terms.length))) return ranks;
    await pieces(data.id, 5000, (id, i) => {
      let sum = terms.length > 1 && data.fields[i][0].includes(query) ? 50 : 0, has = 0, level = WHOLE, isHit = !terms.length;
      for (const t of used) {
        const { class: of, editor } = terms[t], bits = of && data.bits[of[0]]?.[i];
        const own = Math.max(points[t][i], bits & of?.[1] ? 5 : 0), isUnknown = !own && !editor && bits & of?.[2];
        level = own || editor ? level : isUnknown ? Math.min(level, UNKNOWN) : 0;
        if (own || editor || isUnknown) { has++; isHit ||= selects(t) === most; }
        sum += own;
      }
      if (isHit) ranks[i] = sum + (level || has * SOME);
    });
    return ranks;
  };

  return { fold, parse, rank };
};

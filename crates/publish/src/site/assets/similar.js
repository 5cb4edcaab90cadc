// How texts are compared, and words of similar spellings for searches that find little. Loaded with the catalog.

// Returns the function that folds texts as the command `search` does, by the tables of the catalog.
export const folder = ([marks, letters]) => {
  const mark = new RegExp(`[${marks}]`, 'g'), letter = new RegExp(`[${Object.keys(letters).join('')}]`, 'g');
  const plain = (text) => text.toLowerCase().replace(letter, (c) => letters[c]);
  return (text) => plain(plain(text).normalize('NFKD').replace(mark, ''));
};

// Optimal string alignment distance from `b` to `a` or to a longer prefix of it, computed up to `max`.
const distance = (a, b, max) => {
  let before, row, last = [...b, ''].map((letter, j) => j), best = b.length;
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
const words = (fields, pieces) => vocabulary ||= (async () => {
  const found = new Map();
  await pieces(fields, 200, (texts, i) => {
    for (const word of new Set(texts.join(' ').match(/[\p{L}\p{N}]{3,30}/gu))) {
      const agents = found.get(word);
      if (agents) agents.push(i);
      else if (found.size < 50000) found.set(word, [i]);
    }
  });
  return [...found];
})();

// Returns how near the words of agents come to a word, by agent. `pieces` lets the page breathe, and `isWanted` is false
// after the next query.
export const similar = async (fields, word, pieces, isWanted) => {
  const max = word.length < 4 ? 0 : word.length < 8 ? 1 : 2, hits = new Map();
  if (!max || word.length > 30) return hits;
  await pieces(await words(fields, pieces), 400, ([other, agents]) => {
    if (!isWanted() || other.length < word.length - max) return;
    const d = distance(other, word, max);
    if (d <= max) for (const i of agents) hits.set(i, Math.max(hits.get(i) || 0, 2 / (1 + d) + (fields[i][0].includes(other) ? 3 : 0)));
  });
  return hits;
};

// Figures and their budgets. Always printed; a missed one that depends on the machine fails only where that is asked for,
// with `BUDGETS=strict`.
import assert from 'node:assert/strict';

export const isStrict = process.env.BUDGETS === 'strict';

/// A figure that the machine's speed moves.
export const timed = (context, what, value, limit, isKept = value <= limit) => {
  context.diagnostic(`${isKept ? 'within' : 'OVER'} budget: ${what}: ${value} (${limit})`);
  if (isStrict) assert.ok(isKept, `${what}: ${value}, budget ${limit}`);
};

/// A figure that is the same everywhere.
export const fixed = (context, what, value, limit) => {
  context.diagnostic(`${what}: ${value} (${limit})`);
  assert.ok(value <= limit, `${what}: ${value}, budget ${limit}`);
};

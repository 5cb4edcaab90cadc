//! How much work an icon may cost.

/// The most comparisons of selectors and declarations with elements. The largest real icons need some thousands.
const LIMIT: usize = 2_000_000;

/// The work that one icon has cost so far.
#[derive(Debug, Default)]
pub(super) struct Work {
    spent: usize,
}

/// An icon needs more work than it is worth.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("needs more than {LIMIT} comparisons of CSS selectors with elements")]
pub(super) struct TooMuch;

impl Work {
    pub(super) fn spend(&mut self, comparisons: usize) -> Result<(), TooMuch> {
        self.spent += comparisons;
        if self.spent > LIMIT { Err(TooMuch) } else { Ok(()) }
    }

    #[cfg(test)]
    pub(super) fn spent(&self) -> usize {
        self.spent
    }
}

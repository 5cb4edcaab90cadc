//! How to get the programs that packages need, as the rest of a sentence.

/// Node.js, and npm with it.
pub const NODE: &str =
    "install Node.js with npm, from https://nodejs.org/en/download or with your system's package manager";

/// uv, which brings Python where there is none.
pub const UV: &str =
    "install uv, from https://docs.astral.sh/uv/getting-started/installation/ or with your system's package manager";

/// A newer runtime of this name.
#[must_use]
pub fn newer(runtime: &str) -> &'static str {
    if runtime == "Python" {
        "`uv python install VERSION` brings another Python"
    } else {
        "put a newer Node.js first in PATH, from https://nodejs.org/en/download or with your version manager"
    }
}

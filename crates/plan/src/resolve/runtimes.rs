//! How to get the programs that packages need, as the rest of a sentence.

/// Node.js, and npm with it.
pub const NODE: &str =
    "install Node.js with npm, from https://nodejs.org/en/download or with your system's package manager";

/// uv, which brings Python where there is none.
pub const UV: &str =
    "install uv, from https://docs.astral.sh/uv/getting-started/installation/ or with your system's package manager";

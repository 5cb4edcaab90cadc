//! How to get the programs that packages need, as the rest of a sentence.

use super::Shortfall;
use acp_registry_plan::text::{escape, quote};

pub use acp_registry_plan::resolve::{NODE, UV};

/// A runtime of the versions that are wanted.
#[must_use]
pub fn newer(shortfall: &Shortfall) -> String {
    if shortfall.runtime == "Python" {
        format!("run `uv python install {}`", python(&shortfall.wanted))
    } else {
        "put a newer Node.js first in PATH, from https://nodejs.org/en/download or with your version manager".to_owned()
    }
}

/// A Python of the versions that are wanted, where uv cannot download one.
#[must_use]
pub(super) fn from_elsewhere(shortfall: &Shortfall) -> String {
    let wanted = quote(&shortfall.wanted);
    format!(
        "install Python {wanted} with the packages of this system, or set UV_PYTHON_INSTALL_MIRROR to an address that uv can reach"
    )
}

/// The lower bound of a range, which is a version that is in it, or else the range as uv and a shell read it.
fn python(range: &str) -> String {
    let lowest = range.split(',').find_map(|part| {
        let version = [">=", "~=", "=="].iter().find_map(|operator| part.trim().strip_prefix(operator))?.trim();
        let version = version.strip_suffix(".*").unwrap_or(version);
        let is_plain = version.split('.').all(|part| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit()));
        is_plain.then(|| version.to_owned())
    });
    lowest.unwrap_or_else(|| format!("'{}'", escape(range).replace('\'', "")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_python_of_the_range_is_installed() {
        for (range, version) in [
            (">=3.12", "3.12"),
            ("<3.14,>=3.12", "3.12"),
            ("~=3.11.2", "3.11.2"),
            ("==3.12.*", "3.12"),
            ("<3.13", "'<3.13'"),
            (">3.11", "'>3.11'"),
        ] {
            assert_eq!(python(range), version, "{range}");
        }
    }
}

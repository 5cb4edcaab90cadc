//! The checks: one file per check, one folder per level. A new check is registered only in the `mod.rs` of its folder.

mod drafts;
mod protocol;
mod sessions;
mod transport;
mod turns;

use std::sync::LazyLock;

use super::check::Check;

/// Every check, ordered by level and then by id.
pub static CHECKS: LazyLock<Vec<&Check>> =
    LazyLock::new(|| [transport::CHECKS, protocol::CHECKS, sessions::CHECKS, turns::CHECKS, drafts::CHECKS].concat());

/// Finds a check by its id.
pub fn find(id: &str) -> Option<&'static Check> {
    CHECKS.iter().copied().find(|check| check.id == id)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::fs;
    use std::path::Path;

    use super::*;
    use crate::examination::Level;

    #[test]
    fn the_table_is_sorted_and_whole() {
        assert!(CHECKS.is_sorted_by(|a, b| (a.level(), a.id) < (b.level(), b.id)));
        let here = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/examination/checks");
        let mut files = BTreeSet::new();
        for level in Level::ALL.into_iter().filter(|level| *level > Level::Handshake) {
            for file in fs::read_dir(here.join(level.as_str())).unwrap().map(|file| file.unwrap().path()) {
                let stem = file.file_stem().unwrap().to_str().unwrap().replace('_', "-");
                if stem != "mod" {
                    files.insert(format!("{}/{stem}", level.as_str()));
                }
            }
        }
        assert_eq!(files, CHECKS.iter().map(|check| check.id.to_owned()).collect());
        for check in CHECKS.iter() {
            assert_eq!(check.id.split('/').next(), Some(check.level().as_str()), "{}", check.id);
            assert_eq!(find(check.id).map(|found| found.id), Some(check.id));
        }
        assert!(find("protocol/nothing").is_none());
    }

    #[test]
    fn every_check_is_documented() {
        for check in CHECKS.iter() {
            assert!(!check.summary.ends_with('.') && check.summary.len() > 10, "{}: a fragment", check.id);
            for text in [check.why, check.fix] {
                assert!(text.len() > 10 && text.ends_with('.'), "{}: {text:?} must be whole sentences", check.id);
            }
            // Forks of sessions are announced by agents, but only proposed for the protocol; the page of questions still
            // is that of the proposal.
            let is_draft = [Level::Transport, Level::Drafts].contains(&check.level())
                || ["sessions/fork", "turns/elicitation"].contains(&check.id);
            let pages = if is_draft { "rfds/" } else { "protocol/v1/" };
            assert!(check.spec.starts_with(pages), "{}", check.id);
            for exchange in [check.failing_exchange(), check.passing_exchange()] {
                for line in exchange.lines() {
                    let said = ["client ", "agent ", "model "].iter().find_map(|start| line.strip_prefix(start));
                    assert!(said.is_some_and(|said| !said.is_empty()), "{}: {line}", check.id);
                }
            }
            assert_ne!(check.fails, check.passes, "{}", check.id);
        }
    }
}

//! Hints, which people read once.

use std::fs::{self, File};
use std::time::{Duration, SystemTime};

use crate::flags::network::cache_dir;
use crate::terminal::ui::Ui;

const DAY: Duration = Duration::from_hours(24);

/// Prints a hint, on a terminal at most once a day. `name` is that of its mark in the cache; without a cache, the hint is printed
/// each time.
pub(crate) fn show(name: &str, text: &str, ui: &Ui) {
    if !ui.is_watched() || cache_dir().is_none_or(|cache| !is_marked(&cache.join("hints"), name)) {
        ui.note(text);
    }
}

/// Whether a mark is younger than a day; else it is made anew.
fn is_marked(folder: &std::path::Path, name: &str) -> bool {
    let mark = folder.join(name);
    let age = |modified: SystemTime| SystemTime::now().duration_since(modified).ok();
    if fs::metadata(&mark).and_then(|mark| mark.modified()).ok().and_then(age).is_some_and(|age| age < DAY) {
        return true;
    }
    // A hint that is printed again is better than a command that fails.
    let _ = fs::create_dir_all(folder).and_then(|()| File::create(&mark));
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_counts_for_a_day() {
        let folder = tempfile::tempdir().unwrap();
        let hints = folder.path().join("cache/hints");
        assert!(!is_marked(&hints, "a") && is_marked(&hints, "a") && !is_marked(&hints, "b"));
        let mark = File::options().write(true).open(hints.join("a")).unwrap();
        mark.set_modified(SystemTime::now() - DAY).unwrap();
        assert!(!is_marked(&hints, "a") && is_marked(&hints, "a"));
        mark.set_modified(SystemTime::now() + DAY).unwrap();
        assert!(!is_marked(&hints, "a"), "a clock that was wrong hides no hint");
    }
}

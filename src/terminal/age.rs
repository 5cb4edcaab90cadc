//! Ages, for people.

use std::time::Duration;

use crate::terminal::plural;

/// Formats an age in the largest unit that gives at least 2, or in minutes: `3 hours old`.
pub(crate) fn age(age: Duration) -> String {
    const UNITS: [(u64, &str); 3] = [(24 * 60, "day"), (60, "hour"), (1, "minute")];
    let minutes = age.as_secs() / 60;
    if minutes == 0 {
        return "less than a minute old".to_owned();
    }
    let (unit, noun) = UNITS.into_iter().find(|(unit, _)| minutes >= 2 * unit).unwrap_or((1, "minute"));
    format!("{} old", plural(usize::try_from(minutes / unit).unwrap_or(usize::MAX), noun))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ages_have_one_unit() {
        for (seconds, text) in [
            (0, "less than a minute old"),
            (60, "1 minute old"),
            (119 * 60, "119 minutes old"),
            (2 * 3600, "2 hours old"),
            (47 * 3600, "47 hours old"),
            (48 * 3600, "2 days old"),
            (400 * 86_400, "400 days old"),
        ] {
            assert_eq!(age(Duration::from_secs(seconds)), text);
        }
    }
}

//! Times and dates in files and documents: RFC 3339, in UTC, with a precision of one second.

use std::fmt;
use std::str::FromStr;
use std::time::{Duration, SystemTime};

use crate::text::plural;
use serde::de::Error as _;
use serde::{Deserialize as _, Deserializer};
use time::format_description::BorrowedFormatItem;
use time::format_description::well_known::Rfc3339;
use time::macros::format_description;
use time::{Date, OffsetDateTime, UtcDateTime};

const DAY: &[BorrowedFormatItem<'_>] = format_description!("[year]-[month]-[day]");

/// A time in UTC, between 1970 and 9999, with a precision of one second.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Timestamp(OffsetDateTime);

/// The text is not a time in the format of RFC 3339.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a time has the form 2026-01-31T23:59:59Z")]
pub struct InvalidTime;

impl Timestamp {
    /// The beginning of 1970.
    pub const EPOCH: Self = Self(OffsetDateTime::UNIX_EPOCH);

    /// The current time.
    #[must_use]
    pub fn now() -> Self {
        Self::of(SystemTime::now()).unwrap_or(Self::EPOCH)
    }

    /// Converts a time of the system's clock; `None` outside the years 1970 to 9999.
    #[must_use]
    pub fn of(time: SystemTime) -> Option<Self> {
        let seconds = time.duration_since(SystemTime::UNIX_EPOCH).ok()?.as_secs();
        Self::from_unix(seconds.try_into().ok()?)
    }

    /// Converts seconds since 1970; `None` outside the years 1970 to 9999.
    #[must_use]
    pub fn from_unix(seconds: i64) -> Option<Self> {
        let time = OffsetDateTime::from_unix_timestamp(seconds).ok()?;
        (seconds >= 0 && time.year() <= 9999).then_some(Self(time))
    }

    /// Seconds since 1970.
    #[must_use]
    pub fn unix(self) -> i64 {
        self.0.unix_timestamp()
    }

    /// The date, as `YYYY-MM-DD`.
    #[must_use]
    pub fn day(self) -> String {
        self.0.format(DAY).unwrap_or_default()
    }

    /// The date of the Monday of its week, as `YYYY-MM-DD`; 1970-01-01 in the week of that day.
    #[must_use]
    pub fn monday(self) -> String {
        // The first day of 1970 was a Thursday.
        let monday = self.days() - (self.days() + 3) % 7;
        Self::from_unix(monday * 86_400).unwrap_or(Self::EPOCH).day()
    }

    /// Days since 1970.
    #[must_use]
    pub fn days(self) -> i64 {
        self.unix() / 86_400
    }
}

/// Fractions of a second are truncated.
impl FromStr for Timestamp {
    type Err = InvalidTime;

    fn from_str(text: &str) -> Result<Self, InvalidTime> {
        let time = OffsetDateTime::parse(text, &Rfc3339).map_err(|_| InvalidTime)?;
        Self::from_unix(time.unix_timestamp()).ok_or(InvalidTime)
    }
}

/// `YYYY-MM-DDThh:mm:ssZ`.
impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.format(&Rfc3339).map_err(|_| fmt::Error)?)
    }
}

impl From<Timestamp> for SystemTime {
    fn from(time: Timestamp) -> Self {
        time.0.into()
    }
}

/// Parses a date of the form `YYYY-MM-DD`.
#[must_use]
pub fn date(text: &str) -> Option<Date> {
    // The parser would accept a sign, and more digits.
    let has_form = text.len() == 10 && text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-');
    Date::parse(text, DAY).ok().filter(|_| has_form)
}

/// Deserializes a date of the form `YYYY-MM-DD`.
///
/// # Errors
/// The text is none.
pub fn day<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Date>, D::Error> {
    let text = String::deserialize(deserializer)?;
    date(&text).map(Some).ok_or_else(|| D::Error::custom(format!("{text:?} is not a day such as \"2026-12-31\"")))
}

/// The date of a time, in UTC.
#[must_use]
pub fn today(now: SystemTime) -> Date {
    UtcDateTime::from(now).date()
}

/// Formats an age in the largest unit that gives at least 2, or in minutes: `3 hours old`.
#[must_use]
pub fn age(age: Duration) -> String {
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
    use std::time::Duration;

    use time::macros::date as day;

    use super::*;

    #[test]
    fn weeks_begin_on_monday() {
        for (time, monday) in [
            ("2026-11-26T12:00:00Z", "2026-11-23"),
            ("2026-11-23T00:00:00Z", "2026-11-23"),
            ("2026-11-22T23:59:59Z", "2026-11-16"),
            ("2024-03-01T00:00:00Z", "2024-02-26"),
            ("1970-01-02T00:00:00Z", "1970-01-01"),
        ] {
            assert_eq!(time.parse::<Timestamp>().unwrap().monday(), monday, "{time}");
        }
    }

    #[test]
    fn times_are_seconds_in_utc() {
        let time: Timestamp = "2026-11-02T01:30:00.9+02:00".parse().unwrap();
        assert_eq!((time.day().as_str(), time.to_string().as_str()), ("2026-11-01", "2026-11-01T23:30:00Z"));
        assert_eq!((Timestamp::EPOCH.days(), Timestamp::from_unix(0)), (0, Some(Timestamp::EPOCH)));
        for refused in [-1, i64::MAX, 253_402_300_800] {
            assert_eq!(Timestamp::from_unix(refused), None);
        }
        for refused in ["2026-11-02", "1969-12-31T23:59:59Z", "now", ""] {
            assert_eq!(refused.parse::<Timestamp>(), Err(InvalidTime), "{refused}");
        }
    }

    #[test]
    fn moments_outside_the_years_with_four_digits_have_no_timestamp() {
        let epoch = SystemTime::UNIX_EPOCH;
        let second = epoch + Duration::from_secs(7);
        assert_eq!(Timestamp::of(second + Duration::from_millis(900)).map(SystemTime::from), Some(second));
        let before = epoch - Duration::from_millis(1);
        let after = epoch.checked_add(Duration::from_hours(70_389_528));
        assert_eq!((Timestamp::of(before), after.and_then(Timestamp::of)), (None, None));
    }

    #[test]
    fn dates_are_strict() {
        assert_eq!(date("2024-02-29"), Some(day!(2024 - 02 - 29)));
        for wrong in [
            "", "2023-02-29", "2024-2-29", "+2024-02-29", "-024-02-29", "20240229", "2024-02-29 ", "2024-13-01",
            "26-02-01", "2026-02-01T00:00:00Z", "tomorrow",
        ] {
            assert_eq!(date(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn today_is_the_date_in_utc() {
        let at = |seconds| today(SystemTime::UNIX_EPOCH + Duration::from_secs(seconds));
        assert_eq!((at(86_399), at(86_400)), (day!(1970 - 01 - 01), day!(1970 - 01 - 02)));
    }

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

//! Parses durations in flags and configurations.

use std::time::Duration;

/// The longest time limit.
const LONGEST: Duration = Duration::from_hours(24);

/// Parses a time limit, such as `60s`, `2m`, `1.5` or `90`. It must be positive and at most a day. A number without a
/// unit is in seconds.
///
/// # Errors
/// Returns a message that says what to write instead.
pub fn limit(text: &str) -> Result<Duration, String> {
    let seconds = text.strip_suffix('s').unwrap_or(text);
    let limit = match seconds.parse::<f64>() {
        Ok(seconds) if seconds > 0.0 => Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX),
        _ => parse(text)?,
    };
    if limit.is_zero() || limit > LONGEST {
        return Err("write a time above 0 and of at most 24h, such as 60s or 2m".to_owned());
    }
    Ok(limit)
}

/// Parses a duration, such as `3d`, `12h`, `90m`, `30s` or `0`. Others need a unit: `90` for ninety days would make ninety
/// seconds of them, after which snapshots are removed and new versions are trusted.
///
/// # Errors
/// Returns a message that says what to write instead.
pub fn parse(text: &str) -> Result<Duration, String> {
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let seconds = match unit {
        "" if text == "0" => 1,
        "s" => 1,
        "m" => 60,
        "h" => 3_600,
        "d" => 86_400,
        "w" => 604_800,
        _ => return Err("write a number with s, m, h, d or w, such as 3d".to_owned()),
    };
    let number: u64 = number.parse().map_err(|_| "write a number with s, m, h, d or w, such as 3d".to_owned())?;
    number.checked_mul(seconds).map(Duration::from_secs).ok_or_else(|| "is too long".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_times_above_zero() {
        for (text, seconds) in
            [("60", 60.0), ("60s", 60.0), ("2m", 120.0), ("0.5", 0.5), ("1.5s", 1.5), ("24h", 86_400.0)]
        {
            assert_eq!(limit(text).map(|limit| limit.as_secs_f64()), Ok(seconds), "{text}");
        }
        for text in ["", "0", "0s", "-1", "nan", "inf", "1e300", "25h", "2d", "x"] {
            assert!(limit(text).is_err_and(|error| error.starts_with("write a ")), "{text}");
        }
    }

    #[test]
    fn units_are_understood() {
        for (text, seconds) in
            [("0", Some(0)), ("90s", Some(90)), ("90m", Some(5_400)), ("3d", Some(259_200)), ("1w", Some(604_800))]
        {
            assert_eq!(parse(text).ok().map(|duration| duration.as_secs()), seconds, "{text}");
        }
        for text in
            ["", "d", "90", "00", "3 d", "-1d", "1.5h", "3days", "99999999999999999999w", "18446744073709551615w"]
        {
            assert!(parse(text).is_err(), "{text}");
        }
    }
}

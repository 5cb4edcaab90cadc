//! Lengths of time, as people write them.

use std::time::Duration;

/// Reads `3d`, `12h`, `90m` or `30s`; a number alone is seconds.
pub(super) fn parse(text: &str) -> Result<Duration, String> {
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let seconds = match unit {
        "" | "s" => 1,
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
    fn units_are_understood() {
        for (text, seconds) in
            [("0", Some(0)), ("90", Some(90)), ("90m", Some(5_400)), ("3d", Some(259_200)), ("1w", Some(604_800))]
        {
            assert_eq!(parse(text).ok().map(|duration| duration.as_secs()), seconds, "{text}");
        }
        for text in ["", "d", "3 d", "-1d", "1.5h", "3days", "99999999999999999999w", "18446744073709551615w"] {
            assert!(parse(text).is_err(), "{text}");
        }
    }
}

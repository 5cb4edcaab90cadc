//! Version ranges as npm writes them.

/// The longest range that is read, in bytes.
const RANGE_LIMIT: usize = 1000;

/// Major, minor and patch number.
type Numbers = [u64; 3];

/// Whether a version is in a range of npm: `>=20`, `^18.2 || >=20.1.0`, `18 - 22`, `22.x`; `None` for what is neither.
pub(super) fn is_met(range: &str, version: &str) -> Option<bool> {
    if range.len() > RANGE_LIMIT {
        return None;
    }
    let version = whole(version)?;
    let mut is_any = false;
    for part in range.split("||") {
        is_any |= meets_all(part, version)?;
    }
    Some(is_any)
}

fn meets_all(part: &str, version: Numbers) -> Option<bool> {
    if let Some((from, to)) = part.split_once(" - ") {
        let (low, _) = bounds(from.trim())?;
        let (_, high) = bounds(to.trim())?;
        return Some(version >= low && high.is_none_or(|high| version < high));
    }
    let mut is_in = true;
    let mut operator = "";
    for word in part.split_whitespace() {
        let digits = word.trim_start_matches(['<', '>', '=', '^', '~']);
        let of_word = &word[..word.len() - digits.len()];
        if digits.is_empty() {
            // The number follows after a blank.
            operator = of_word;
            continue;
        }
        let operator = std::mem::take(&mut operator);
        is_in &= meets(if of_word.is_empty() { operator } else { of_word }, digits, version)?;
    }
    operator.is_empty().then_some(is_in)
}

fn meets(operator: &str, text: &str, version: Numbers) -> Option<bool> {
    let (low, high) = bounds(text)?;
    let is_below = |high: Option<Numbers>| high.is_none_or(|high| version < high);
    Some(match operator {
        "" | "=" => version >= low && is_below(high),
        ">=" => version >= low,
        "<" => version < low,
        "<=" => is_below(high),
        ">" => high.is_some_and(|high| version >= high),
        "^" => version >= low && is_below(caret(low, text)),
        "~" | "~>" => version >= low && is_below(tilde(low, text)),
        _ => return None,
    })
}

/// The first version that a possibly partial version stands for, and the first one after these; `None` where there is
/// no upper end.
fn bounds(text: &str) -> Option<(Numbers, Option<Numbers>)> {
    let (numbers, given) = partial(text)?;
    let high = match given {
        0 => None,
        given => Some(next(numbers, given - 1)),
    };
    Some((numbers, high))
}

fn caret(low: Numbers, text: &str) -> Option<Numbers> {
    let (_, given) = partial(text)?;
    let first = low.iter().position(|number| *number > 0).unwrap_or(2);
    (given > 0).then(|| next(low, first.min(given - 1)))
}

fn tilde(low: Numbers, text: &str) -> Option<Numbers> {
    let (_, given) = partial(text)?;
    (given > 0).then(|| next(low, (given - 1).min(1)))
}

/// The numbers with the one at this place raised, and those after it zero.
fn next(numbers: Numbers, at: usize) -> Numbers {
    let mut next = [0; 3];
    next[..at].copy_from_slice(&numbers[..at]);
    next[at] = numbers[at].saturating_add(1);
    next
}

/// The numbers of a version, and how many of them are given: `18.x` gives one.
fn partial(text: &str) -> Option<(Numbers, usize)> {
    let text = text.strip_prefix('v').unwrap_or(text);
    // A prerelease or a build is compared as its release, since Node.js uses none.
    let text = text.split(['-', '+']).next()?;
    let mut numbers = [0; 3];
    let mut given = 0;
    let mut is_open = false;
    for (at, part) in text.split('.').enumerate() {
        if at >= 3 {
            return None;
        }
        if ["x", "X", "*", ""].contains(&part) {
            is_open = true;
        } else {
            numbers[at] = part.parse().ok()?;
            given += usize::from(!is_open);
        }
    }
    Some((numbers, given))
}

fn whole(version: &str) -> Option<Numbers> {
    partial(version).filter(|(_, given)| *given == 3).map(|(numbers, _)| numbers)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_read_as_npm_reads_them() {
        for (range, inside, outside) in [
            (">=22", &["22.0.0", "24.1.0"][..], &["20.20.2", "21.9.9"][..]),
            (">= 22.1", &["22.1.0"], &["22.0.9"]),
            ("^18.2 || >=20.1.0", &["18.2.0", "18.99.0", "20.1.0"], &["18.1.0", "19.0.0", "20.0.9"]),
            ("^20.17.0 || >=22.9.0", &["20.20.2", "22.9.0"], &["21.0.0", "22.8.0"]),
            ("18 - 22", &["18.0.0", "22.9.9"], &["17.9.9", "23.0.0"]),
            ("20.x", &["20.0.0", "20.20.2"], &["21.0.0", "19.0.0"]),
            ("~20.3", &["20.3.9"], &["20.4.0"]),
            ("~20", &["20.9.0"], &["21.0.0"]),
            ("^0.12.1", &["0.12.9"], &["0.13.0", "1.0.0"]),
            (">18 <22", &["19.0.0", "21.9.0"], &["18.9.0", "22.0.0"]),
            ("<=20", &["20.9.9", "4.0.0"], &["21.0.0"]),
            ("22.4.1", &["22.4.1"], &["22.4.2"]),
            ("*", &["0.0.1", "99.0.0"], &[]),
            ("", &["0.0.1"], &[]),
            (">=v18.0.0-0", &["18.0.0"], &["17.0.0"]),
        ] {
            for version in inside {
                assert_eq!(is_met(range, version), Some(true), "{range} {version}");
            }
            for version in outside {
                assert_eq!(is_met(range, version), Some(false), "{range} {version}");
            }
        }
        for odd in ["latest", "lts/*", ">=a", "1.2.3.4", "20 ||| x", ">=", "20 - x.y.z.a", "=>"] {
            assert_eq!(is_met(odd, "20.0.0"), None, "{odd}");
        }
        assert_eq!(is_met(">=20", "20"), None);
        assert_eq!(is_met(&"1 ".repeat(1000), "1.0.0"), None);
        assert_eq!(is_met("99999999999999999999", "1.0.0"), None);
    }
}

//! Media types in headers, by the rules of RFC 9110.

use reqwest::header::{ACCEPT, CONTENT_TYPE, HeaderMap};

/// Whether a content has this type, whatever its parameters are.
pub(crate) fn has_type(headers: &HeaderMap, expected: &str) -> bool {
    let value = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
    value.is_some_and(|value| is_range(value, expected))
}

/// Whether a stream of events is asked for. Of several ranges of types, the one that says most counts.
pub(crate) fn accepts_events(headers: &HeaderMap) -> bool {
    let lines = headers.get_all(ACCEPT).iter().filter_map(|line| line.to_str().ok());
    let items: Vec<&str> = lines.flat_map(|line| line.split(',')).collect();
    let named = |range: &&str| items.iter().find(|item| is_range(item, range));
    let ranges = ["text/event-stream", "text/*", "*/*"];
    ranges.iter().find_map(named).is_some_and(|item| !is_refused(item))
}

fn is_range(item: &str, range: &str) -> bool {
    item.split(';').next().is_some_and(|range_of_item| range_of_item.trim().eq_ignore_ascii_case(range))
}

/// Whether a range has the weight 0.
fn is_refused(item: &str) -> bool {
    item.split(';').skip(1).any(|parameter| {
        let (name, value) = parameter.split_once('=').unwrap_or_default();
        name.trim().eq_ignore_ascii_case("q") && value.trim().parse::<f32>().is_ok_and(|weight| weight <= 0.0)
    })
}

#[cfg(test)]
mod tests {
    use reqwest::header::HeaderName;

    use super::*;

    #[test]
    fn types_are_compared_whole_and_in_any_case() {
        let headers = |name: &HeaderName, lines: &[&str]| {
            let mut headers = HeaderMap::new();
            for line in lines {
                headers.append(name, line.parse().unwrap());
            }
            headers
        };
        for (line, is_json) in [
            ("application/json", true),
            ("Application/JSON ; charset=utf-8", true),
            ("application/jsonl", false),
            ("text/plain; application/json", false),
        ] {
            assert_eq!(has_type(&headers(&CONTENT_TYPE, &[line]), "application/json"), is_json, "{line}");
        }
        for (lines, is_accepted) in [
            (&["Text/Event-Stream"][..], true),
            (&["application/json, text/event-stream;q=0.5"], true),
            (&["application/json", "text/*; q=0.1"], true),
            (&["text/html, */*;q=0.8"], true),
            (&[], false),
            (&["text/html"], false),
            (&["text/event-streams"], false),
            (&["text/event-stream; Q=0, */*"], false),
            (&["*/*;q=0.000"], false),
        ] {
            assert_eq!(accepts_events(&headers(&ACCEPT, lines)), is_accepted, "{lines:?}");
        }
    }
}

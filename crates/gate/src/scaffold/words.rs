//! Cleans up untrusted texts for use in a manifest.

use spdx::{Expression, ParseMode};

use acp_registry_http::address;
use acp_registry_plan::text::is_hidden;
use acp_registry_sources::RepositoryName;

/// Maximum length of a text to process, in characters; the rest is ignored.
const LOOKED_AT: usize = 4096;

/// Maximum length of a URL, in bytes.
const LONGEST_ADDRESS: usize = 500;

/// Hosts whose repositories are also available over https, whatever the scheme of the URL.
const FORGES: [&str; 4] = ["github.com", "gitlab.com", "bitbucket.org", "codeberg.org"];

/// Words that are written in capitals in names.
const CAPITALS: [&str; 5] = ["acp", "ai", "api", "cli", "ide"];

/// Package names that need their scope to be meaningful.
const GENERAL: [&str; 6] = ["acp", "agent", "app", "cli", "code", "server"];

/// Converts a text to one line of at most `limit` characters, without invisible characters. A longer text is cut at a
/// word and ends with `…`.
pub(super) fn line(text: &str, limit: usize) -> Option<String> {
    let visible = text.chars().take(LOOKED_AT).map(|c| if c.is_whitespace() || c.is_control() { ' ' } else { c });
    let visible: String = visible.filter(|c| !is_hidden(*c)).collect();
    let line = visible.split_whitespace().collect::<Vec<_>>().join(" ");
    if line.is_empty() {
        return None;
    }
    if line.chars().count() <= limit {
        return Some(line);
    }
    let cut: String = line.chars().take(limit.saturating_sub(1)).collect();
    let cut = cut.rsplit_once(' ').map_or(cut.as_str(), |(words, _)| words);
    Some(format!("{}…", cut.trim_end_matches([',', ';', ':', '.', ' '])))
}

/// The URL, if it is a plain https URL.
pub(super) fn link(text: &str) -> Option<String> {
    let text = text.trim();
    let url = address::parse(text).ok()?;
    let is_plain = text.len() <= LONGEST_ADDRESS && text.bytes().all(|b| b.is_ascii_graphic());
    (is_plain && url.scheme() == "https").then(|| text.to_owned())
}

/// The https URL of a repository, from the forms that package managers use.
pub(super) fn repository(text: &str) -> Option<String> {
    let text = text.trim();
    let text = text.strip_prefix("git+").unwrap_or(text);
    let of_forge = |rest: &str| {
        let host = rest.split(['/', ':']).next().unwrap_or_default();
        FORGES
            .contains(&host)
            .then(|| format!("https://{}", rest.replacen(&format!("{host}:"), &format!("{host}/"), 1)))
    };
    let short = [("github:", "github.com"), ("gitlab:", "gitlab.com"), ("bitbucket:", "bitbucket.org")];
    let shortened = short.iter().find_map(|(word, host)| Some(format!("https://{host}/{}", text.strip_prefix(word)?)));
    let moved = || {
        let ways = ["git://", "http://", "ssh://git@", "git@", "ssh://"];
        ways.iter().find_map(|way| of_forge(text.strip_prefix(way)?))
    };
    let bare = || Some(format!("https://github.com/{}", text.parse::<RepositoryName>().ok()?));
    let address = shortened.or_else(moved).or_else(bare).unwrap_or_else(|| text.to_owned());
    let address = address.split('#').next().unwrap_or_default().trim_end_matches('/');
    let link = link(address.strip_suffix(".git").unwrap_or(address))?;
    // Normalized as a client would: without `..`.
    Some(address::parse(&link).ok()?.as_str().trim_end_matches('/').to_owned())
}

/// The name of a person or organisation, without the mail and web addresses after it.
pub(super) fn person(text: &str) -> Option<String> {
    let name = line(text.split(['<', '(']).next()?, 80)?;
    (!name.contains('@')).then_some(name)
}

/// A licence in the form of manifests: an SPDX expression, or `proprietary`.
pub(super) fn license(text: &str) -> Option<String> {
    let text = text.trim();
    if text.is_empty() || text.len() > 100 {
        return None;
    }
    if ["UNLICENSED", "proprietary"].iter().any(|word| text.eq_ignore_ascii_case(word)) {
        return Some("proprietary".to_owned());
    }
    let mode = ParseMode { allow_deprecated: true, ..ParseMode::STRICT };
    // `MIT License` means `MIT`.
    let short = ["License", "license"].iter().find_map(|word| text.strip_suffix(word)).map_or(text, str::trim_end);
    if let Some(text) = [text, short].into_iter().find(|text| Expression::parse_mode(text, mode).is_ok()) {
        return Some(text.to_owned());
    }
    spdx::imprecise_license_id(text).filter(|(_, length)| *length == text.len()).map(|(id, _)| id.name.to_owned())
}

/// A display name from the name of a package or repository: a title is kept as it is, an identifier is split into
/// words. Returns `None` for an empty name.
pub(super) fn package_title(name: &str) -> Option<String> {
    const LONGEST: usize = 60;
    let (scope, bare) = name.strip_prefix('@').and_then(|name| name.split_once('/')).unwrap_or(("", name));
    let is_name = !bare.is_empty() && bare.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_.".contains(&b));
    if !is_name {
        return line(bare, LONGEST);
    }
    // Many packages are called `cli`, so the scope is kept.
    let is_general = GENERAL.contains(&bare.to_ascii_lowercase().as_str());
    let words = if is_general && !scope.is_empty() { format!("{scope}-{bare}") } else { bare.to_owned() };
    line(&title(&words.replace(['_', '.'], "-")), LONGEST)
}

/// A display name from an id.
pub(super) fn title(id: &str) -> String {
    let word = |word: &str| {
        if CAPITALS.contains(&word.to_ascii_lowercase().as_str()) {
            return word.to_ascii_uppercase();
        }
        let mut letters = word.chars();
        letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
    };
    id.split('-').filter(|part| !part.is_empty()).map(word).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_becomes_one_bounded_line() {
        for (text, limit, expected) in [
            (" An  agent\n\tfor\u{202e} you\u{1b}[31m ", 100, Some("An agent for you [31m")),
            ("one two, three", 12, Some("one two…")),
            ("abcdefgh", 4, Some("abc…")),
            ("\u{200b}\n", 9, None),
            ("", 9, None),
        ] {
            assert_eq!(line(text, limit).as_deref(), expected, "{text:?}");
        }
        assert!(line(&"é ".repeat(100_000), 200).unwrap().chars().count() <= 200);
    }

    #[test]
    fn only_https_is_carried_over() {
        for address in [
            "http://h.example/", "javascript:alert(1)", "https://u:p@h.example", "https://h.example/a b", "https://",
            "x",
        ] {
            assert_eq!(link(address), None, "{address}");
        }
        assert_eq!(link(&format!("https://h.example/{}", "a".repeat(500))), None);
        assert_eq!(link(" https://h.example/a "), Some("https://h.example/a".to_owned()));
    }

    #[test]
    fn repositories_are_written_in_many_ways() {
        let at = Some("https://github.com/o/r".to_owned());
        for text in [
            "git+https://github.com/o/r.git", "git://github.com/o/r.git", "github:o/r", "o/r",
            "git@github.com:o/r.git", "git+ssh://git@github.com/o/r.git", "https://github.com/o/r#readme",
            "http://github.com/o/r/",
        ] {
            assert_eq!(repository(text), at, "{text}");
        }
        let crooked = repository("git+ssh://git@github.com/../../a/b.git");
        assert_eq!(crooked.as_deref(), Some("https://github.com/a/b"));
        assert_eq!(repository("https://h.example/o/r.git").as_deref(), Some("https://h.example/o/r"));
        for text in ["http://h.example/o/r", "git@h.example:o/r", "file:///etc", "../..", "javascript:a/b", "a/b/c", ""]
        {
            assert_eq!(repository(text), None, "{text}");
        }
    }

    #[test]
    fn people_are_named_without_their_addresses() {
        assert_eq!(person("A B <a@h.example> (https://h.example)").as_deref(), Some("A B"));
        for text in ["<a@h.example>", "a@h.example", " ", ""] {
            assert_eq!(person(text), None, "{text}");
        }
    }

    #[test]
    fn licences_are_those_of_the_list() {
        for (text, expected) in [
            ("MIT", Some("MIT")),
            ("MIT OR Apache-2.0", Some("MIT OR Apache-2.0")),
            ("MIT License", Some("MIT")),
            ("UNLICENSED", Some("proprietary")),
            ("SEE LICENSE IN x", None),
            ("Permission is hereby granted", None),
            ("", None),
        ] {
            assert_eq!(license(text).as_deref(), expected, "{text}");
        }
    }

    #[test]
    fn the_name_of_a_package_becomes_a_title() {
        for (name, expected) in [
            ("@google/gemini-cli", Some("Gemini CLI")),
            ("pi-acp", Some("Pi ACP")),
            ("fast_agent.acp", Some("Fast Agent ACP")),
            ("@some-one/cli", Some("Some One CLI")),
            ("OpenHands", Some("OpenHands")),
            ("Codex: the  agent", Some("Codex: the agent")),
            ("\u{202e}", None),
            ("--", None),
        ] {
            assert_eq!(package_title(name).as_deref(), expected, "{name}");
        }
    }

    #[test]
    fn an_id_becomes_a_title() {
        assert_eq!(title("some-agent-cli"), "Some Agent CLI");
        assert_eq!(title("x--2"), "X 2");
    }
}

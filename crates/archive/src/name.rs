//! Checks and normalizes entry names, by the rules of all operating systems.

use super::Reason;
use super::limits::{DEPTH, NAME_LENGTH, PATH_LENGTH};
use acp_registry_plan::text::is_hidden;

/// Normalizes a path: components joined by `/`, without `.`. Empty for the root of the archive.
pub(super) fn normalise(raw: &[u8]) -> Result<String, Reason> {
    let text = slashed(raw)?;
    if let Some(reason) = leaves_by_itself(&text) {
        return Err(reason);
    }
    let mut path = String::with_capacity(text.len());
    for (depth, part) in parts(&text).enumerate() {
        if part == ".." {
            return Err(Reason::Parent);
        }
        check_part(part)?;
        if depth >= DEPTH {
            return Err(Reason::TooDeep);
        }
        if !path.is_empty() {
            path.push('/');
        }
        path.push_str(part);
    }
    Ok(path)
}

/// Why no client could create or start a file at this path below a directory; `None` if all systems can.
#[must_use]
pub fn path_problem(path: &str) -> Option<Reason> {
    normalise(path.as_bytes()).err()
}

/// Normalizes the target of a symbolic link. Where it leads is checked by the tree, which knows all links.
pub(super) fn normalise_target(raw: &[u8]) -> Result<String, Reason> {
    let text = slashed(raw)?;
    if leaves_by_itself(&text).is_some() {
        return Err(Reason::LinkLeaves { target: text });
    }
    parts(&text).filter(|part| *part != "..").try_for_each(check_part)?;
    Ok(text)
}

/// The components of a path, without `.`.
pub(super) fn parts(path: &str) -> impl DoubleEndedIterator<Item = &str> {
    path.split('/').filter(|part| !part.is_empty() && *part != ".")
}

/// Converts backslashes to slashes, as clients on Windows do.
fn slashed(raw: &[u8]) -> Result<String, Reason> {
    if raw.is_empty() {
        return Err(Reason::Empty);
    }
    if raw.len() > PATH_LENGTH {
        return Err(Reason::NameTooLong);
    }
    let text = std::str::from_utf8(raw).map_err(|_| Reason::NotUtf8)?;
    Ok(text.replace('\\', "/"))
}

fn leaves_by_itself(text: &str) -> Option<Reason> {
    let bytes = text.as_bytes();
    if text.starts_with("//") {
        Some(Reason::Unc)
    } else if text.starts_with('/') {
        Some(Reason::Absolute)
    } else if bytes[0].is_ascii_alphabetic() && bytes.get(1) == Some(&b':') {
        Some(Reason::Drive)
    } else {
        None
    }
}

fn check_part(part: &str) -> Result<(), Reason> {
    if part.len() > NAME_LENGTH {
        Err(Reason::NameTooLong)
    } else if part.contains(is_hidden) {
        Err(Reason::ControlCharacter)
    } else if part.contains(':') {
        Err(Reason::Colon)
    } else if part.ends_with(['.', ' ']) {
        Err(Reason::TrailingDotOrSpace)
    } else if is_device(part) {
        Err(Reason::DeviceName)
    } else {
        Ok(())
    }
}

/// Whether Windows treats the name as a device, whatever its extension.
#[must_use]
pub fn is_device(part: &str) -> bool {
    let stem = part.split('.').next().unwrap_or(part).trim_end_matches(' ');
    let is = |name: &str| stem.eq_ignore_ascii_case(name);
    if ["CON", "PRN", "AUX", "NUL", "CONIN$", "CONOUT$"].into_iter().any(is) {
        return true;
    }
    let numbered = ["COM", "LPT"].into_iter().find_map(|port| {
        stem.get(..port.len()).filter(|head| head.eq_ignore_ascii_case(port)).map(|_| &stem[port.len()..])
    });
    numbered
        .is_some_and(|number| matches!(number, "1" | "2" | "3" | "4" | "5" | "6" | "7" | "8" | "9" | "¹" | "²" | "³"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_of_bad_name_has_its_own_reason() {
        let long = "x".repeat(256);
        let deep = "d/".repeat(200);
        let endless = "a/".repeat(2049);
        for (name, reason) in [
            ("", Reason::Empty),
            ("/etc/passwd", Reason::Absolute),
            ("\\etc", Reason::Absolute),
            ("\\\\host\\share\\x", Reason::Unc),
            ("//host/x", Reason::Unc),
            ("C:/x", Reason::Drive),
            ("c:x", Reason::Drive),
            ("..", Reason::Parent),
            ("a/../../b", Reason::Parent),
            ("a\\..\\..\\b", Reason::Parent),
            ("a/b\u{7}", Reason::ControlCharacter),
            ("a\nb", Reason::ControlCharacter),
            ("a\0b", Reason::ControlCharacter),
            ("ex\u{202e}gpj.exe", Reason::ControlCharacter),
            ("a/file.txt:stream", Reason::Colon),
            ("a./b", Reason::TrailingDotOrSpace),
            ("a ", Reason::TrailingDotOrSpace),
            ("...", Reason::TrailingDotOrSpace),
            ("a/CON", Reason::DeviceName),
            ("aux.txt", Reason::DeviceName),
            ("nul .tar.gz", Reason::DeviceName),
            ("com1", Reason::DeviceName),
            ("COM\u{b9}.log", Reason::DeviceName),
            ("lpt9/x", Reason::DeviceName),
            (&long, Reason::NameTooLong),
            (&endless, Reason::NameTooLong),
            (&deep, Reason::TooDeep),
        ] {
            assert_eq!(normalise(name.as_bytes()), Err(reason), "{name:?}");
        }
        assert_eq!(normalise(b"a\xff"), Err(Reason::NotUtf8));
    }

    #[test]
    fn good_names_are_put_into_one_form() {
        for (name, path) in [
            ("./bin/agent", "bin/agent"),
            ("bin\\agent.exe", "bin/agent.exe"),
            ("a//b/./c/", "a/b/c"),
            ("./", ""),
            ("._agent", "._agent"),
            ("__MACOSX/._x", "__MACOSX/._x"),
            ("console/common/com10/auxiliary", "console/common/com10/auxiliary"),
            ("Grüße/日本語", "Grüße/日本語"),
            ("a..b/..c", "a..b/..c"),
        ] {
            assert_eq!(normalise(name.as_bytes()).as_deref(), Ok(path), "{name:?}");
        }
    }
}

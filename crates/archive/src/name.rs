//! Checks and normalizes entry names, by the rules of all operating systems.

use super::UnsafeReason;
use super::meter::{DEPTH, NAME_LENGTH, PATH_LENGTH};
use acp_registry_plan::text::is_hidden;

/// Normalizes a path: components joined by `/`, without `.`. Empty for the root of the archive.
pub(super) fn normalise(raw: &[u8]) -> Result<String, UnsafeReason> {
    joined(&slashed(raw)?, check_part)
}

/// Normalizes a path in the archive of an npm package, without its first component. Such packages have names that other
/// systems refuse, and npm installs them; nothing leaves the archive here either. `None` for what lies beside all folders.
pub(super) fn normalise_member(raw: &[u8]) -> Result<Option<String>, UnsafeReason> {
    if raw.len() > PATH_LENGTH {
        return Err(UnsafeReason::NameTooLong);
    }
    let text = std::str::from_utf8(raw).map_err(|_| UnsafeReason::NotUtf8)?;
    let path = joined(text, |part| match part {
        _ if part.len() > NAME_LENGTH => Err(UnsafeReason::NameTooLong),
        _ if part.contains('\\') => Err(UnsafeReason::Backslash),
        _ if part.contains(char::is_control) => Err(UnsafeReason::ControlCharacter),
        _ => Ok(()),
    })?;
    let Some((_, path)) = path.split_once('/') else { return Ok(None) };
    // npm does not install a list of what git ignores under its own name.
    let (above, last) = path.rsplit_once('/').map_or(("", path), |(above, last)| (above, last));
    let slash = if above.is_empty() { "" } else { "/" };
    Ok(Some(if last == ".gitignore" { format!("{above}{slash}.npmignore") } else { path.to_owned() }))
}

fn joined(text: &str, check: impl Fn(&str) -> Result<(), UnsafeReason>) -> Result<String, UnsafeReason> {
    if text.is_empty() {
        return Err(UnsafeReason::Empty);
    }
    if let Some(reason) = leaves_by_itself(text) {
        return Err(reason);
    }
    let mut path = String::with_capacity(text.len());
    for (depth, part) in parts(text).enumerate() {
        if part == ".." {
            return Err(UnsafeReason::Parent);
        }
        check(part)?;
        if depth >= DEPTH {
            return Err(UnsafeReason::TooDeep);
        }
        if !path.is_empty() {
            path.push('/');
        }
        path.push_str(part);
    }
    Ok(path)
}

/// Why no client could create or start a file at this path below a directory; `None` if all systems can.
pub fn path_problem(path: &str) -> Option<UnsafeReason> {
    normalise(path.as_bytes()).err()
}

/// Normalizes the target of a symbolic link. Where it leads is checked by the tree, which knows all links.
pub(super) fn normalise_target(raw: &[u8]) -> Result<String, UnsafeReason> {
    let text = slashed(raw)?;
    if leaves_by_itself(&text).is_some() {
        return Err(UnsafeReason::LinkLeaves { target: text });
    }
    parts(&text).filter(|part| *part != "..").try_for_each(check_part)?;
    Ok(text)
}

/// The components of a path, without `.`.
pub(super) fn parts(path: &str) -> impl DoubleEndedIterator<Item = &str> {
    path.split('/').filter(|part| !part.is_empty() && *part != ".")
}

/// Converts backslashes to slashes, as clients on Windows do.
fn slashed(raw: &[u8]) -> Result<String, UnsafeReason> {
    if raw.is_empty() {
        return Err(UnsafeReason::Empty);
    }
    if raw.len() > PATH_LENGTH {
        return Err(UnsafeReason::NameTooLong);
    }
    let text = std::str::from_utf8(raw).map_err(|_| UnsafeReason::NotUtf8)?;
    Ok(text.replace('\\', "/"))
}

fn leaves_by_itself(text: &str) -> Option<UnsafeReason> {
    let bytes = text.as_bytes();
    if text.starts_with("//") {
        Some(UnsafeReason::Unc)
    } else if text.starts_with('/') {
        Some(UnsafeReason::Absolute)
    } else if bytes[0].is_ascii_alphabetic() && bytes.get(1) == Some(&b':') {
        Some(UnsafeReason::Drive)
    } else {
        None
    }
}

fn check_part(part: &str) -> Result<(), UnsafeReason> {
    if part.len() > NAME_LENGTH {
        Err(UnsafeReason::NameTooLong)
    } else if part.contains(is_hidden) {
        Err(UnsafeReason::ControlCharacter)
    } else if part.contains(':') {
        Err(UnsafeReason::Colon)
    } else if part.ends_with(['.', ' ']) {
        Err(UnsafeReason::TrailingDotOrSpace)
    } else if is_device(part) {
        Err(UnsafeReason::DeviceName)
    } else {
        Ok(())
    }
}

/// Whether Windows treats the name as a device, whatever its extension.
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
            ("", UnsafeReason::Empty),
            ("/etc/passwd", UnsafeReason::Absolute),
            ("\\etc", UnsafeReason::Absolute),
            ("\\\\host\\share\\x", UnsafeReason::Unc),
            ("//host/x", UnsafeReason::Unc),
            ("C:/x", UnsafeReason::Drive),
            ("c:x", UnsafeReason::Drive),
            ("..", UnsafeReason::Parent),
            ("a/../../b", UnsafeReason::Parent),
            ("a\\..\\..\\b", UnsafeReason::Parent),
            ("a/b\u{7}", UnsafeReason::ControlCharacter),
            ("a\nb", UnsafeReason::ControlCharacter),
            ("a\0b", UnsafeReason::ControlCharacter),
            ("ex\u{202e}gpj.exe", UnsafeReason::ControlCharacter),
            ("a/file.txt:stream", UnsafeReason::Colon),
            ("a./b", UnsafeReason::TrailingDotOrSpace),
            ("a ", UnsafeReason::TrailingDotOrSpace),
            ("...", UnsafeReason::TrailingDotOrSpace),
            ("a/CON", UnsafeReason::DeviceName),
            ("aux.txt", UnsafeReason::DeviceName),
            ("nul .tar.gz", UnsafeReason::DeviceName),
            ("com1", UnsafeReason::DeviceName),
            ("COM\u{b9}.log", UnsafeReason::DeviceName),
            ("lpt9/x", UnsafeReason::DeviceName),
            (&long, UnsafeReason::NameTooLong),
            (&endless, UnsafeReason::NameTooLong),
            (&deep, UnsafeReason::TooDeep),
        ] {
            assert_eq!(normalise(name.as_bytes()), Err(reason), "{name:?}");
        }
        assert_eq!(normalise(b"a\xff"), Err(UnsafeReason::NotUtf8));
        assert_eq!(normalise_member(b"package/x\\y"), Err(UnsafeReason::Backslash));
        assert_eq!(normalise_member(b"package/x\ty"), Err(UnsafeReason::ControlCharacter));
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

//! The version and the format in an archive's URL.

mod versions;

#[cfg(test)]
mod tests;

pub use versions::starts_prerelease;
pub use versions::{UrlVersion, compare_version};

use std::borrow::Cow;
use std::cell::OnceCell;

use versions::versions;

/// Words that name a channel, whose content changes from version to version. `latest` is handled separately.
const CHANNELS: &[&str] = &["nightly", "stable", "current", "head", "tip", "canary", "edge"];

/// Common names of branches.
const BRANCHES: &[&str] = &["main", "master", "trunk", "develop"];

/// Path segments that are followed by the name of a branch or a tag.
const BEFORE_BRANCHES: &[&str] = &["raw", "blob", "heads", "archive", "zipball", "tarball"];

/// The part of a URL whose content changes from version to version, such as `latest`, if any.
#[must_use]
pub fn moving_reference(url: &str) -> Option<String> {
    let (path, query) = path_and_query(url);
    let segments: Vec<&str> = path.split('/').collect();
    let file = segments.last().copied().unwrap_or_default();
    // In a URL with a version, these words may name an owner or a program; only `latest` still means another release.
    let pinned = OnceCell::new();
    let is_pinned = || *pinned.get_or_init(|| !versions(url, None).is_empty());
    let is_latest = |word: &str| word.eq_ignore_ascii_case("latest");
    let values = query.split(['&', ';']).map(|pair| pair.rsplit('=').next().unwrap_or(pair));
    let mut words = segments.iter().copied().chain(values);
    let mut parts = file.split(['-', '_', '.', '@', '+']);
    let word = words
        .find(|word| is_latest(word) || (is_one_of(word, CHANNELS) && !is_pinned()))
        .or_else(|| parts.find(|part| is_latest(part) || (part.eq_ignore_ascii_case("nightly") && !is_pinned())));

    let stem = |segment: &str| segment.split('.').next().unwrap_or_default().to_owned();
    let named = segments.windows(2).filter(|pair| is_one_of(pair[0], BEFORE_BRANCHES)).map(|pair| stem(pair[1]));
    let own = || Some(stem(file)).filter(|name| is_one_of(name, BRANCHES) && !is_pinned());
    let mut named = named.filter(|name| is_one_of(name, BRANCHES));
    word.map(ToOwned::to_owned).or_else(|| named.next()).or_else(own)
}

fn is_one_of(word: &str, known: &[&str]) -> bool {
    known.iter().any(|known| word.eq_ignore_ascii_case(known))
}

/// The format of an archive, by its file name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// `.zip`
    Zip,
    /// `.tar.gz`, `.tgz`
    TarGz,
    /// `.tar.bz2`, `.tbz2`
    TarBz2,
    /// The program itself.
    Raw,
}

/// The format of the archive at a URL.
///
/// # Errors
/// Returns the suffix of a format that clients cannot unpack, in lower case with its dot.
pub fn format(url: &str) -> Result<Format, &'static str> {
    const UNSUPPORTED: &[&str] = &[
        ".tar.xz", ".tar.zst", ".tar.lz", ".tar.z", ".tar", ".txz", ".tzst", ".xz", ".zst", ".gz", ".bz2", ".7z",
        ".rar", ".dmg", ".pkg", ".deb", ".rpm", ".msi", ".msix", ".appx", ".appimage", ".snap", ".flatpak", ".apk",
        ".iso", ".cab", ".whl", ".gem", ".nupkg", ".vsix", ".jar", ".sig", ".asc", ".sha256", ".sha512", ".pem",
        ".html", ".htm", ".txt", ".md", ".json", ".xml",
    ];
    let (path, _) = path_and_query(url);
    let path = path.trim_end_matches('/').to_ascii_lowercase();
    let ends = |endings: &[&str]| endings.iter().any(|ending| path.ends_with(ending));
    if ends(&[".zip"]) {
        Ok(Format::Zip)
    } else if ends(&[".tar.gz", ".tgz"]) {
        Ok(Format::TarGz)
    } else if ends(&[".tar.bz2", ".tbz2"]) {
        Ok(Format::TarBz2)
    } else {
        UNSUPPORTED.iter().find(|ending| path.ends_with(**ending)).map_or(Ok(Format::Raw), |ending| Err(ending))
    }
}

/// Path and query of a URL, percent-decoded, without scheme and host.
fn path_and_query(url: &str) -> (Cow<'_, str>, Cow<'_, str>) {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let rest = rest.find(['/', '?', '#']).map_or("", |at| &rest[at..]);
    let rest = rest.split('#').next().unwrap_or_default();
    let (path, query) = rest.split_once('?').unwrap_or((rest, ""));
    (decode(path), decode(query))
}

fn decode(text: &str) -> Cow<'_, str> {
    let hex = |b: u8| char::from(b).to_digit(16);
    if !text.contains('%') {
        return Cow::Borrowed(text);
    }
    let bytes = text.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        let pair = bytes.get(at + 1).zip(bytes.get(at + 2)).and_then(|(&a, &b)| Some(hex(a)? * 16 + hex(b)?));
        match (bytes[at], pair.and_then(|value| u8::try_from(value).ok())) {
            (b'%', Some(value)) => {
                out.push(value);
                at += 3;
            }
            (byte, _) => {
                out.push(byte);
                at += 1;
            }
        }
    }
    Cow::Owned(String::from_utf8_lossy(&out).into_owned())
}

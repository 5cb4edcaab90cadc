//! Values of flags that are no plain text: what is wrong with them, and how they are written.

use std::ops::RangeInclusive;

use acp_registry::manifest::{NpmSpec, PypiSpec};
use acp_registry::propose::Slug;
use acp_registry::scaffold::GithubSpec;

/// An error of a value, with what to write; the parser of arguments shows the latter as a tip.
pub(super) fn wrong(what: impl std::fmt::Display, tip: &str) -> String {
    format!("{what}\n\n  tip: {tip}")
}

/// A package of the npm registry.
pub(super) fn npm(text: &str) -> Result<NpmSpec, String> {
    let tip = "write the name of a package, `NAME` or `@SCOPE/NAME`, with `@VERSION` behind it for one version";
    text.parse().map_err(|error| wrong(error, tip))
}

/// A project of the Python package index.
pub(super) fn pypi(text: &str) -> Result<PypiSpec, String> {
    let tip = "write the name of a package, `NAME`, with `==VERSION` behind it for one version";
    text.parse().map_err(|error| wrong(error, tip))
}

/// A repository on GitHub, perhaps with a tag.
pub(super) fn github(text: &str) -> Result<GithubSpec, String> {
    let tip = "write a repository as `OWNER/REPO`, with `@TAG` behind it for one release";
    text.parse().map_err(|error| wrong(error, tip))
}

/// A repository on GitHub, without a tag.
pub(super) fn repository(text: &str) -> Result<GithubSpec, String> {
    let spec = github(text).ok().filter(|spec| spec.tag.is_none());
    spec.ok_or_else(|| wrong("is not the name of a repository", "write a repository as `OWNER/REPO`, without a tag"))
}

/// The same, as the interface for programs names it.
pub(super) fn slug(text: &str) -> Result<Slug, String> {
    text.parse().map_err(|error| wrong(error, "write a repository as `OWNER/NAME`"))
}

/// A whole number within bounds.
pub(super) fn number(range: RangeInclusive<u16>) -> impl Fn(&str) -> Result<u16, String> + Clone {
    move |text| {
        let number = text.parse().ok().filter(|number| range.contains(number));
        number.ok_or_else(|| format!("write a whole number from {} to {}", range.start(), range.end()))
    }
}

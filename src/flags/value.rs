//! Parsers of flag values, with messages that show the expected form.

use std::ops::RangeInclusive;

use acp_registry::elsewhere::Machine;
use acp_registry::install::Kind;
use acp_registry::manifest::{NpmSpec, Platform, PypiSpec, env_name};
use acp_registry::scaffold::GithubSpec;
use acp_registry::sources::{RepositoryName, RepositoryNameError};
use acp_registry::verify::ShardFile;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap_complete::ArgValueCandidates;

/// Formats an error with the expected form, which clap shows as a tip.
pub(crate) fn wrong(what: impl std::fmt::Display, tip: &str) -> String {
    format!("{what}\n\n  tip: {tip}")
}

/// The supported platforms, as candidates of a completion.
pub(crate) fn platforms() -> ArgValueCandidates {
    ArgValueCandidates::new(|| Platform::ALL.iter().map(|platform| platform.as_str().into()).collect())
}

/// Parses a package of the npm registry.
pub(crate) fn npm(text: &str) -> Result<NpmSpec, String> {
    let tip = "write the name of a package, `NAME` or `@SCOPE/NAME`, with `@VERSION` behind it for one version";
    text.parse().map_err(|error| wrong(error, tip))
}

/// Parses a project of the Python package index.
pub(crate) fn pypi(text: &str) -> Result<PypiSpec, String> {
    let tip = "write the name of a package, `NAME`, with `==VERSION` behind it for one version";
    text.parse().map_err(|error| wrong(error, tip))
}

/// Parses a repository on GitHub, with an optional tag.
pub(crate) fn github(text: &str) -> Result<GithubSpec, String> {
    let tip = "write a repository as `OWNER/REPO`, with `@TAG` behind it for one release";
    text.parse().map_err(|error| wrong(error, tip))
}

/// Parses a repository on GitHub without a tag.
pub(crate) fn repository(text: &str) -> Result<RepositoryName, String> {
    let spec = text.parse::<GithubSpec>().ok().filter(|spec| spec.tag.is_none()).map(|spec| spec.repository);
    spec.ok_or_else(|| wrong(RepositoryNameError, "write a repository as `OWNER/REPO`, without a tag"))
}

/// Parses a part of a snapshot with its file.
pub(crate) fn shard_file(text: &str) -> Result<ShardFile, String> {
    text.parse().map_err(|error| wrong(error, "write the part and its file, such as `1/4=one.json`"))
}

/// Parses the name of a variable that an agent may be given.
pub(crate) fn variable(name: &str) -> Result<String, String> {
    env_name::problem_for_person(name).map_or_else(|| Ok(name.to_owned()), |problem| Err(format!("it {problem}")))
}

/// Parses another machine.
pub(crate) fn machine(text: &str) -> Result<Machine, String> {
    text.parse().map_err(|error| wrong(error, "write `ssh:HOST` or `wsl:DISTRIBUTION`"))
}

/// Parses an integer in a range.
pub(crate) fn number(range: RangeInclusive<u16>) -> impl Fn(&str) -> Result<u16, String> + Clone {
    move |text| {
        let number = text.parse().ok().filter(|number| range.contains(number));
        number.ok_or_else(|| format!("write a whole number from {} to {}", range.start(), range.end()))
    }
}

/// Parses the kind of a distribution. Help names the kinds in the order in which they are preferred.
pub(crate) fn kind() -> impl TypedValueParser<Value = Kind> {
    parse_name(&[Kind::Binary, Kind::Npx, Kind::Uvx], Kind::as_str)
}

/// Parses one of these values by its name.
pub(crate) fn parse_name<T: Copy + Send + Sync + 'static>(
    all: &'static [T],
    name: fn(T) -> &'static str,
) -> impl TypedValueParser<Value = T> {
    let named = move |text: String| all.iter().copied().find(|one| name(*one) == text).ok_or("is none of them");
    PossibleValuesParser::new(all.iter().map(|one| name(*one))).try_map(named)
}

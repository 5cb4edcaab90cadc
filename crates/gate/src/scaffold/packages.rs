//! Creates drafts from npm and PyPI packages.

use std::path::Path;

use super::origin::{Draft, LATEST, Scaffolder, SourceFacts, newest};
use super::{Error, words};
use crate::bump::Offers;
use acp_registry_client::install::{self, Installer};
use acp_registry_plan::manifest::extension::is_command;
use acp_registry_plan::manifest::{
    Channel, Distribution, NpmSpec, Package, Pin, PypiSpec, Version, pypi_version_matches,
};
use acp_registry_plan::text::quote;
use acp_registry_sources::npm::Bin;

/// Maximum number of names in a message.
const SHOWN: usize = 5;

/// The remedy if uvx finds nothing to start in a package.
pub(super) const OTHER_COMMAND: &str = "name a command with `--cmd`, or the package that has it";

impl Scaffolder<'_> {
    pub(super) async fn npm(&self, spec: &NpmSpec) -> Result<SourceFacts, Error> {
        let name = &spec.name;
        let registry = self.sources.npm.as_ref();
        let registry = registry.ok_or_else(|| Error::UnknownSource("no npm registry is known".to_owned()))?;
        let described = registry.described(self.client, name).await?;
        let described = described.ok_or_else(|| Error::NoPackage {
            message: format!("npm has no package {}", quote(name)),
            remedy: "correct the name, or the registry that npm is configured with",
        })?;
        let packument = &described.packument;
        let no_version = |message: String| Error::NoVersion {
            message,
            newest: newest(&Offers::from_packument(packument)).map(|(_, text)| text),
        };
        let version = match &spec.pin {
            Pin::Exact(version) => version.clone(),
            Pin::Tag(tag) => packument
                .tags
                .get(tag)
                .cloned()
                .ok_or_else(|| no_version(format!("the package {} has no tag {}", quote(name), quote(tag))))?,
            Pin::Range(range) => return Err(no_range(name, range)),
            Pin::None => newest(&Offers::from_packument(packument))
                .map(|(_, text)| text)
                .ok_or_else(|| only_prereleases(name, &packument.versions(), "@"))?,
        };
        let missing = || no_version(format!("npm has no version {} of {}", quote(&version), quote(name)));
        let published = packument.version(&version).ok_or_else(missing)?;
        // Tags and version keys of the registry are not trusted.
        let package = format!("{name}@{version}");
        if package.parse::<NpmSpec>().map(|spec| spec.pin) != Ok(Pin::Exact(version.clone())) {
            return Err(Error::unfit(format!("{} is not a version that npx accepts", quote(&version))));
        }
        let mut notes = Vec::new();
        self.refuse_path()?;
        let command = match (&published.bin, self.command) {
            (Bin::None, _) => {
                let message = format!("{} has no command, so npx has nothing to start", quote(&package));
                return Err(Error::unfit_with(message, "name the package that has the agent's command"));
            }
            (_, Some(wanted)) if published.has_command(wanted) == Some(false) => {
                let shown = listed(published.commands());
                return Err(Error::unfit(format!(
                    "{} has no command {}, only {shown}",
                    quote(&package),
                    quote(wanted)
                )));
            }
            (Bin::One(own), Some(wanted)) => (own != wanted).then_some(wanted),
            (Bin::One(_), None) => None,
            (Bin::Several { .. }, Some(wanted)) => Some(wanted),
            (Bin::Several { names, count }, None) => {
                let message = format!(
                    "{} has {count} commands ({}), and npx cannot choose: none has the name of the package",
                    quote(&package),
                    listed(names.iter().map(String::as_str))
                );
                return Err(Error::unfit_with(message, "name one with `--cmd`"));
            }
        };
        notes.extend(command.map(extended));
        if let Some(reason) = &published.deprecated {
            let reason = words::line(reason, SHOWN * 20).unwrap_or_default();
            notes.push(format!("{} is deprecated: {}", quote(&package), quote(&reason)));
        }
        let npx = Some(Package { package, command: command.map(ToOwned::to_owned), ..Package::default() });
        Ok(SourceFacts {
            about: described.about(&version),
            version,
            distribution: Distribution { npx, ..Distribution::default() },
            notes,
        })
    }

    pub(super) async fn pypi(&self, spec: &PypiSpec) -> Result<SourceFacts, Error> {
        let name = &spec.name;
        let index = self.sources.pypi.as_ref();
        let index = index.ok_or_else(|| Error::UnknownSource("no Python package index is known".to_owned()))?;
        let project = index.project(self.client, name).await?;
        let project = project.ok_or_else(|| Error::NoPackage {
            message: format!("the Python index has no project {}", quote(name)),
            remedy: "correct the name, or the index that uv and pip are configured with",
        })?;
        let mut notes = Vec::new();
        let pin = match &spec.pin {
            Pin::Tag(word) if word == LATEST => &Pin::None,
            pin => pin,
        };
        let (version, text) = match pin {
            Pin::None => newest(&Offers::from_project(&project, Channel::Stable)).ok_or_else(|| {
                let versions = project.versions();
                only_prereleases(name, &versions.iter().map(String::as_str).collect::<Vec<_>>(), "==")
            })?,
            Pin::Exact(wanted) => {
                let missing = || Error::NoVersion {
                    message: format!("the Python index has no version {} of {}", quote(wanted), quote(name)),
                    newest: newest(&Offers::from_project(&project, Channel::Stable)).map(|(_, text)| text),
                };
                let release = project.release(wanted).ok_or_else(missing)?;
                if let Some(reason) = &release.yanked {
                    let reason = words::line(reason, SHOWN * 20).unwrap_or_default();
                    notes.push(format!("{} {wanted} was yanked: {}", quote(name), quote(&reason)));
                }
                let stated = |offer: &crate::bump::SourceVersion| pypi_version_matches(wanted, offer.version.as_str());
                let offers = Offers::from_project(&project, Channel::Preview);
                let version = offers.all().find(|offer| stated(offer)).map(|offer| offer.version.clone());
                let formless =
                    || Error::unfit(format!("the version {} has no form that a manifest could state", quote(wanted)));
                (version.or_else(|| Version::parse_loose(wanted)).ok_or_else(formless)?, wanted.clone())
            }
            Pin::Tag(word) | Pin::Range(word) => return Err(no_range(name, word)),
        };
        let about = match index.about(self.client, name, &text).await {
            Ok(about) => about,
            Err(error) => {
                notes.push(format!("nothing is known of {} but its versions: {error}", quote(name)));
                acp_registry_sources::PublisherFacts::default()
            }
        };
        self.refuse_path()?;
        let command = self.command.filter(|command| command != name);
        notes.extend(command.map(extended));
        let command = command.map(ToOwned::to_owned);
        let uvx = Some(Package { package: spec.in_version(&text), command, ..Package::default() });
        let distribution = Distribution { uvx, ..Distribution::default() };
        Ok(SourceFacts { version: version.in_full(), distribution, about, notes })
    }
}

impl Draft {
    /// Names the command of a Python package that uvx does not start by the name of the package. The index does not list
    /// commands: uv fetches the package below `temporary`.
    ///
    /// # Errors
    /// Returns [`Error::Unfit`] if uvx has nothing to start, or the package has several other commands.
    pub async fn name_command(&mut self, installer: &Installer, temporary: &Path) -> Result<(), Error> {
        let uvx = self.agent.distribution.uvx.as_mut();
        let Some(uvx) = uvx.filter(|uvx| uvx.command.is_none()) else { return Ok(()) };
        match installer.command_for_uvx(uvx, temporary).await {
            Ok(command) => {
                self.notes.extend(command.as_deref().map(extended));
                uvx.command = command;
            }
            Err(error @ install::Error::NoCommand { .. }) => {
                return Err(Error::unfit_with(error.to_string(), OTHER_COMMAND));
            }
            Err(error) => self.notes.push(format!(
                "see that {} has a command of exactly that name, for uvx starts no other without `command`: {error}",
                quote(&uvx.package)
            )),
        }
        Ok(())
    }
}

impl Scaffolder<'_> {
    /// Returns an error if the named command is not valid in a manifest.
    fn refuse_path(&self) -> Result<(), Error> {
        match self.command.filter(|command| !is_command(command)) {
            Some(command) => Err(Error::unfit(format!("{} is not the name of a command", quote(command)))),
            None => Ok(()),
        }
    }
}

/// Lists the first few commands, for a message.
fn listed<'a>(commands: impl Iterator<Item = &'a str>) -> String {
    commands.take(SHOWN).map(quote).collect::<Vec<_>>().join(", ")
}

/// A note about manifests with `command`.
fn extended(command: &str) -> String {
    format!("`command` ({}) is published only in views with `package-extensions = true`", quote(command))
}

fn no_range(name: &str, range: &str) -> Error {
    let message = format!("{} of {} is not a complete version", quote(range), quote(name));
    Error::unfit_with(message, "name one such as 1.2.3, or none for the newest")
}

fn only_prereleases(name: &str, versions: &[&str], sign: &str) -> Error {
    // An untrusted version with special characters is not suggested as an argument.
    let is_plain = |text: &str| text.bytes().all(|b| b.is_ascii_alphanumeric() || b".-+!_".contains(&b));
    match versions.iter().find(|version| is_plain(version)) {
        None if versions.is_empty() => Error::unfit(format!("{} has no versions", quote(name))),
        None => Error::unfit(format!("{} has no version that could be named", quote(name))),
        Some(newest) => Error::unfit_with(
            format!("{} has no stable version that counts", quote(name)),
            format!("for the newest one, write {}", quote(&format!("{name}{sign}{newest}"))),
        ),
    }
}

//! Agents that are archives of a release on GitHub.

use std::fs::File;
use std::io::{self, Write as _};
use std::sync::Arc;

use futures_util::future::join_all;
use sha2::{Digest as _, Sha256};
use tokio::task::spawn_blocking;

use super::assets::{self, Chosen};
use super::origin::{Found, GithubSpec, Scaffolder};
use super::{Error, program};
use crate::archive::{self, Format, Limits};
use crate::bump::version_of_tag;
use crate::hex;
use crate::manifest::{BinaryTarget, Distribution, Platform, Version};
use crate::net::{Sink, address};
use crate::text::quote;
use crate::upstream::github::{Release, ReleaseId};

/// How many names a message has.
const SHOWN: usize = 8;

impl Scaffolder<'_> {
    /// Finds the newest release that has files for a platform, and what is started in them.
    pub(super) async fn github(&self, id: &str, spec: &GithubSpec) -> Result<Found, Error> {
        let github = &self.sources.github;
        let GithubSpec { owner, name, .. } = spec;
        let repository = quote(&format!("{owner}/{name}"));
        let about = github.about(self.client, owner, name).await?;
        let about = about.ok_or_else(|| Error::Unfit(format!("GitHub has no repository {repository}")))?;
        let names: Vec<&str> = self.command.into_iter().chain([id, name.as_str()]).collect();
        let release = self.release(spec, &names).await?;
        let version = version_of_tag(&release.tag).map(|(_, version)| version);
        let formless = || Error::Unfit(format!("the tag {} of {repository} names no version", quote(&release.tag)));
        let version: Version = version.ok_or_else(formless)?;

        let chosen = assets::choose(&release, &names);
        let targets = join_all(chosen.iter().map(|chosen| self.target(spec, &release, chosen, &names))).await;
        let (mut binary, mut notes) = (Vec::new(), Vec::new());
        for (chosen, target) in chosen.iter().zip(targets) {
            let platform = chosen.platform;
            match target? {
                Ok(target) => binary.push(target),
                Err(why) => notes.push(format!("add {platform}, which was left out: {why}")),
            }
            if !chosen.others.is_empty() {
                let others = shown(chosen.others.iter().copied());
                notes.push(format!(
                    "see whether {} is right for {platform}; there are also {others}",
                    quote(&chosen.asset.name)
                ));
            }
        }
        if binary.is_empty() {
            return Err(Error::Unfit(format!(
                "nothing in {} of {repository} can be started: {}",
                quote(&release.tag),
                notes.join("; ")
            )));
        }
        let distribution = Distribution { binary, ..Distribution::default() };
        Ok(Found { version: version.in_full(), distribution, about, notes })
    }

    async fn release(&self, spec: &GithubSpec, names: &[&str]) -> Result<Arc<Release>, Error> {
        let github = &self.sources.github;
        let GithubSpec { owner, name, tag } = spec;
        let unfit = |what: &str| Error::Unfit(format!("{what} of {}", quote(&format!("{owner}/{name}"))));
        let has_files = |release: &Release| !assets::choose(release, names).is_empty();
        if let Some(tag) = tag {
            let id = ReleaseId { owner: owner.clone(), repository: name.clone(), tag: tag.clone() };
            let release = github.release(self.client, &id).await?;
            let release = release.ok_or_else(|| unfit(&format!("there is no release {}", quote(tag))))?;
            let release = Arc::new(Release { tag: tag.clone(), ..Release::clone(&release) });
            return if has_files(&release) { Ok(release) } else { Err(no_files(&release, &unfit)) };
        }
        let counts = |release: &Release| {
            !release.is_draft
                && !release.is_prerelease
                && version_of_tag(&release.tag).is_some_and(|(_, v)| !v.is_prerelease())
        };
        let is_fit = |release: &Release| counts(release) && has_files(release);
        let releases = github
            .releases(self.client, owner, name, |all| all.iter().any(|release| is_fit(release)))
            .await?
            .unwrap_or_default();
        // A repository may have several products, whose tags begin differently: the one that was released last.
        let product = |release: &Arc<Release>| {
            let prefix = version_of_tag(&release.tag).map(|(prefix, _)| prefix.trim_end_matches(['v', 'V']));
            prefix.unwrap_or_default().to_owned()
        };
        let wanted = releases.iter().find(|release| is_fit(release)).map(product);
        let of_product = releases.iter().filter(|release| is_fit(release) && Some(product(release)) == wanted);
        let newest = of_product
            .max_by(|a, b| version_of_tag(&a.tag).map(|(_, v)| v).cmp(&version_of_tag(&b.tag).map(|(_, v)| v)));
        newest.cloned().ok_or_else(|| match releases.iter().find(|release| counts(release)) {
            Some(release) => no_files(release, &unfit),
            None => unfit("name one with @TAG: there is no stable release whose tag names a version among those"),
        })
    }

    /// Fetches the file of a platform, and looks for the program in it. The inner error is why the platform is left out.
    async fn target(
        &self,
        spec: &GithubSpec,
        release: &Release,
        chosen: &Chosen<'_>,
        names: &[&str],
    ) -> Result<Result<BinaryTarget, String>, Error> {
        let (platform, asset) = (chosen.platform, chosen.asset);
        let tag = release.tag.split('/');
        let path: Vec<&str> = [spec.owner.as_str(), &spec.name, "releases", "download"]
            .into_iter()
            .chain(tag)
            .chain([asset.name.as_str()])
            .collect();
        let url = self.sources.github.page(&path).and_then(|url| address::parse(&url).ok());
        let Some(url) = url else { return Ok(Err("its name has no address".to_owned())) };
        let Ok(file) = tempfile::tempfile() else { return Ok(Err("there is no place for its archive".to_owned())) };
        let mut sink = Receiver { file: &file, hash: Sha256::new() };
        if let Err(error) = self.client.download(&url, self.limits.compressed, &mut sink).await {
            return Ok(Err(error.to_string()));
        }
        let sha256 = hex(&sink.hash.finalize());
        if let Some(known) = asset.sha256.as_ref().filter(|known| **known != sha256) {
            return Err(Error::DigestMismatch { url: url.to_string(), known: known.clone(), found: sha256 });
        }
        let (limits, asset_name) = (self.limits, asset.name.clone());
        let names: Vec<String> = names.iter().map(ToString::to_string).collect();
        let found = spawn_blocking(move || program_of(&file, &asset_name, platform, &names, &limits)).await;
        let cmd = found.unwrap_or_else(|error| Err(error.to_string()));
        let archive = url.to_string();
        Ok(cmd.map(|cmd| BinaryTarget {
            platform: platform.to_string(),
            archive,
            cmd,
            sha256: Some(sha256),
            ..BinaryTarget::default()
        }))
    }
}

/// What is started in an archive, as `cmd` names it.
fn program_of(
    file: &File,
    asset: &str,
    platform: Platform,
    names: &[String],
    limits: &Limits,
) -> Result<String, String> {
    let bare = format!("./{asset}");
    let listing = archive::list(file, &bare, limits).map_err(|error| format!("{}: {error}", quote(asset)))?;
    let cmd = if listing.format == Format::Executable {
        bare
    } else {
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let entry =
            program::find(&listing.entries, platform, &names).map_err(|programs| match programs.as_slice() {
                [] => format!("there is no program in {}", quote(asset)),
                several => format!(
                    "{} has several programs ({}); say which with --cmd",
                    quote(asset),
                    shown(several.iter().copied())
                ),
            })?;
        format!("./{}", entry.path)
    };
    let listing = archive::list(file, &cmd, limits).map_err(|error| format!("{}: {error}", quote(asset)))?;
    match listing.program.map(|program| program.fits(platform)) {
        Some(Err(mismatch)) => Err(format!("{} in {} {mismatch}", quote(&cmd), quote(asset))),
        _ => Ok(cmd),
    }
}

fn no_files(release: &Release, unfit: &dyn Fn(&str) -> Error) -> Error {
    let names = release.assets.iter().map(|asset| asset.name.as_str());
    let names = if release.assets.is_empty() { "none".to_owned() } else { shown(names) };
    unfit(&format!(
        "no file tells by its name for which platform it is (there are {names}) in the release {}",
        quote(&release.tag)
    ))
}

fn shown<'a>(names: impl Iterator<Item = &'a str>) -> String {
    let names: Vec<String> = names.map(quote).collect();
    let more = names.len().saturating_sub(SHOWN);
    let rest = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!("{}{rest}", names[..names.len().min(SHOWN)].join(", "))
}

/// Takes the bytes of a download: to the file, and into the hash.
struct Receiver<'a> {
    file: &'a File,
    hash: Sha256,
}

impl Sink for Receiver<'_> {
    fn begin(&mut self, _: Option<u64>) {}

    fn take(&mut self, piece: &[u8]) -> io::Result<()> {
        self.file.write_all(piece)?;
        self.hash.update(piece);
        Ok(())
    }
}

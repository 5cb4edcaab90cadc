//! Creates drafts from GitHub releases.

use std::fs::File;
use std::sync::Arc;

use futures_util::future::join_all;
use tokio::task::spawn_blocking;

use super::assets::{self, Chosen};
use super::origin::{GithubSpec, Scaffolder, SourceFacts};
use super::{Error, program};
use crate::bump::version_of_tag;
use acp_registry_archive::{self as archive, BinaryFormat, Limits};
use acp_registry_host::fs::temporary;
use acp_registry_http::{FetchError, Hashing, Problem, address};
use acp_registry_plan::manifest::{BinaryTarget, Distribution, Platform, Version};
use acp_registry_plan::remedy::{Action, Remedy};
use acp_registry_plan::text::quote;
use acp_registry_sources::github::{Release, ReleaseId};

/// Maximum number of names in a message.
const SHOWN: usize = 8;

impl Scaffolder<'_> {
    /// Finds the newest release with files for some platform, and the programs in them.
    pub(super) async fn github(&self, id: &str, spec: &GithubSpec) -> Result<SourceFacts, Error> {
        let github = &self.sources.github;
        let GithubSpec { owner, name, .. } = spec;
        let repository = quote(&format!("{owner}/{name}"));
        let about = github.about(self.client, owner, name).await?;
        let about = about.ok_or_else(|| Error::NoPackage {
            message: format!("GitHub has no repository {repository}"),
            remedy: "correct the name; to read a private repository, set GITHUB_TOKEN",
        })?;
        let names: Vec<&str> = self.command.into_iter().chain([id, name.as_str()]).collect();
        let release = self.release(spec, &names).await?;
        let version = version_of_tag(&release.tag).map(|(_, version)| version);
        let formless = || Error::unfit(format!("the tag {} of {repository} names no version", quote(&release.tag)));
        let version: Version = version.ok_or_else(formless)?;

        let chosen = assets::choose(&release, &names);
        let targets = join_all(chosen.iter().map(|chosen| self.target(spec, &release, chosen, &names))).await;
        let (mut binary, mut notes, mut left_out) = (Vec::new(), Vec::new(), Vec::new());
        for (chosen, target) in chosen.iter().zip(targets) {
            let platform = chosen.platform;
            match target? {
                Ok(target) => binary.push(target),
                Err(why) => left_out.push((platform, why)),
            }
            if !chosen.others.is_empty() {
                let others = shown(chosen.others.iter().copied());
                notes.push(format!(
                    "see whether {} is right for {platform}; there are also {others}",
                    quote(&chosen.asset.name)
                ));
            }
        }
        let causes = Cause::of(left_out);
        if binary.is_empty() {
            let tag = quote(&release.tag);
            let why: Vec<String> = causes.iter().map(Cause::text).collect();
            let message = format!("nothing in {tag} of {repository} can be started: {}", why.join("; "));
            let remedy = causes.iter().find_map(|cause| cause.first.remedy.clone()).unwrap_or_else(|| OTHER.into());
            return Err(Error::unfit_with(message, remedy));
        }
        notes.extend(causes.iter().map(Cause::note));
        let distribution = Distribution { binary, ..Distribution::default() };
        Ok(SourceFacts { version: version.in_full(), distribution, about, notes })
    }

    async fn release(&self, spec: &GithubSpec, names: &[&str]) -> Result<Arc<Release>, Error> {
        let github = &self.sources.github;
        let GithubSpec { owner, name, tag } = spec;
        let repository = format!("{owner}/{name}");
        let has_files = |release: &Release| !assets::choose(release, names).is_empty();
        if let Some(tag) = tag {
            let id = ReleaseId { owner: owner.clone(), repository: name.clone(), tag: tag.clone() };
            let release = github.release(self.client, &id).await?;
            let release = release.ok_or_else(|| Error::NoVersion {
                message: format!("there is no release {} of {}", quote(tag), quote(&repository)),
                newest: None,
            })?;
            let release = Arc::new(Release { tag: tag.clone(), ..Release::clone(&release) });
            return if has_files(&release) { Ok(release) } else { Err(no_files(&release, &repository)) };
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
        // A repository may release several products with different tag prefixes; the one with the latest release is
        // used.
        let product = |release: &Arc<Release>| {
            let prefix = version_of_tag(&release.tag).map(|(prefix, _)| prefix.trim_end_matches(['v', 'V']));
            prefix.unwrap_or_default().to_owned()
        };
        let wanted = releases.iter().find(|release| is_fit(release)).map(product);
        let of_product = releases.iter().filter(|release| is_fit(release) && Some(product(release)) == wanted);
        let newest = of_product
            .max_by(|a, b| version_of_tag(&a.tag).map(|(_, v)| v).cmp(&version_of_tag(&b.tag).map(|(_, v)| v)));
        newest.cloned().ok_or_else(|| match releases.iter().find(|release| counts(release)) {
            Some(release) => no_files(release, &repository),
            None => no_release(&releases, &repository, &has_files),
        })
    }

    /// Downloads the file for a platform and finds the program in it. The inner error says why the platform is left
    /// out.
    async fn target(
        &self,
        spec: &GithubSpec,
        release: &Release,
        chosen: &Chosen<'_>,
        names: &[&str],
    ) -> Result<Result<BinaryTarget, LeftOut>, Error> {
        let (platform, asset) = (chosen.platform, chosen.asset);
        let tag = release.tag.split('/');
        let path: Vec<&str> = [spec.owner.as_str(), &spec.name, "releases", "download"]
            .into_iter()
            .chain(tag)
            .chain([asset.name.as_str()])
            .collect();
        let url = self.sources.github.page(&path).and_then(|url| address::parse(&url).ok());
        let Some(url) = url else {
            return Ok(Err(LeftOut::of(quote(&asset.name), " has a name that no address can have")));
        };
        let file = match tempfile::tempfile_in(temporary()) {
            Ok(file) => file,
            Err(error) => return Ok(Err(LeftOut::of(quote(&asset.name), format!(" cannot be stored: {error}")))),
        };
        let mut sink = Hashing::to(&file);
        if let Err(error) = self.client.download(&url, self.limits.compressed, &mut sink).await {
            return Ok(Err(LeftOut::by(&error)));
        }
        let sha256 = sink.digest();
        if let Some(known) = asset.sha256.filter(|known| *known != sha256) {
            return Err(Error::DigestMismatch { url: url.to_string(), known, found: sha256 });
        }
        let (limits, asset_name) = (self.limits, asset.name.clone());
        let wanted = ProgramQuery {
            command: self.command.map(ToOwned::to_owned),
            names: names.iter().map(ToString::to_string).collect(),
        };
        let found = spawn_blocking(move || find_program(&file, &asset_name, platform, &wanted, &limits)).await;
        let cmd = found.unwrap_or_else(|error| Err(LeftOut::of(quote(&asset.name), format!(": {error}"))));
        let archive = url.to_string();
        Ok(cmd.map(|cmd| BinaryTarget {
            platform: platform.to_string(),
            archive,
            cmd,
            sha256: Some(sha256.to_string()),
            ..BinaryTarget::default()
        }))
    }
}

/// The program to look for.
struct ProgramQuery {
    /// The name given by the user.
    command: Option<String>,
    /// Other names to look for.
    names: Vec<String>,
}

/// The program in an archive, in the form of `cmd`.
fn find_program(
    file: &File,
    asset: &str,
    platform: Platform,
    wanted: &ProgramQuery,
    limits: &Limits,
) -> Result<String, LeftOut> {
    let bare = format!("./{asset}");
    let unread = |error: archive::Error| LeftOut::of(quote(asset), format!(": {error}"));
    let listing = archive::list(file, &bare, limits).map_err(unread)?;
    let command = wanted.command.as_deref();
    let cmd = if listing.format == BinaryFormat::Executable {
        let is_named = |command: &str| asset.to_ascii_lowercase().contains(&command.to_ascii_lowercase());
        if let Some(command) = command.filter(|command| !is_named(command)) {
            let problem = format!(" is a program itself, and is not {}", quote(command));
            return Err(LeftOut { remedy: Some(correct_program()), ..LeftOut::of(quote(asset), problem) });
        }
        bare
    } else {
        let names: Vec<&str> = wanted.names.iter().map(String::as_str).collect();
        let entry = program::find(&listing.entries, platform, command, &names).map_err(|programs| {
            let there = || shown(programs.iter().copied());
            let (problem, remedy) = match (command, programs.as_slice()) {
                (_, []) => (" has no program".to_owned(), None),
                (Some(command), _) => {
                    (format!(" has no program {}, only {}", quote(command), there()), Some(correct_program()))
                }
                (None, _) => (
                    format!(" has several programs ({})", there()),
                    Some(Remedy::from("name one").then(Action::Program { is_wrong: false })),
                ),
            };
            LeftOut { remedy, ..LeftOut::of(quote(asset), problem) }
        })?;
        format!("./{}", entry.path)
    };
    let listing = archive::list(file, &cmd, limits).map_err(unread)?;
    match listing.program.map(|program| program.fits(&cmd, platform)) {
        Some(Err(mismatch)) => Err(LeftOut::of(format!("{} in {}", quote(&cmd), quote(asset)), format!(" {mismatch}"))),
        _ => Ok(cmd),
    }
}

fn no_files(release: &Release, repository: &str) -> Error {
    let names = release.assets.iter().map(|asset| asset.name.as_str());
    let names = if release.assets.is_empty() { "none".to_owned() } else { shown(names) };
    let message = format!(
        "no file name in the release {} of {} contains a platform (there are {names})",
        quote(&release.tag),
        quote(repository)
    );
    Error::unfit_with(message, "name files for their platforms, such as `agent-linux-x86_64.tar.gz`")
}

/// The error for a repository without a usable release; suggests one that can be named, if any.
fn no_release(releases: &[Arc<Release>], repository: &str, has_files: &dyn Fn(&Release) -> bool) -> Error {
    if releases.is_empty() {
        let message = format!("{} has no releases", quote(repository));
        return Error::unfit_with(message, "publish a release with an archive for each platform");
    }
    let message = format!("{} has no stable release whose tag names a version", quote(repository));
    let can_be_named = |release: &&Arc<Release>| {
        let tag = &release.tag;
        !release.is_draft
            && version_of_tag(tag).is_some()
            && tag.bytes().all(|b| b.is_ascii_graphic())
            && has_files(release)
    };
    match releases.iter().find(can_be_named) {
        Some(release) => {
            let spec = quote(&format!("{repository}@{}", release.tag));
            Error::unfit_with(message, format!("for the newest other release, write {spec}"))
        }
        None => Error::unfit_with(message, "publish a release whose tag is a version, such as `v1.0.0`"),
    }
}

/// Help for a release whose files cannot be used.
const OTHER: &str = "name another release with @TAG";

/// Help for a program that does not exist in the archive.
fn correct_program() -> Remedy {
    Remedy::from("correct the name").then(Action::Program { is_wrong: true })
}

/// Why a platform is left out.
struct LeftOut {
    /// The file or its URL.
    subject: String,
    /// What is wrong, worded to follow the subject.
    problem: String,
    remedy: Option<Remedy>,
}

impl LeftOut {
    fn of(subject: String, problem: impl Into<String>) -> Self {
        Self { subject, problem: problem.into(), remedy: None }
    }

    /// The reason for a failed download.
    fn by(error: &FetchError) -> Self {
        let remedy = match error.problem {
            Problem::Status(404 | 410) => Some("publish the files of this release, or name another with @TAG".into()),
            _ => error.problem.remedy(),
        };
        Self { remedy, ..Self::of(error.url.clone(), format!(" {}", error.problem)) }
    }
}

/// Platforms that are left out for the same reason.
struct Cause {
    platforms: Vec<String>,
    first: LeftOut,
}

impl Cause {
    /// Groups platforms by reason.
    fn of(left_out: Vec<(Platform, LeftOut)>) -> Vec<Self> {
        let mut causes: Vec<Self> = Vec::new();
        for (platform, why) in left_out {
            match causes.iter_mut().find(|cause| cause.first.problem == why.problem) {
                Some(cause) => cause.platforms.push(platform.to_string()),
                None => causes.push(Self { platforms: vec![platform.to_string()], first: why }),
            }
        }
        causes
    }

    fn text(&self) -> String {
        let more = match self.platforms.len() {
            1 => String::new(),
            2 => " (and 1 more file)".to_owned(),
            count => format!(" (and {} more files)", count - 1),
        };
        format!("{}{}{more}", self.first.subject, self.first.problem)
    }

    /// The reason as a step for a person.
    fn note(&self) -> String {
        let were = if self.platforms.len() == 1 { "was" } else { "were" };
        format!("add {}, which {were} left out: {}", self.platforms.join(", "), self.text())
    }
}

fn shown<'a>(names: impl Iterator<Item = &'a str>) -> String {
    let names: Vec<String> = names.map(quote).collect();
    let more = names.len().saturating_sub(SHOWN);
    let rest = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!("{}{rest}", names[..names.len().min(SHOWN)].join(", "))
}

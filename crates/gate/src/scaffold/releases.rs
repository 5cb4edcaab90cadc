//! Creates drafts from GitHub releases.

use std::fs::File;
use std::sync::Arc;

use acp_registry_archive::{self as archive, BinaryFormat, Entry, EntryKind, Limits};
use acp_registry_host::fs::temporary;
use acp_registry_http::{FetchError, Hashing, Problem, address};
use acp_registry_plan::manifest::archive::{Format, format};
use acp_registry_plan::manifest::{BinaryTarget, Distribution, Platform, Version, guess_platform};
use acp_registry_plan::text::{brief_list, quote};
use acp_registry_sources::RepositoryName;
use acp_registry_sources::github::{Asset, Release, ReleaseId};
use futures_util::future::join_all;
use tokio::task::spawn_blocking;

use super::Error;
use super::origin::{GithubSpec, Scaffolder, SourceFacts};
use crate::bump::version_of_tag;

/// Maximum number of names in a message.
const SHOWN: usize = 8;

impl Scaffolder<'_> {
    /// Finds the newest release with files for some platform, and the programs in them.
    pub(super) async fn github(&self, id: &str, spec: &GithubSpec) -> Result<SourceFacts, Error> {
        let github = &self.sources.github;
        let RepositoryName { owner, name } = &spec.repository;
        let repository = quote(&spec.repository.to_string());
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

        let chosen = choose(&release, &names);
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
        let RepositoryName { owner, name } = &spec.repository;
        let repository = spec.repository.to_string();
        let has_files = |release: &Release| !choose(release, names).is_empty();
        if let Some(tag) = &spec.tag {
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
        let newest = of_product.max_by_key(|release| version_of_tag(&release.tag).map(|(_, version)| version));
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
        let path: Vec<&str> = [spec.repository.owner.as_str(), &spec.repository.name, "releases", "download"]
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
        let (limits, asset_name, command) = (self.limits, asset.name.clone(), self.command.map(ToOwned::to_owned));
        let names: Vec<String> = names.iter().map(ToString::to_string).collect();
        let found =
            spawn_blocking(move || find_program(&file, &asset_name, platform, command.as_deref(), &names, &limits));
        let found = found.await;
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

/// The program in an archive, in the form of `cmd`: the one that the user has named, or one with another of these names.
fn find_program(
    file: &File,
    asset: &str,
    platform: Platform,
    command: Option<&str>,
    names: &[String],
    limits: &Limits,
) -> Result<String, LeftOut> {
    let bare = format!("./{asset}");
    let unread = |error: archive::Error| LeftOut::of(quote(asset), format!(": {error}"));
    let listing = archive::list(file, &bare, limits).map_err(unread)?;
    let cmd = if listing.format == BinaryFormat::Executable {
        let is_named = |command: &str| asset.to_ascii_lowercase().contains(&command.to_ascii_lowercase());
        if let Some(command) = command.filter(|command| !is_named(command)) {
            let problem = format!(" is a program itself, and is not {}", quote(command));
            return Err(LeftOut { remedy: Some(correct_program()), ..LeftOut::of(quote(asset), problem) });
        }
        bare
    } else {
        let entry = find(&listing.entries, platform, command, names).map_err(|programs| {
            let there = || shown(programs.iter().copied());
            let (problem, remedy) = match (command, programs.as_slice()) {
                (_, []) => (" has no program".to_owned(), None),
                (Some(command), _) => {
                    (format!(" has no program {}, only {}", quote(command), there()), Some(correct_program()))
                }
                (None, _) => (format!(" has several programs ({})", there()), Some("name one with --cmd".to_owned())),
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
fn correct_program() -> String {
    "correct the name in --cmd".to_owned()
}

/// Why a platform is left out.
struct LeftOut {
    /// The file or its URL.
    subject: String,
    /// What is wrong, worded to follow the subject.
    problem: String,
    remedy: Option<String>,
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
    brief_list(names.map(quote), SHOWN)
}

/// Words that mark special builds.
const SPECIAL: [&str; 8] = ["baseline", "debug", "dbg", "symbols", "profile", "lite", "minimal", "nightly"];

/// The file for one platform.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Chosen<'a> {
    pub(super) platform: Platform,
    pub(super) asset: &'a Asset,
    /// The other files for this platform.
    pub(super) others: Vec<&'a str>,
}

/// Chooses a file for each platform, recognized by the same words as in `bump`. If there are several, prefers files
/// with one of `names` in their name, then those that are not special builds, then those that run with any C library,
/// then archives, and then the shortest name.
pub(super) fn choose<'a>(release: &'a Release, names: &[&str]) -> Vec<Chosen<'a>> {
    let of = |platform: Platform| {
        let fits = |asset: &&Asset| {
            asset.is_complete && guess_platform(&asset.name) == Some(platform) && has_program(&asset.name)
        };
        let mut found: Vec<&Asset> = release.assets.iter().filter(fits).collect();
        found.sort_by_key(|asset| (rank(&asset.name, names), asset.name.len(), asset.name.as_str()));
        let (asset, others) = found.split_first()?;
        Some(Chosen { platform, asset, others: others.iter().map(|other| other.name.as_str()).collect() })
    };
    Platform::ALL.into_iter().filter_map(of).collect()
}

/// Whether a file is an archive that clients can unpack, or a program.
fn has_program(name: &str) -> bool {
    let is_other = |ending: &str| {
        !ending.is_empty() && ending.bytes().all(|b| b.is_ascii_alphabetic()) && !ending.eq_ignore_ascii_case("exe")
    };
    match format(&format!("/{name}")) {
        Ok(Format::Raw) => name.rsplit_once('.').is_none_or(|(_, ending)| !is_other(ending)),
        Ok(_) => true,
        Err(_) => false,
    }
}

/// The sort key of candidates; the lowest is chosen.
fn rank(name: &str, names: &[&str]) -> (bool, bool, u8, bool) {
    let name = name.to_ascii_lowercase();
    let is_named = names.iter().any(|wanted| !wanted.is_empty() && name.contains(&wanted.to_ascii_lowercase()));
    let words: Vec<&str> = name.split(|c: char| !c.is_ascii_alphanumeric()).collect();
    let is_special = words.iter().any(|word| SPECIAL.contains(word));
    // Files for `unknown-linux-musl` are usually linked statically; others for musl run only on musl systems.
    let libc = match () {
        () if name.contains("unknown-linux-musl") => 0,
        () if words.contains(&"musl") => 2,
        () => 1,
    };
    let is_raw = format(&format!("/{name}")) == Ok(Format::Raw);
    (!is_named, is_special, libc, is_raw)
}

/// Files without an extension that are not programs.
const TEXTS: [&str; 8] = ["license", "licence", "copying", "readme", "notice", "changelog", "authors", "version"];

/// Extensions of files that may be executable but are not the agent's program.
const PARTS: [&str; 12] = ["so", "dylib", "dll", "node", "md", "txt", "json", "js", "py", "html", "1", "sh"];

/// Finds the program to start. If `wanted`, a name or a path, is given, only that file is accepted. Otherwise it is the
/// file with one of `names` that is nearest to the root, or the only file that can be a program.
///
/// # Errors
/// Returns the candidates if none can be chosen.
pub(super) fn find<'a>(
    entries: &'a [Entry],
    platform: Platform,
    wanted: Option<&str>,
    names: &[impl AsRef<str>],
) -> Result<&'a Entry, Vec<&'a str>> {
    let is_windows = platform.os() == "windows";
    let files = || entries.iter().filter(|entry| entry.kind != EntryKind::Directory);
    let ending = |entry: &Entry| entry.file_name().rsplit_once('.').map(|(_, ending)| ending.to_ascii_lowercase());
    let can_run = |entry: &&Entry| match ending(entry) {
        Some(ending) if is_windows => ending == "exe",
        Some(ending) => !PARTS.contains(&ending.as_str()) && entry.executable,
        None => !is_windows && !TEXTS.contains(&entry.file_name().to_ascii_lowercase().as_str()),
    };
    let mut programs: Vec<&Entry> = files().filter(can_run).collect();
    // Archives made on Windows mark no file as executable; others mark the programs.
    if programs.iter().any(|entry| entry.executable) {
        programs.retain(|entry| entry.executable);
    }
    let depth = |entry: &Entry| entry.path.matches('/').count();
    let is_named = |entry: &Entry, name: &str| {
        let file = entry.file_name();
        let stem = if is_windows { file.get(..file.len().saturating_sub(4)).unwrap_or(file) } else { file };
        file.eq_ignore_ascii_case(name) || stem.eq_ignore_ascii_case(name)
    };
    let nearest = |of: &[&'a Entry], name: &str| {
        let of_name = of.iter().filter(|entry| is_named(entry, name));
        of_name.min_by_key(|entry| (depth(entry), entry.path.as_str())).copied()
    };
    let found = match wanted.map(|name| name.strip_prefix("./").unwrap_or(name)) {
        // A file named by the user may be a script, or lack the executable bit.
        Some(name) => {
            let of_path = files().find(|entry| entry.path == name);
            of_path.or_else(|| nearest(&programs, name)).or_else(|| nearest(&files().collect::<Vec<_>>(), name))
        }
        None => names.iter().find_map(|name| nearest(&programs, name.as_ref())).or(match programs.as_slice() {
            [entry] => Some(entry),
            _ => None,
        }),
    };
    found.ok_or_else(|| programs.into_iter().map(|entry| entry.path.as_str()).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chosen(names: &[&str]) -> Vec<(String, String)> {
        let asset = |name: &&str| Asset {
            name: (*name).to_owned(),
            sha256: None,
            is_complete: *name != "partial-linux-x64",
            updated: None,
        };
        let release = Release { assets: names.iter().map(asset).collect(), ..Release::default() };
        let chosen = choose(&release, &["agent"]);
        chosen.into_iter().map(|chosen| (chosen.platform.to_string(), chosen.asset.name.clone())).collect()
    }

    fn linux(names: &[&str]) -> String {
        chosen(names)
            .into_iter()
            .find(|(platform, _)| platform == "linux-x86_64")
            .map_or_else(String::new, |(_, name)| name)
    }

    #[test]
    fn one_file_is_taken_for_each_platform() {
        let names = [
            "agent-darwin-arm64.zip", "agent-windows-x64.exe", "agent-linux-x64.tar.gz",
            "agent-linux-x64.tar.gz.sha256",
        ];
        let expected = [
            ("darwin-aarch64", "agent-darwin-arm64.zip"),
            ("linux-x86_64", "agent-linux-x64.tar.gz"),
            ("windows-x86_64", "agent-windows-x64.exe"),
        ];
        assert_eq!(chosen(&names), expected.map(|(platform, name)| (platform.to_owned(), name.to_owned())));
        assert_eq!(chosen(&["source.tar.gz", "partial-linux-x64", "agent-linux-x64.deb", "agent-linux-x64.jsonl"]), []);
    }

    #[test]
    fn of_several_the_likeliest_is_taken() {
        for (names, expected) in [
            (["agent-x86_64-unknown-linux-gnu.tar.gz", "agent-x86_64-unknown-linux-musl.tar.gz"], 1),
            (["agent-linux-x64-musl.zip", "agent-linux-x64.zip"], 1),
            (["agent-linux-x64-baseline.zip", "agent-linux-x64-v1.0.0-full.zip"], 1),
            (["tool-linux-x64.zip", "the-agent-linux-x64.zip"], 1),
            (["agent-linux-x64.zip", "agent-linux-x64"], 0),
            (["agent-linux-x64-b.zip", "agent-linux-x64-a.zip"], 1),
        ] {
            assert_eq!(linux(&names), names[expected], "{names:?}");
        }
    }

    fn found(files: &[&str], platform: Platform, names: &[&str]) -> Result<String, usize> {
        let entry = |text: &&str| {
            let path = text.trim_end_matches('*').to_owned();
            Entry { path, kind: EntryKind::File, size: 1, executable: text.ends_with('*') }
        };
        let entries: Vec<Entry> = files.iter().map(entry).collect();
        find(&entries, platform, None, names).map(|entry| entry.path.clone()).map_err(|programs| programs.len())
    }

    #[test]
    fn the_program_is_known_by_its_name_or_by_being_alone() {
        let (linux, windows) = (Platform::LinuxX8664, Platform::WindowsX8664);
        for (files, platform, expected) in [
            (&["a/bin/agent*", "a/lib/agent*", "a/agent*", "README"][..], linux, Ok("a/agent")),
            (&["tool*", "libtool.so*", "LICENSE"], linux, Ok("tool")),
            (&["tool", "LICENSE", "README.md"], linux, Ok("tool")),
            (&["a*", "b*"], linux, Err(2)),
            (&["README.md"], linux, Err(0)),
            (&["Agent.exe", "other.exe"], windows, Ok("Agent.exe")),
            (&["x.exe", "y.dll", "agent"], windows, Ok("x.exe")),
        ] {
            assert_eq!(found(files, platform, &["agent"]), expected.map(ToOwned::to_owned), "{files:?}");
        }
        assert_eq!(found(&["a*", "b*"], linux, &["none", "b"]), Ok("b".to_owned()));
    }

    #[test]
    fn a_program_that_was_named_is_that_one_or_none() {
        let entry = |(path, executable): (&str, bool)| Entry {
            path: path.to_owned(),
            kind: EntryKind::File,
            size: 1,
            executable,
        };
        let entries = [("p/agent", true), ("p/run.sh", false), ("q/agent", true)].map(entry);
        for (wanted, expected) in [
            ("agent", Ok("p/agent")),
            ("q/agent", Ok("q/agent")),
            ("./q/agent", Ok("q/agent")),
            ("run.sh", Ok("p/run.sh")),
            ("other", Err(vec!["p/agent", "q/agent"])),
            ("bin/agent", Err(vec!["p/agent", "q/agent"])),
        ] {
            let found = find(&entries, Platform::LinuxX8664, Some(wanted), &["agent"]);
            assert_eq!(found.map(|entry| entry.path.as_str()), expected, "{wanted}");
        }
    }
}

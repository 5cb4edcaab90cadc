//! Reads `registry.toml`.
//!
//! * [`Config`]: rule levels, views, version feeds, the site

use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::time::Duration;

use acp_registry_archive::Limits;
use acp_registry_client::index::minisign::PublicKey;
use acp_registry_client::registry::MANIFEST_LIMIT;
pub use acp_registry_client::registry::{CONFIG, is_registry};
use acp_registry_examine::examination::{Level, Recipe};
use acp_registry_host::fs::{ReadError, read_bounded};
use acp_registry_http as http;
use acp_registry_plan::closure::{CLOSURES, EARLIER_CLOSURES, sha512};
use acp_registry_plan::duration;
use acp_registry_plan::entries::DISCOVERY;
use acp_registry_plan::failure::{Code, Failure};
use acp_registry_plan::index::INDEX;
use acp_registry_plan::manifest::{Channel, NpmSpec, Pin};
use acp_registry_plan::revocations::REVOKED;
use acp_registry_plan::statement::STATEMENT;
use acp_registry_plan::text::{nearest, quote};
use acp_registry_plan::timestamp::{date, day};
use acp_registry_plan::versions::VERSIONS;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value};
use time::Date;

use crate::finding;
use crate::history::HISTORY_FILE;

/// Maximum size of a configuration file, in bytes.
const CONFIG_LIMIT: u64 = 1 << 20;

/// The contents of `registry.toml`.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct Config {
    /// The file that was read; empty without one.
    #[serde(skip)]
    pub path: PathBuf,
    /// Base URL of the published tree, without a trailing slash.
    pub base_url: Option<String>,
    /// The key that has signed what is published at [`base_url`](Self::base_url).
    pub signer: Option<PublicKey>,
    /// Levels by rule name.
    pub rules: BTreeMap<String, finding::Level>,
    /// Settings for single agents, by id.
    pub agents: BTreeMap<String, AgentConfig>,
    /// Schemas to publish in place of the built-in ones.
    pub schemas: Schemas,
    /// Limits for archives.
    pub archive_limits: ArchiveLimits,
    /// What examinations must find.
    pub examine: ExamineConfig,
    /// Feeds that list newer versions, by agent id.
    pub bump: BTreeMap<String, BumpSource>,
    /// Where advisories about packages are.
    pub advisories: AdvisoriesConfig,
    /// What lists of packages may have.
    pub closures: ClosuresConfig,
    /// How npm installs agents, by id.
    pub npm: BTreeMap<String, NpmConfig>,
    /// How uv installs agents, by id.
    pub uv: BTreeMap<String, UvConfig>,
    /// Reasons for withdrawing agents, by id. Withdrawn agents are not published; their folders may be missing.
    pub withdrawn: BTreeMap<String, String>,
    /// Versions that indexes stay at, by id.
    pub hold: BTreeMap<String, HoldConfig>,
    /// Settings of the catalog site.
    pub site: SiteConfig,
    /// The published views. If empty, one view is published: `registry.json` with the stable channel; see
    /// [`Config::views()`].
    #[serde(rename = "view")]
    pub views: Vec<View>,
}

/// Limits for archives that replace the defaults in [`Limits`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct ArchiveLimits {
    /// Maximum size of an archive, in bytes.
    pub compressed: Option<u64>,
    /// Maximum unpacked size, in bytes.
    pub unpacked: Option<u64>,
    /// Maximum number of entries.
    pub entries: Option<u64>,
    /// Maximum ratio of unpacked size to archive size.
    pub ratio: Option<u64>,
}

impl ArchiveLimits {
    /// The effective limits: the defaults, with the values set here.
    pub fn limits(&self) -> Limits {
        let usual = Limits::default();
        Limits {
            compressed: self.compressed.unwrap_or(usual.compressed),
            unpacked: self.unpacked.unwrap_or(usual.unpacked),
            entries: self.entries.unwrap_or(usual.entries),
            ratio: self.ratio.unwrap_or(usual.ratio),
            ..usual
        }
    }
}

/// What examinations must find for an agent to pass.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, rename_all = "kebab-case")]
pub struct ExamineConfig {
    /// The level whose requirements an agent must keep, and those of the levels before it.
    pub require: Option<Level>,
    /// How long the examination of an agent may take; by default, as long as its handshake makes likely.
    #[serde(deserialize_with = "limit")]
    pub timeout: Option<Duration>,
    /// How single agents reach the scripted model, by id.
    #[serde(flatten)]
    pub recipes: BTreeMap<String, Recipe>,
}

/// Reads a time limit: `"5m"`, or a number of seconds.
fn limit<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Duration>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged, expecting = "expected a time limit such as \"5m\", or a number of seconds")]
    enum Form {
        Text(String),
        Seconds(f64),
    }
    let text = match Form::deserialize(deserializer)? {
        Form::Text(text) => text,
        Form::Seconds(seconds) => seconds.to_string(),
    };
    duration::limit(&text).map(Some).map_err(D::Error::custom)
}

/// A version that indexes stay at although the registry has a newer one.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct HoldConfig {
    /// The version, which the registry must have had.
    pub version: String,
    /// Why.
    pub reason: String,
    /// The last day, as `YYYY-MM-DD`, in UTC; without it, there is none.
    #[serde(default, deserialize_with = "day")]
    pub until: Option<Date>,
    /// The file names of the indexes; all of them if it is empty.
    #[serde(default)]
    pub views: Vec<String>,
}

impl HoldConfig {
    /// Whether an index stays at the version on a day.
    pub fn holds(&self, view: &str, today: Date) -> bool {
        (self.views.is_empty() || self.views.iter().any(|held| held == view))
            && self.until.is_none_or(|until| today <= until)
    }
}

/// Exports of advisories in the OSV format.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct AdvisoriesConfig {
    /// Files and directories below the registry directory, and addresses.
    pub sources: Vec<String>,
}

impl AdvisoriesConfig {
    /// Whether a source is an address.
    pub(crate) fn is_address(source: &str) -> bool {
        source.contains("://")
    }

    fn check(&self) -> Result<(), String> {
        for source in &self.sources {
            if Self::is_address(source) {
                http::address::parse(source).map_err(|error| format!("the source {source:?} of advisories {error}"))?;
            } else if !is_below(source) {
                return Err(format!(
                    "the source {source:?} of advisories must be an address, or a path below the registry directory"
                ));
            }
        }
        Ok(())
    }
}

/// Whether a path leads to something below the registry directory.
fn is_below(path: &str) -> bool {
    !path.is_empty() && Path::new(path).components().all(|part| matches!(part, std::path::Component::Normal(_)))
}

/// What lists of the packages that agents need may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct ClosuresConfig {
    /// How many days after the version of an agent the packages that it needs may have been published.
    pub max_days_newer: u16,
}

impl Default for ClosuresConfig {
    /// Packages for single platforms are often published a little later than the one that needs them.
    fn default() -> Self {
        Self { max_days_newer: 1 }
    }
}

/// How npm installs an agent.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct NpmConfig {
    /// Dependencies whose install scripts the registry has approved, each as `NAME@VERSION sha512-…`.
    pub allow_scripts: Vec<String>,
}

impl NpmConfig {
    fn check(&self, id: &str) -> Result<(), String> {
        for item in &self.allow_scripts {
            let is_package =
                |package: &str| package.parse::<NpmSpec>().is_ok_and(|spec| matches!(spec.pin, Pin::Exact(_)));
            let parts = item.split_once(' ');
            if !parts.is_some_and(|(package, digest)| is_package(package) && sha512(digest).is_some()) {
                return Err(format!(
                    "{item:?} in `allow-scripts` of the agent {id:?} must be a package with its version and digest, such as \"name@1.0.0 sha512-…\""
                ));
            }
        }
        Ok(())
    }
}

/// How uv installs an agent.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct UvConfig {
    /// Whether uv may build the agent's packages from source, which runs their code.
    pub allow_build: bool,
}

/// Settings for one agent.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct AgentConfig {
    /// Levels by rule name; they override [`Config::rules`].
    pub rules: BTreeMap<String, finding::Level>,
}

/// Why a configuration could not be loaded.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// The file could not be read.
    #[error("{}: {error}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The cause.
        #[source]
        error: ReadError,
    },
    /// The file is not valid TOML, or a key or value is not allowed.
    #[error("{} is not a registry configuration:\n{message}", path.display())]
    Syntax {
        /// The file.
        path: PathBuf,
        /// What is wrong, with the lines around it.
        message: String,
    },
    /// A value is of the right type but not valid.
    #[error("{}: {message}", path.display())]
    Invalid {
        /// The file.
        path: PathBuf,
        /// What is wrong, and what to write instead.
        message: String,
    },
}

impl Config {
    /// Reads and parses a configuration file that a person has named.
    ///
    /// # Errors
    /// Returns [`ConfigError`]. If the file does not exist, it is [`ConfigError::Read`] with [`ReadError::NotFound`].
    pub fn read(path: &Path) -> Result<Self, ConfigError> {
        let real = path.canonicalize().map_err(ReadError::from);
        Self::read_bytes(path, real.and_then(|real| read_bounded(&real, Path::new("/"), CONFIG_LIMIT)))
    }

    /// Reads and parses the `registry.toml` of a registry. A link in a checkout of a stranger leads to no other file: an error
    /// shows a line of it.
    ///
    /// # Errors
    /// Like [`Config::read`].
    pub fn read_in(registry: &Path) -> Result<Self, ConfigError> {
        let root = registry.canonicalize().map_err(ReadError::from);
        let bytes = root.and_then(|root| read_bounded(&root.join(CONFIG), &root, CONFIG_LIMIT));
        Self::read_bytes(&registry.join(CONFIG), bytes)
    }

    fn read_bytes(path: &Path, bytes: Result<Vec<u8>, ReadError>) -> Result<Self, ConfigError> {
        let bytes = bytes.map_err(|error| ConfigError::Read { path: path.to_owned(), error })?;
        Self::parse(path, &String::from_utf8_lossy(&bytes))
    }

    /// The path of the file that was read, relative to the directory of a registry, which is a real path.
    pub fn file_in(&self, registry: &Path) -> String {
        let (Some(above), Some(name)) = (self.path.parent(), self.path.file_name()) else { return CONFIG.to_owned() };
        let above = if above == Path::new("") { Path::new(".") } else { above };
        let file = above.canonicalize().unwrap_or_else(|_| above.to_owned()).join(name);
        let within = |(up, above)| Some((up, file.strip_prefix(above).ok()?));
        // Another disk of Windows has no relative path.
        let Some((up, rest)) = registry.ancestors().enumerate().find_map(within) else {
            return file.display().to_string();
        };
        let rest = rest.components().map(|part| part.as_os_str().to_string_lossy());
        std::iter::repeat_n("..".into(), up).chain(rest).collect::<Vec<_>>().join("/")
    }

    /// Parses the configuration of a file, which messages and findings name.
    ///
    /// # Errors
    /// Returns [`ConfigError::Syntax`] or [`ConfigError::Invalid`].
    pub fn parse(path: &Path, text: &str) -> Result<Self, ConfigError> {
        let mut config: Self = toml::from_str(text)
            .map_err(|error| ConfigError::Syntax { path: path.to_owned(), message: error.to_string() })?;
        config.check().map_err(|message| ConfigError::Invalid { path: path.to_owned(), message })?;
        path.clone_into(&mut config.path);
        for address in
            config.base_url.iter_mut().chain(config.views.iter_mut().filter_map(|view| view.base_url.as_mut()))
        {
            *address = address.trim_end_matches('/').to_owned();
        }
        Ok(config)
    }

    /// The ids of the agents whose packages uv may build from source.
    pub fn builders(&self) -> BTreeSet<String> {
        self.uv.iter().filter(|(_, uv)| uv.allow_build).map(|(id, _)| id.clone()).collect()
    }

    /// The install scripts of dependencies that are approved, by agent.
    pub fn approved_scripts(&self) -> BTreeMap<String, Vec<String>> {
        self.npm.iter().map(|(id, npm)| (id.clone(), npm.allow_scripts.clone())).collect()
    }

    /// The published views: those of the configuration, or `registry.json` alone if there are none.
    pub fn views(&self) -> Vec<View> {
        if self.views.is_empty() { vec![View::named(INDEX)] } else { self.views.clone() }
    }

    /// The feed configured for this agent and channel.
    pub fn feed(&self, id: &str, channel: Channel) -> Option<&Feed> {
        let source = self.bump.get(id)?;
        match channel {
            Channel::Stable => source.stable.as_ref(),
            Channel::Preview => source.preview.as_ref(),
        }
    }

    /// The members that views set in entries. Manifests must not set these themselves.
    pub(crate) fn set_keys(&self) -> impl Iterator<Item = &str> {
        let changes = self.views.iter().flat_map(|view| view.agents.values());
        changes.flat_map(|changes| changes.set.keys()).map(String::as_str)
    }

    fn check(&self) -> Result<(), String> {
        for address in self.base_url.iter().chain(self.views.iter().filter_map(|view| view.base_url.as_ref())) {
            check_base_url(address)?;
        }
        for (id, source) in &self.bump {
            source.check(id)?;
        }
        self.site.check()?;
        self.advisories.check()?;
        for (id, npm) in &self.npm {
            npm.check(id)?;
        }
        for path in self.schemas.agent.iter().chain(&self.schemas.registry) {
            if !is_below(path) {
                return Err(format!("the schema {path:?} must be a path below the registry directory"));
            }
        }
        let mut names = BTreeSet::new();
        for view in &self.views {
            view.check()?;
            if !names.insert(view.file.to_ascii_lowercase()) {
                return Err(format!("two views have the file name {:?}; each needs its own", view.file));
            }
        }
        if !self.views.is_empty() && !self.views.iter().any(|view| view.file == INDEX) {
            return Err(format!("one view must have the file name {INDEX:?}, which clients read"));
        }
        let views = self.views();
        for (id, hold) in &self.hold {
            if let Some(file) = hold.views.iter().find(|file| views.iter().all(|view| view.file != **file)) {
                return Err(format!(
                    "the agent {id:?} is held in the view {file:?}, but there is no view of this name"
                ));
            }
        }
        Ok(())
    }
}

/// Checks that `/<id>.svg` can be appended to a base URL.
///
/// # Errors
/// Returns what is wrong with the address, as a message.
pub fn check_base_url(address: &str) -> Result<(), String> {
    let parsed = http::address::parse(address).map_err(|error| format!("the base URL {address:?} {error}"))?;
    let is_plain = address.bytes().all(|b| b.is_ascii_graphic() && !b"\"'<>\\^`{|}".contains(&b));
    if !is_plain || parsed.query().is_some() || parsed.fragment().is_some() {
        return Err(format!("the base URL {address:?} must have no query, no fragment and no special characters"));
    }
    if parsed.path().trim_end_matches('/').contains("//") {
        // A link that begins so leads to another host.
        return Err(format!("the base URL {address:?} must have no \"//\" in its path"));
    }
    Ok(())
}

/// The feeds of one agent that is published neither in a package registry nor on GitHub.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct BumpSource {
    /// The feed of the stable channel.
    pub stable: Option<Feed>,
    /// The feed of the preview channel.
    pub preview: Option<Feed>,
}

/// A publisher's list of versions: one JSON document, or one JSON value per line.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Feed {
    /// URL of the feed.
    pub url: String,
    /// JSON pointer to the array of records in the document. Without it, each line is a record.
    pub records: Option<String>,
    /// Read only this many records, from the end. Without it, all records are read, and more than 200,000 are an error.
    pub last: Option<NonZeroUsize>,
    /// JSON pointer to the version in a record.
    pub version: String,
    /// JSON pointer to the platform of a record. Without it, each record applies to all platforms.
    pub platform: Option<String>,
    /// JSON pointer to the archive's URL in a record; `{platform}` in it is replaced by the platform's name in the
    /// feed.
    pub archive: String,
    /// JSON pointer to the archive's SHA-256; `{platform}` is replaced as in `archive`.
    pub sha256: Option<String>,
    /// The feed's names for platforms, keyed by the names used in manifests.
    #[serde(default)]
    pub names: BTreeMap<String, String>,
}

impl BumpSource {
    /// Checks what deserialization does not: the URL, the form of JSON pointers, and that the platform is named.
    ///
    /// # Errors
    /// Returns the problem, and what to write instead, as a message.
    fn check(&self, id: &str) -> Result<(), String> {
        for feed in self.stable.iter().chain(&self.preview) {
            acp_registry_http::address::parse(&feed.url)
                .map_err(|error| format!("the feed {:?} of the agent {id:?} {error}", feed.url))?;
            let pointers = [
                feed.records.as_ref(),
                Some(&feed.version),
                feed.platform.as_ref(),
                Some(&feed.archive),
                feed.sha256.as_ref(),
            ];
            if let Some(pointer) =
                pointers.into_iter().flatten().find(|pointer| !pointer.is_empty() && !pointer.starts_with('/'))
            {
                return Err(format!(
                    "{pointer:?} in the feed of the agent {id:?} must be a JSON pointer, such as \"/version\""
                ));
            }
            if feed.platform.is_none() && !feed.archive.contains("{platform}") {
                return Err(format!(
                    "the feed of the agent {id:?} must name the platform: with `platform`, or with {{platform}} in `archive`"
                ));
            }
        }
        Ok(())
    }
}

/// Schema files of a registry, published byte for byte. Manifests are still checked against the built-in schema.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct Schemas {
    /// Path of the file published as `agent.schema.json`, relative to the registry directory.
    pub agent: Option<String>,
    /// Path of the file published as `registry.schema.json`, relative to the registry directory.
    pub registry: Option<String>,
}

impl Schemas {
    /// Reads one of these files, and checks that it is a JSON object.
    ///
    /// # Errors
    /// Returns what is wrong with the file, worded to follow its name: "does not exist".
    pub fn read(root: &Path, path: &str) -> Result<Vec<u8>, String> {
        let bytes = read_bounded(&root.join(path), root, MANIFEST_LIMIT).map_err(|error| match error {
            ReadError::NotFound => "does not exist".to_owned(),
            error => error.to_string(),
        })?;
        match serde_json::from_slice(&bytes) {
            Ok(Value::Object(_)) => Ok(bytes),
            Ok(_) => Err("is not a JSON object".to_owned()),
            Err(error) => Err(format!("is not JSON: {error}")),
        }
    }
}

impl From<ConfigError> for Failure {
    fn from(error: ConfigError) -> Self {
        let correct = |path: &Path| format!("correct {}", path.display());
        let help = match &error {
            ConfigError::Read { error: ReadError::Io(_), .. } => {
                let help = "make it and its directory readable, or name another file with --config";
                return Self::unable(error).help(help);
            }
            ConfigError::Read { .. } => "name a file that can be read with --config".to_owned(),
            ConfigError::Syntax { path, message } => toml_remedy(message).unwrap_or_else(|| correct(path)),
            ConfigError::Invalid { path, .. } => correct(path),
        };
        Self::usage(error).code(Code::InvalidConfiguration).help(help)
    }
}

/// The help for common mistakes in TOML, found in the parser's message.
fn toml_remedy(message: &str) -> Option<String> {
    if let Some((_, rest)) = message.split_once("unknown field `") {
        let (field, known) = rest.split_once('`')?;
        let known = known.split('`').skip(1).step_by(2);
        return nearest(field, known).map(|near| format!("did you mean {}?", quote(near)));
    }
    let is_number = message.contains("expected u64") && message.contains("invalid type: string");
    if is_number {
        return Some("write a whole number, without quotes and units".to_owned());
    }
    // The message shows the line with the mistake after its number.
    let line = message.lines().filter_map(|line| line.split_once(" | ")).map(|(_, line)| line.trim());
    let mut keys = line.filter_map(|line| Some(line.split_once('=')?.0.trim()));
    let unquoted = keys.find(|key| key.contains('/') && !key.contains(['"', '\'']))?;
    Some(format!("quote the key: \"{unquoted}\""))
}

/// Settings of the catalog site.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct SiteConfig {
    /// URL of the registry's repository.
    pub repository: Option<String>,
    /// URL for editing an entry; `{id}` is replaced by the agent's id.
    pub edit: Option<String>,
    /// The files to publish for each agent, next to its page.
    pub agent_files: BTreeSet<AgentFile>,
    /// Pictures for link previews.
    pub previews: PreviewSetting,
    /// Agents that are adapters of a program with a licence of its own, by id, with the name of the program.
    pub adapters: BTreeMap<String, String>,
    /// The day of an agent's first release by its publisher, by id, as `YYYY-MM-DD`.
    pub appeared: BTreeMap<String, String>,
}

/// A file published for each agent, next to its page.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AgentFile {
    /// `agent.json`: the entry.
    Json,
    /// `index.md`: the page as Markdown.
    Markdown,
    /// `feed.atom`: the agent's versions.
    Feed,
    /// `badge.svg`: a badge to embed elsewhere.
    Badge,
    /// `card.html`: the agent as a card to embed elsewhere. Not there unless it is asked for.
    Card,
}

impl Default for SiteConfig {
    fn default() -> Self {
        let agent_files = [AgentFile::Json, AgentFile::Markdown, AgentFile::Feed, AgentFile::Badge].into();
        Self {
            repository: None,
            edit: None,
            agent_files,
            previews: PreviewSetting::default(),
            adapters: BTreeMap::new(),
            appeared: BTreeMap::new(),
        }
    }
}

impl SiteConfig {
    fn check(&self) -> Result<(), String> {
        for (key, address) in [("repository", &self.repository), ("edit", &self.edit)] {
            let Some(address) = address else { continue };
            let example = address.replace("{id}", "id");
            let url = url::Url::parse(&example).ok().filter(|url| url.scheme() == "https" && url.has_host());
            if url.is_none_or(|url| !url.username().is_empty() || url.password().is_some()) {
                return Err(format!("`{key}` of `[site]` is {address:?}, which is not an https address"));
            }
        }
        // An agent's id must not be able to change the host that the link leads to.
        let in_path = |edit: &String| edit.splitn(4, '/').nth(3).is_some_and(|path| path.contains("{id}"));
        let in_host = |edit: &String| edit.split('/').nth(2).is_some_and(|host| host.contains("{id}"));
        if self.edit.as_ref().is_some_and(|edit| !in_path(edit) || in_host(edit)) {
            return Err("`edit` of `[site]` must contain `{id}`, which is replaced by the agent's id, after the host"
                .to_owned());
        }
        if let Some((id, day)) = self.appeared.iter().find(|(_, day)| date(day).is_none()) {
            return Err(format!("`{id}` of `[site.appeared]` is {day:?}, which is not a day as 2026-12-31"));
        }
        Ok(())
    }

    /// The URL for editing an agent's entry, and whether it leads to that entry. Without `edit`, it is the entry's file
    /// on GitHub, or the repository (`false`) if that is hosted elsewhere.
    pub fn edit_url(&self, id: &str) -> Option<(String, bool)> {
        if let Some(edit) = &self.edit {
            return Some((edit.replace("{id}", id), true));
        }
        let repository = self.repository.as_deref()?.trim_end_matches('/');
        // GitHub resolves `HEAD` to the repository's default branch.
        let is_github = repository.strip_prefix("https://github.com/").is_some_and(|path| path.split('/').count() == 2);
        let entry = || (format!("{}/blob/HEAD/{id}/agent.json", repository.trim_end_matches(".git")), true);
        Some(if is_github { entry() } else { (repository.to_owned(), false) })
    }
}

/// The number of agents up to which each has a picture of its own by default.
const LIMIT: usize = 500;

/// The setting `previews`: `true`, `false`, or the greatest number of agents that have pictures of their own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(untagged, expecting = "`previews` is `true`, `false` or a number of agents")]
pub enum PreviewSetting {
    /// Whether there are pictures, however many agents there are.
    Switch(bool),
    /// Above this number of agents, all pages share the picture of the site.
    Limit(usize),
}

impl Default for PreviewSetting {
    fn default() -> Self {
        Self::Limit(LIMIT)
    }
}

/// The pictures that a site has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Previews {
    /// No pictures.
    None,
    /// One for all pages.
    OfSite,
    /// One for each agent, and one for the other pages.
    OfAgents,
}

impl PreviewSetting {
    /// The pictures of a site with this many agents.
    pub fn of(self, agents: usize) -> Previews {
        match self {
            Self::Switch(false) => Previews::None,
            Self::Limit(limit) if agents > limit => Previews::OfSite,
            Self::Switch(true) | Self::Limit(_) => Previews::OfAgents,
        }
    }
}

/// Documents of the published tree about the registry as a whole, beside its indexes.
pub const DOCUMENTS: [&str; 3] = [HISTORY_FILE, "examinations.json", "facets.json"];

/// Other file names of the published tree that are not available to views: what it has there itself, and views whose entries
/// would be where it has other files of agents.
fn taken() -> Vec<String> {
    let files = ["agent.schema.json", "registry.schema.json", DISCOVERY, STATEMENT, REVOKED];
    let folders = [VERSIONS, CLOSURES, EARLIER_CLOSURES].map(|folder| format!("{folder}.json"));
    files.iter().chain(&DOCUMENTS).map(|file| (*file).to_owned()).chain(folders).collect()
}

/// One published index.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct View {
    /// File name in the published tree.
    pub file: String,
    /// `version` of the index.
    #[serde(default = "default_format_version")]
    pub format_version: String,
    /// Base URL of this view's icons; defaults to [`base_url`](Config::base_url).
    #[serde(default)]
    pub base_url: Option<String>,
    /// The channel to publish.
    #[serde(default)]
    pub channel: Channel,
    /// Whether packages keep members that the public format does not have, see
    /// [`extension`](acp_registry_plan::manifest::extension).
    #[serde(default)]
    pub package_extensions: bool,
    /// Ids of agents to leave out.
    #[serde(default)]
    pub exclude: BTreeSet<String>,
    /// Changes to single entries, by agent id.
    #[serde(default)]
    pub agents: BTreeMap<String, AgentChanges>,
    /// Additional members of the index, written after `agents` in the order of the file.
    #[serde(default, deserialize_with = "plain")]
    pub extra: Map<String, Value>,
}

/// Changes that a view makes to one entry.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct AgentChanges {
    /// Members to append to the entry, in the order of the file.
    #[serde(deserialize_with = "plain")]
    pub set: Map<String, Value>,
    /// Arguments to append to a distribution's, keyed by `binary`, `npx` or `uvx`.
    pub append_args: BTreeMap<String, Vec<String>>,
}

fn default_format_version() -> String {
    "1.0.0".to_owned()
}

/// Rejects TOML values without an exact equivalent in JSON (dates, NaN and infinity), since they would be published as
/// something else.
fn plain<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Map<String, Value>, D::Error> {
    fn convert(value: toml::Value) -> Result<Value, String> {
        Ok(match value {
            toml::Value::String(text) => Value::String(text),
            toml::Value::Integer(number) => Value::from(number),
            toml::Value::Boolean(flag) => Value::Bool(flag),
            toml::Value::Float(number) => match serde_json::Number::from_f64(number) {
                Some(number) => Value::Number(number),
                None => return Err(format!("{number} cannot be written in JSON")),
            },
            toml::Value::Datetime(date) => return Err(format!("JSON has no dates; write \"{date}\"")),
            toml::Value::Array(items) => Value::Array(items.into_iter().map(convert).collect::<Result<_, _>>()?),
            toml::Value::Table(table) => Value::Object(to_json(table)?),
        })
    }
    fn to_json(table: toml::Table) -> Result<Map<String, Value>, String> {
        table.into_iter().map(|(key, value)| Ok((key, convert(value)?))).collect()
    }
    to_json(toml::Table::deserialize(deserializer)?).map_err(serde::de::Error::custom)
}

impl View {
    /// A view of the stable channel with unchanged entries of all agents.
    pub fn named(file: &str) -> Self {
        Self {
            file: file.to_owned(),
            format_version: default_format_version(),
            base_url: None,
            channel: Channel::Stable,
            package_extensions: false,
            exclude: BTreeSet::new(),
            agents: BTreeMap::new(),
            extra: Map::new(),
        }
    }

    /// Checks that the view can be published.
    ///
    /// # Errors
    /// Returns what is wrong, as a message.
    fn check(&self) -> Result<(), String> {
        let file = self.file.as_str();
        let is_plain = file.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_.".contains(&b)) && !file.starts_with('.');
        let taken = taken();
        if !is_plain
            || Path::new(file).extension().is_none_or(|ending| ending != "json")
            || taken.iter().any(|taken| file.eq_ignore_ascii_case(taken))
        {
            return Err(format!(
                "the view file {file:?} must be a plain file name that ends in `.json`, other than {}",
                taken.join(", ")
            ));
        }
        let parts: Vec<&str> = self.format_version.split('.').collect();
        if parts.len() < 3 || !parts.iter().all(|part| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit())) {
            return Err(format!(
                "the format version {:?} of {file:?} must be three numbers, such as 1.0.0",
                self.format_version
            ));
        }
        for reserved in ["version", "agents"] {
            if self.extra.contains_key(reserved) {
                return Err(format!("`extra` of the view {file:?} cannot set `{reserved}`, which the build writes"));
            }
        }
        for changes in self.agents.values() {
            if let Some(kind) =
                changes.append_args.keys().find(|kind| !["binary", "npx", "uvx"].contains(&kind.as_str()))
            {
                return Err(format!("`append-args` takes `binary`, `npx` or `uvx`, not {kind:?}"));
            }
            for reserved in ["id", "version", "distribution", "icon", "preview"] {
                if changes.set.contains_key(reserved) {
                    return Err(format!("`set` cannot change `{reserved}`, which comes from the manifest"));
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Config, String> {
        Config::parse(Path::new("registry.toml"), text).map_err(|error| error.to_string())
    }

    #[test]
    fn contradictions_are_named() {
        for (text, part) in [
            ("[[view]]\nfile = \"../x.json\"", "plain file name"),
            ("[[view]]\nfile = \"agent.schema.json\"", "plain file name"),
            ("[[view]]\nfile = \"a.svg\"", "plain file name"),
            ("[[view]]\nfile = \"a.json\"", "one view must have the file name"),
            ("[[view]]\nfile = \"Registry.json\"", "one view must have the file name"),
            ("[[view]]\nfile = \"registry.json\"\n[[view]]\nfile = \"Registry.json\"", "two views"),
            ("[[view]]\nfile = \"registry.json\"\nextra = { agents = 1 }", "cannot set `agents`"),
            ("[[view]]\nfile = \"registry.json\"\nagents.x.set.id = 1", "cannot change `id`"),
            ("[[view]]\nfile = \"registry.json\"\nagents.x.append-args.bun = []", "takes `binary`"),
            ("[[view]]\nfile = \"registry.json\"\nchannel = \"beta\"", "unknown variant"),
            ("base-url = \"ftp://x\"", "does not begin with"),
            ("base-url = \"https:x.example\"", "does not begin with"),
            ("base-url = \"https://u:p@x.example\"", "user info"),
            ("base-url = \"https://x.example/a b\"", "special characters"),
            ("base-url = \"https://x.example//r\"", "in its path"),
            ("base-url = \"https://x.example/?q\"", "must have no query"),
            ("[[view]]\nfile = \"registry.json\"\nformat-version = \"1\"", "three numbers"),
            ("[[view]]\nfile = \"registry.json\"\nextra = { d = 1979-05-27 }", "no dates"),
            ("[[view]]\nfile = \"registry.json\"\nagents.x.set.n = nan", "cannot be written in JSON"),
            ("[[view]]\nfile = \"Agent.Schema.json\"", "plain file name"),
            ("colour = 1", "unknown field"),
            ("schemas.agent = \"../agent.schema.json\"", "below the registry directory"),
            ("schemas.registry = \"/etc/passwd\"", "below the registry directory"),
            ("schemas.index = \"a.json\"", "unknown field"),
            ("agents.x.rules.\"icon/size\" = \"never\"", "unknown variant"),
            ("agents.x.levels = {}", "unknown field"),
            (
                "bump.x.stable = { url = \"ftp://h\", version = \"/v\", archive = \"/{platform}\" }",
                "does not begin with",
            ),
            ("bump.x.stable = { url = \"https://h\", version = \"v\", archive = \"/{platform}\" }", "a JSON pointer"),
            ("bump.x.preview = { url = \"https://h\", version = \"/v\", archive = \"/a\" }", "must name the platform"),
            ("bump.x.beta = {}", "unknown field"),
            ("archive-limits.size = 1", "unknown field"),
            ("advisories.sources = [\"../x\"]", "must be an address, or a path below the registry directory"),
            ("advisories.sources = [\"/x\"]", "must be an address, or a path below the registry directory"),
            ("advisories.sources = [\"\"]", "must be an address, or a path below the registry directory"),
            ("advisories.sources = [\"ftp://h/x\"]", "the source \"ftp://h/x\" of advisories"),
            ("advisories.source = \"x\"", "unknown field"),
            ("npm.x.allow-scripts = [\"a@1.0.0\"]", "must be a package with its version and digest"),
            ("npm.x.allow-scripts = [\"a@1.0.0 sha512-AAAA\"]", "must be a package with its version and digest"),
            ("npm.x.allow-scripts = [\"a@^1 sha512-AAAA\"]", "must be a package with its version and digest"),
            ("npm.x.scripts = true", "unknown field"),
            ("uv.x.allow-build = [\"a\"]", "expected a boolean"),
            ("uv.x.build = true", "unknown field"),
            ("examine.require = \"model\"", "unknown variant"),
            ("examine.level = \"protocol\"", "expected struct Recipe"),
            ("[examine.agent]\nvariables = {}", "unknown field `variables`"),
            ("archive-limits.entries = -1", "invalid value"),
            ("rules.\"icon/size\" = \"fatal\"", "unknown variant"),
            ("[[view", "not a registry configuration"),
        ] {
            let error = parse(text).expect_err(text);
            assert!(error.contains(part) && error.starts_with("registry.toml"), "{text}: {error}");
        }
    }

    /// The keys that serde lists in its error for an unknown one are the properties of the schema.
    #[test]
    fn the_schema_has_the_keys_of_each_table() {
        let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../schemas/registry.toml.schema.json");
        let schema: Value = serde_json::from_slice(&std::fs::read(file).unwrap()).unwrap();
        for (table, place) in [
            ("", ""),
            ("[schemas]", "/properties/schemas"),
            ("[archive-limits]", "/properties/archive-limits"),
            ("[agents.x]", "/properties/agents/additionalProperties"),
            ("[examine.x]", "/definitions/recipe"),
            ("[advisories]", "/properties/advisories"),
            ("[closures]", "/properties/closures"),
            ("[npm.x]", "/properties/npm/additionalProperties"),
            ("[uv.x]", "/properties/uv/additionalProperties"),
            ("[bump.x]", "/properties/bump/additionalProperties"),
            ("[bump.x.stable]", "/definitions/feed"),
            ("[site]", "/properties/site"),
            ("[[view]]", "/definitions/view"),
        ] {
            let error = parse(&format!("{table}\nno-such-key = 1")).expect_err(table);
            let expected = error.split("expected ").nth(1).unwrap_or_else(|| panic!("{table}: {error}"));
            let known: BTreeSet<&str> = expected.split('`').skip(1).step_by(2).collect();
            let properties = schema.pointer(&format!("{place}/properties")).and_then(Value::as_object);
            let described: BTreeSet<&str> =
                properties.unwrap_or_else(|| panic!("{place}")).keys().map(String::as_str).collect();
            assert_eq!(described, known, "{table}");
        }
    }

    #[test]
    fn without_views_there_is_one() {
        let config = parse("base-url = \"https://host.example/r/\"").unwrap();
        assert_eq!(config.base_url.as_deref(), Some("https://host.example/r"));
        assert_eq!(config.views(), [View::named("registry.json")]);
    }

    fn site(repository: Option<&str>, edit: Option<&str>) -> SiteConfig {
        let [repository, edit] = [repository, edit].map(|text| text.map(ToOwned::to_owned));
        SiteConfig { repository, edit, ..SiteConfig::default() }
    }

    #[test]
    fn entries_are_edited_where_the_configuration_says() {
        let of = |repository, edit| site(repository, edit).edit_url("a");
        assert_eq!(of(None, None), None);
        let entry = |text: &str| Some((text.to_owned(), true));
        assert_eq!(
            of(Some("https://github.com/o/r.git"), None),
            entry("https://github.com/o/r/blob/HEAD/a/agent.json")
        );
        assert_eq!(of(Some("https://example.com/r/"), None), Some(("https://example.com/r".to_owned(), false)));
        assert_eq!(of(None, Some("https://example.com/{id}?x")), entry("https://example.com/a?x"));
    }

    #[test]
    fn only_https_is_linked() {
        for address in ["http://example.com", "javascript:alert(1)", "https://u@example.com", "x"] {
            assert!(site(Some(address), None).check().unwrap_err().contains("not an https address"), "{address}");
        }
        for edit in
            ["https://example.com/", "https://{id}.example.com/", "https://{id}.example.com/{id}", "https://e.com?{id}"]
        {
            assert!(site(None, Some(edit)).check().unwrap_err().contains("{id}"), "{edit}");
        }
        assert!(site(Some("https://example.com"), Some("https://example.com/{id}")).check().is_ok());
    }

    #[test]
    fn above_the_limit_the_site_has_one_picture() {
        let default = PreviewSetting::default();
        assert_eq!(
            [0, 500, 501].map(|count| default.of(count)),
            [Previews::OfAgents, Previews::OfAgents, Previews::OfSite]
        );
        assert_eq!(PreviewSetting::Limit(0).of(1), Previews::OfSite);
        assert_eq!(PreviewSetting::Switch(true).of(100_000), Previews::OfAgents);
        assert_eq!(PreviewSetting::Switch(false).of(1), Previews::None);
    }
}

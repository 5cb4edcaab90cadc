//! The flags of all commands, and their values.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use acp_registry::check::Levels;
use acp_registry::config::{Config, ConfigError};
use acp_registry::host::fs::{PathError, ReadError};
use acp_registry::http::AllowedHosts;
use acp_registry::registry::LoadError;
use clap::{Args, ValueEnum};

use super::code::Code;
use super::exit::Failure;

/// The heading of the global flags in the help.
const HEADING: &str = "Global options";

/// Flags of every command.
#[derive(Debug, Clone, Args)]
pub(super) struct Global {
    /// The registry [default: `registry`, else `.`]
    ///
    /// It is the directory that holds `<id>/agent.json`: `registry` if it exists, else the working directory.
    #[arg(long, global = true, help_heading = HEADING, value_name = "DIR")]
    registry_dir: Option<PathBuf>,

    /// The configuration [default: its `registry.toml`]
    ///
    /// The file is optional: without it, `registry.toml` in the registry is read if it exists.
    #[arg(long, global = true, help_heading = HEADING, value_name = "FILE")]
    config: Option<PathBuf>,

    /// Allow http and private addresses for a host
    ///
    /// For mirrors and tests. May be repeated.
    #[arg(long, global = true, help_heading = HEADING, value_name = "HOST[:PORT]")]
    allow_host: Vec<String>,

    /// Print results and errors only
    #[arg(short, long, global = true, help_heading = HEADING, conflicts_with = "verbose")]
    pub(super) quiet: bool,

    /// Print what is being done
    #[arg(short, long, global = true, help_heading = HEADING)]
    pub(super) verbose: bool,

    /// How progress is shown: auto, json or never
    ///
    /// `auto` shows bars on a terminal, unless `CI` is set. `json` writes one JSON object per event to stderr, notes and
    /// errors included.
    #[arg(
        long, global = true, help_heading = HEADING, value_name = "FORM", default_value = "auto",
        hide_default_value = true, hide_possible_values = true
    )]
    pub(super) progress: ProgressChoice,

    /// When to use colours: auto, always or never
    ///
    /// `auto` uses them on a terminal, unless `NO_COLOR` or `CI` is set.
    #[arg(
        long, global = true, help_heading = HEADING, value_name = "WHEN", default_value = "auto",
        hide_default_value = true, hide_possible_values = true
    )]
    pub(super) color: ColorChoice,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum ColorChoice {
    /// On a terminal, unless `NO_COLOR` or `CI` is set
    Auto,
    Always,
    Never,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum ProgressChoice {
    /// Bars on a terminal, unless `CI` is set
    Auto,
    /// One JSON object per event, notes and errors included
    Json,
    /// No progress
    Never,
}

/// The form of a result.
#[derive(Debug, Args)]
pub(super) struct FormatArgs {
    /// Form of the result
    #[arg(long, value_name = "FORMAT", default_value = "human")]
    format: PlainFormat,

    /// Short for `--format json`
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum PlainFormat {
    Human,
    Json,
}

impl FormatArgs {
    /// A JSON document.
    pub(super) fn json() -> Self {
        Self { format: PlainFormat::Json, json: true }
    }

    pub(super) fn is_json(&self) -> bool {
        self.json || self.format == PlainFormat::Json
    }
}

impl Global {
    pub(super) fn registry_dir(&self) -> PathBuf {
        self.registry_dir.clone().unwrap_or_else(|| {
            let usual = Path::new("registry");
            if usual.is_dir() { usual } else { Path::new(".") }.to_owned()
        })
    }

    /// The flags that select this registry in another command, each preceded by a space.
    pub(super) fn registry_flags(&self) -> String {
        let named = [("--registry-dir", &self.registry_dir), ("--config", &self.config)];
        let flag =
            |(flag, path): (&str, &Option<PathBuf>)| path.as_ref().map(|path| format!(" {flag} {}", path.display()));
        named.into_iter().filter_map(flag).collect()
    }

    pub(super) fn config(&self) -> Result<Config, Failure> {
        self.config_of(&self.registry_dir())
    }

    /// Reads the configuration of a registry that was not selected by `--registry-dir`.
    pub(super) fn config_of(&self, registry: &Path) -> Result<Config, Failure> {
        if let Some(path) = &self.config {
            return Ok(Config::read(path)?);
        }
        if registry.is_file() {
            let error = PathError { path: registry.to_owned(), error: ErrorKind::NotADirectory.into() };
            return Err(LoadError::Directory(error).into());
        }
        match Config::read(&registry.join("registry.toml")) {
            Err(ConfigError::Read { error: ReadError::NotFound, .. }) => Ok(Config::default()),
            other => Ok(other?),
        }
    }

    /// The flags that let another process connect to the same hosts.
    pub(super) fn network_flags(&self) -> Vec<String> {
        self.allow_host.iter().flat_map(|host| ["--allow-host".to_owned(), host.clone()]).collect()
    }

    pub(super) fn allowed_hosts(&self) -> Result<AllowedHosts, Failure> {
        AllowedHosts::parse(&self.allow_host).map_err(|error| Failure::usage(format!("--allow-host: {error}")))
    }
}

/// The rule levels of a configuration. Levels for single agents come last.
pub(super) fn configured_levels(config: &Config) -> Result<Levels, Failure> {
    Levels::configured(config).map_err(|error| {
        let failure = Failure::usage(format!("in the configuration: {error}"));
        failure.code(Code::InvalidConfiguration).suggest(error.suggestion.as_deref())
    })
}

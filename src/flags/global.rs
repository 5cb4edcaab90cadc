//! The flags of all commands, and their values.

use std::io::ErrorKind;
use std::path::{Component, Path, PathBuf};

use acp_registry::check::Levels;
use acp_registry::config::{CONFIG, Config, ConfigError};
use acp_registry::host::fs::{PathError, ReadError};
use acp_registry::http::AllowedHosts;
use acp_registry::registry::LoadError;
use clap::{Args, ValueEnum};

use crate::terminal::ui::{HEADING, OutputArgs};
use acp_registry::failure::{Code, Failure};

/// Flags of every command.
#[derive(Debug, Clone, Args)]
pub(crate) struct Global {
    /// The registry [default: `registry`, else `.`]
    ///
    /// It is the directory that holds `<id>/agent.json`: `registry` if it exists, else the working directory.
    #[arg(long, global = true, help_heading = HEADING, value_name = "DIR")]
    registry_dir: Option<PathBuf>,

    /// The configuration [default: `registry.toml` in the registry]
    ///
    /// The default file may be missing; a file that is named must exist.
    #[arg(long, global = true, help_heading = HEADING, value_name = "FILE")]
    config: Option<PathBuf>,

    /// Allow http and private addresses for a host (repeatable)
    ///
    /// For mirrors and tests.
    #[arg(long, global = true, help_heading = HEADING, value_name = "HOST[:PORT]")]
    pub(crate) allow_host: Vec<String>,

    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

/// The form of a result.
#[derive(Debug, Args)]
pub(crate) struct FormatArgs {
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
    pub(crate) fn is_json(&self) -> bool {
        self.json || self.format == PlainFormat::Json
    }
}

impl Global {
    pub(crate) fn registry_dir(&self) -> PathBuf {
        self.registry_dir.clone().unwrap_or_else(|| {
            let usual = Path::new("registry");
            if usual.is_dir() { usual } else { Path::new(".") }.to_owned()
        })
    }

    pub(crate) fn config(&self) -> Result<Config, Failure> {
        self.config_in(&self.registry_dir())
    }

    /// The file of the configuration of a registry.
    pub(crate) fn config_file(&self, registry: &Path) -> PathBuf {
        self.config.clone().unwrap_or_else(|| registry.join(CONFIG))
    }

    /// Reads the configuration of a registry that was not selected by `--registry-dir`.
    pub(crate) fn config_in(&self, registry: &Path) -> Result<Config, Failure> {
        if let Some(path) = &self.config {
            return Ok(Config::read(path)?);
        }
        if registry.is_file() {
            let error = PathError { path: registry.to_owned(), error: ErrorKind::NotADirectory.into() };
            return Err(LoadError(error).into());
        }
        match Config::read_in(registry) {
            Err(ConfigError::Read { error: ReadError::NotFound, .. }) => Ok(Config::default()),
            other => Ok(other?),
        }
    }

    /// The flags that let another process connect to the same hosts.
    pub(crate) fn network_flags(&self) -> Vec<String> {
        self.allow_host.iter().flat_map(|host| ["--allow-host".to_owned(), host.clone()]).collect()
    }

    pub(crate) fn allowed_hosts(&self) -> Result<AllowedHosts, Failure> {
        AllowedHosts::parse(&self.allow_host).map_err(|error| Failure::usage(format!("--allow-host: {error}")))
    }
}

/// The rule levels of the configuration in a file. Levels for single agents come last.
pub(crate) fn configured_levels(config: &Config, file: &Path) -> Result<Levels, Failure> {
    Levels::configured(config).map_err(|error| {
        let failure = Failure::usage(format!("in the configuration {}: {error}", file.display()));
        let failure = failure.code(Code::InvalidConfiguration);
        match &error.suggestion {
            Some(near) => failure.suggest([near.as_str()]),
            None => failure.help("run `acp-registry rules` to see all rules"),
        }
    })
}

/// The registry directory relative to the working directory, which is the checkout on a CI runner. Empty if it is
/// elsewhere.
pub(crate) fn prefix(root: &Path) -> String {
    let here = std::env::current_dir().and_then(|here| here.canonicalize()).unwrap_or_default();
    let Ok(relative) = root.strip_prefix(&here) else { return String::new() };
    let parts = relative.components().filter_map(|part| match part {
        Component::Normal(part) => Some(format!("{}/", part.to_string_lossy())),
        _ => None,
    });
    parts.collect()
}

//! What npm and uv see of the host, and what they are told besides.

use std::path::Path;

use super::cache::Open;
use super::{Error, Installer};
use acp_registry_host::fs::read_bounded;
use acp_registry_host::process::Environment;
use acp_registry_plan::manifest::{Package, extension};

/// The variable with the time whose later releases uv does not take.
pub(super) const CUTOFF: &str = "UV_EXCLUDE_NEWER";

/// The largest configuration file of uv that is read, in bytes.
const FILE_LIMIT: u64 = 1 << 20;

/// A value in the configuration file of uv.
pub(super) fn read_uv_setting(key: &str, installer: &Installer) -> Option<toml::Value> {
    let (_, path) = installer.uv.iter().find(|(name, _)| name == "UV_CONFIG_FILE")?;
    let path = Path::new(path).canonicalize().ok()?;
    let text = String::from_utf8(read_bounded(&path, &path, FILE_LIMIT).ok()?).ok()?;
    text.parse::<toml::Table>().ok()?.remove(key)
}

impl Installer {
    /// The shared caches, for as long as the result lives.
    pub(super) fn open_cache(&self) -> Option<Open> {
        self.packages.as_ref()?.open()
    }

    /// The environment of npm. Before npm asks a registry again that does not answer, it waits 10 and then 60 s by itself, once
    /// for each level of dependencies that it has in its cache. Shorter pauses cost a slow network nothing: how long an answer
    /// may take is another setting, and stays as it is.
    pub(super) fn npm_environment(&self, cache: Option<&Open>) -> Environment {
        const PAUSES: [(&str, &str); 2] =
            [("npm_config_fetch_retry_mintimeout", "1000"), ("npm_config_fetch_retry_maxtimeout", "3000")];
        let mut environment = self.environment.clone();
        // npm refuses a lower bound above the upper one, so that the person's count alone.
        if self.npm.iter().all(|(name, _)| PAUSES.iter().all(|(known, _)| name != known)) {
            for (name, value) in PAUSES {
                environment.set(name, value);
            }
        }
        // As this program does, trust the authorities of the system, and those of the variable that npm does not read.
        environment.set("NODE_USE_SYSTEM_CA", "1");
        if let Some(file) = environment.get("SSL_CERT_FILE").map(ToOwned::to_owned)
            && environment.get("NODE_EXTRA_CA_CERTS").is_none()
        {
            environment.set("NODE_EXTRA_CA_CERTS", file);
        }
        set_all(&mut environment, &self.npm);
        if let Some(cache) = cache {
            environment.set("npm_config_cache", &cache.npm);
        }
        environment
    }

    /// The environment of uv for a package. A cutoff that the person has set for uv, by a variable or in its configuration
    /// file, counts for more than the manifest's.
    pub(super) fn uv_environment(&self, package: &Package, cache: Option<&Open>) -> Result<Environment, Error> {
        let mut environment = self.environment_with(&self.uv);
        // uv looks for a Python in `PATH`, where those of version managers come last.
        let python = if cfg!(windows) { "python" } else { "python3" };
        let pythons = environment.find_all(python).filter_map(|python| python.parent().map(Path::to_owned));
        let pythons = pythons.collect::<Vec<_>>();
        environment.append_to_path(pythons);
        if environment.get("UV_NATIVE_TLS").is_none() && environment.get("UV_SYSTEM_CERTS").is_none() {
            environment.set("UV_SYSTEM_CERTS", "1");
        }
        if let Some(day) = &package.exclude_newer
            && self.uv.iter().all(|(name, _)| name != CUTOFF)
            && read_uv_setting("exclude-newer", self).is_none()
        {
            let end = extension::end_of_day(day);
            environment.set(CUTOFF, end.ok_or_else(|| Error::Cutoff { day: day.clone() })?);
        }
        if let Some(cache) = cache {
            environment.set("UV_CACHE_DIR", &cache.uv);
        }
        Ok(environment)
    }

    /// The host's environment with further variables.
    fn environment_with(&self, variables: &[(String, String)]) -> Environment {
        let mut environment = self.environment.clone();
        set_all(&mut environment, variables);
        environment
    }
}

fn set_all(environment: &mut Environment, variables: &[(String, String)]) {
    for (name, value) in variables {
        environment.set(name, value);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use acp_registry_http::{Client, Settings};

    use super::*;

    #[test]
    fn package_managers_trust_the_authorities_that_this_program_trusts() {
        let installer = |variables: &[(&str, &str)]| {
            let variables = variables.iter().map(|(name, value)| ((*name).into(), (*value).into()));
            Installer::new(Arc::new(Client::new(Settings::default()).unwrap()), Environment::from_host(variables))
        };
        let npm = installer(&[("SSL_CERT_FILE", "/a.pem")]).npm_environment(None);
        assert_eq!(npm.get("NODE_EXTRA_CA_CERTS"), Some("/a.pem".as_ref()));
        assert_eq!(npm.get("NODE_USE_SYSTEM_CA"), Some("1".as_ref()));
        let own = installer(&[("SSL_CERT_FILE", "/a.pem"), ("NODE_EXTRA_CA_CERTS", "/b.pem")]);
        assert_eq!(own.npm_environment(None).get("NODE_EXTRA_CA_CERTS"), Some("/b.pem".as_ref()));
        let mut own = installer(&[]);
        assert_eq!(own.npm_environment(None).get("NODE_EXTRA_CA_CERTS"), None);
        let uv =
            |own: &Installer| own.uv_environment(&Package::default(), None).unwrap().get("UV_SYSTEM_CERTS").is_some();
        assert!(uv(&own));
        // uv warns of both, and the person has decided.
        own.uv.push(("UV_NATIVE_TLS".to_owned(), "false".to_owned()));
        assert!(!uv(&own));
    }
}

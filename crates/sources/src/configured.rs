//! The package registries in the user's configuration, for messages. Without such configuration, package managers use
//! their defaults.

use std::collections::BTreeMap;

use super::surroundings::Surroundings;
use super::{npm_config, python_config};
use acp_registry_plan::text::{printable, without_secrets};

/// A configured package registry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamedRegistry {
    /// The URL, without secrets. Safe to print.
    pub address: String,
    /// Where it is set: a variable, or a part of a file. Safe to print.
    pub setting: String,
}

impl NamedRegistry {
    fn new(address: &str, setting: &str) -> Self {
        let plain = |text: &str| printable(&without_secrets(text.trim())).into_owned();
        Self { address: plain(address), setting: plain(setting) }
    }
}

/// The configured package registries.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Registries {
    npm: Option<NamedRegistry>,
    scopes: BTreeMap<String, NamedRegistry>,
    python: Option<NamedRegistry>,
}

impl Registries {
    /// The settings of variables and configuration files that [`npm_variables`](super::npm_variables) and
    /// [`uv_variables`](super::uv_variables) pass on.
    pub fn configured(surroundings: &Surroundings<'_>) -> Self {
        let settings = npm_config::person_settings(surroundings);
        let npm = npm_config::configured(surroundings, &settings);
        let scopes = npm_config::scopes(&settings);
        let python = python_config::configured(surroundings);
        Self {
            npm: npm.map(|(address, setting)| NamedRegistry::new(&address, &setting)),
            scopes: scopes.map(|(scope, address, key)| (scope, NamedRegistry::new(&address, &key))).collect(),
            python: python.map(|(text, setting)| NamedRegistry::new(python_config::address(&text), &setting)),
        }
    }

    /// The registry that npm is configured to use for a package.
    pub fn npm(&self, package: &str) -> Option<&NamedRegistry> {
        let scope = package.split_once('/').map_or("", |(scope, _)| scope);
        self.scopes.get(scope).or(self.npm.as_ref())
    }

    /// The index that uv is configured to use.
    pub fn python(&self) -> Option<&NamedRegistry> {
        self.python.as_ref()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_setting_and_the_address_are_known_without_secrets() {
        let home = tempfile::tempdir().unwrap();
        let npmrc = "registry=https://u:secret@all.example/npm?token=secret\n@me:registry=https://me.example/\n";
        std::fs::write(home.path().join(".npmrc"), npmrc).unwrap();
        let found = |variables: &[(&str, &str)]| {
            let variable = |name: &str| match name {
                "HOME" | "PREFIX" => Some(home.path().to_str().unwrap().to_owned()),
                "PIP_CONFIG_FILE" | "UV_CONFIG_FILE" => home.path().join("missing").to_str().map(ToOwned::to_owned),
                _ => variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned()),
            };
            Registries::configured(&Surroundings { variable: &variable, run: &|_, _| panic!("nothing is run") })
        };
        let told = |named: Option<&NamedRegistry>| named.map(|named| format!("{} {}", named.address, named.setting));
        let plain = found(&[]);
        assert_eq!(told(plain.npm("p")).as_deref(), Some("https://all.example/npm?… `registry` in .npmrc"));
        assert_eq!(told(plain.npm("@me/p")).as_deref(), Some("https://me.example/ `@me:registry` in .npmrc"));
        assert_eq!(told(plain.python()), None);
        let set =
            [("NPM_CONFIG_REGISTRY", "http://v.example"), ("UV_DEFAULT_INDEX", "own=https://u:p@py.example/simple")];
        let set = found(&set);
        assert_eq!(told(set.npm("@you/p")).as_deref(), Some("http://v.example NPM_CONFIG_REGISTRY"));
        assert_eq!(told(set.python()).as_deref(), Some("https://py.example/simple UV_DEFAULT_INDEX"));
    }
}

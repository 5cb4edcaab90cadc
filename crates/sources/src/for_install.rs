//! Variables that make a package manager with a home of its own use the user's registries.

use super::npm_config::{self, OVERRIDE as NPM};
use super::python_config;
use super::surroundings::{Surroundings, read};
use acp_registry_http::Proxies;

/// Connection settings of npm. Each may also be written in upper case.
const OF_NPM: &[&str] = &[
    "npm_config_registry", "npm_config_proxy", "npm_config_https_proxy", "npm_config_noproxy", "npm_config_cafile",
    "npm_config_ca", "npm_config_strict_ssl", "npm_config_before", "npm_config_min_release_age",
    "npm_config_min_release_age_exclude", "npm_config_fetch_retry_mintimeout", "npm_config_fetch_retry_maxtimeout",
    "npm_config_fetch_retries", "npm_config_fetch_retry_factor", "npm_config_fetch_timeout",
    "npm_config_ignore_scripts",
];

/// Settings of uv for connections and for the source of Python.
const OF_UV: &[&str] = &[
    "UV_DEFAULT_INDEX", "UV_INDEX_URL", "UV_INDEX", "UV_EXTRA_INDEX_URL", "UV_INDEX_STRATEGY", "UV_KEYRING_PROVIDER",
    "UV_NATIVE_TLS", "UV_SYSTEM_CERTS", "UV_INSECURE_HOST", "UV_EXCLUDE_NEWER", "UV_HTTP_TIMEOUT", "UV_PYTHON",
    "UV_PYTHON_DOWNLOADS", "UV_PYTHON_INSTALL_MIRROR",
];

/// The variables that make an npm with another home use the registries and secrets that the user has configured. Pass
/// them only to npm, never to an agent.
pub fn npm_variables(surroundings: &Surroundings<'_>) -> Vec<(String, String)> {
    let mut variables = Proxies::new(surroundings.variable).variables();
    for name in OF_NPM {
        let value = surroundings.set(name).or_else(|| surroundings.set(&name.to_ascii_uppercase()));
        variables.extend(value.map(|value| ((*name).to_owned(), value)));
    }
    for (name, path) in npm_config::named_files(surroundings) {
        let Some(text) = read(&path) else { continue };
        let used = text.split("${").skip(1).filter_map(|rest| rest.split_once('}'));
        for (name, _) in used {
            let name = name.trim_end_matches('?');
            variables.extend(surroundings.set(name).map(|value| (name.to_owned(), value)));
        }
        variables.extend(path.to_str().map(|path| (name.to_owned(), path.to_owned())));
    }
    variables.extend(surroundings.set(NPM).map(|value| ("npm_config_registry".to_owned(), value)));
    variables
}

/// The variables that make a uv with another home use the indexes and secrets that the user has configured. Pass them
/// only to uv, never to an agent.
pub fn uv_variables(surroundings: &Surroundings<'_>) -> Vec<(String, String)> {
    let mut variables = Proxies::new(surroundings.variable).variables();
    for name in OF_UV {
        variables.extend(surroundings.set(name).map(|value| ((*name).to_owned(), value)));
    }
    match python_config::uv_files(surroundings).into_iter().find(|path| path.is_file()) {
        Some(path) => variables.extend(path.to_str().map(|path| ("UV_CONFIG_FILE".to_owned(), path.to_owned()))),
        // Otherwise, uv would search parent directories for one.
        None => variables.push(("UV_NO_CONFIG".to_owned(), "1".to_owned())),
    }
    let netrc = surroundings.set("NETRC").or_else(|| Some(surroundings.home()?.join(".netrc").to_str()?.to_owned()));
    variables.extend(netrc.map(|path| ("NETRC".to_owned(), path)));
    // Otherwise, uv would use its default index if another one is configured only for pip or for this program.
    let index = python_config::configured(surroundings).map(|(address, _)| address);
    variables.extend(index.map(|address| ("UV_DEFAULT_INDEX".to_owned(), address)));
    variables
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::fs;

    use super::*;

    fn found(
        of: fn(&Surroundings<'_>) -> Vec<(String, String)>,
        files: &[(&str, &str)],
        variables: &[(&str, &str)],
    ) -> BTreeMap<String, String> {
        let home = tempfile::tempdir().unwrap();
        for (name, text) in files {
            fs::create_dir_all(home.path().join(name).parent().unwrap()).unwrap();
            fs::write(home.path().join(name), text).unwrap();
        }
        let home = home.path().to_str().unwrap();
        let missing = format!("{home}/missing");
        let variable = |name: &str| match name {
            "HOME" | "PREFIX" => Some(home.to_owned()),
            "PIP_CONFIG_FILE" if !files.iter().any(|(name, _)| name.contains("pip")) => Some(missing.clone()),
            _ => variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned()),
        };
        let pairs = of(&Surroundings { variable: &variable, run: &|_, _| panic!("no program is started") });
        pairs.into_iter().map(|(name, value)| (name, value.replace(home, "HOME").replace('\\', "/"))).collect()
    }

    #[test]
    fn npm_gets_its_own_files_and_what_they_mention_and_nothing_else() {
        let npmrc = (".npmrc", "//h.example/:_authToken=${MY_TOKEN}\nregistry=https://h.example/\n");
        let host =
            [("MY_TOKEN", "t"), ("OTHER_TOKEN", "o"), ("NPM_CONFIG_PROXY", "p"), ("https_proxy", "http://u:p@h")];
        let variables = found(npm_variables, &[npmrc], &host);
        let expected = [
            ("MY_TOKEN", "t"),
            ("https_proxy", "http://u:p@h"),
            ("npm_config_proxy", "p"),
            ("npm_config_userconfig", "HOME/.npmrc"),
        ];
        assert_eq!(variables, expected.map(|(name, value)| (name.to_owned(), value.to_owned())).into());

        let own = [("ACP_REGISTRY_NPM", "http://own.example"), ("npm_config_registry", "https://other.example")];
        let variables = found(npm_variables, &[], &own);
        assert_eq!(
            variables.into_iter().collect::<Vec<_>>(),
            [("npm_config_registry".into(), "http://own.example".into())]
        );
    }

    #[test]
    fn uv_gets_the_index_that_is_configured_anywhere() {
        let index = |files: &[(&str, &str)], variables: &[(&str, &str)]| {
            found(uv_variables, files, variables).remove("UV_DEFAULT_INDEX")
        };
        let pip = (".config/pip/pip.conf", "[global]\nindex-url = https://u:p@pip.example/simple/\n");
        assert_eq!(index(&[pip], &[]).as_deref(), Some("https://u:p@pip.example/simple/"));
        assert_eq!(index(&[pip], &[("ACP_REGISTRY_PYPI", "http://own")]).as_deref(), Some("http://own"));
        assert_eq!(index(&[], &[]), None);
        let uv =
            found(uv_variables, &[(".config/uv/uv.toml", "index-url = \"https://u.example\"")], &[("UV_INDEX", "x")]);
        assert_eq!((uv["UV_CONFIG_FILE"].as_str(), uv["UV_INDEX"].as_str()), ("HOME/.config/uv/uv.toml", "x"));
        assert_eq!(found(uv_variables, &[], &[])["UV_NO_CONFIG"], "1");
    }
}

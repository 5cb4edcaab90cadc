//! Finds the npm registry that `npx` would use, and its secrets; passes the configuration on to an npm with another home.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use url::Url;

use super::npm::Registry;
use super::surroundings::{Setting, Surroundings, UnknownBase, base, expanded, read, settings};
use acp_registry_http::{Credentials, Proxies, Secret};

/// The variable that overrides npm's configuration.
const OVERRIDE: &str = "ACP_REGISTRY_NPM";

/// Asks npm for its registry. npm would keep a log of each question in the person's home.
const ASK: [&str; 5] = ["config", "get", "registry", "--no-update-notifier", "--logs-max=0"];

/// Finds the npm registry, in this order: `ACP_REGISTRY_NPM`, `npm_config_registry`, the user's and the system's
/// `.npmrc`, npm itself. Secrets are added to `credentials`.
///
/// A `.npmrc` in the working directory is not read: in a checkout of a registry, it may come from any contributor.
///
/// # Errors
/// Returns [`UnknownBase`] if nothing is configured and npm is not installed, or if the configured value is not a URL.
pub fn npm_registry(surroundings: &Surroundings<'_>, credentials: &mut Credentials) -> Result<Registry, UnknownBase> {
    let settings = person_settings(surroundings);
    let named = configured(surroundings, &settings);
    let named = named.or_else(|| {
        let text = (surroundings.run)("npm", &ASK)?;
        Some((text, "the answer of `npm config get registry`".to_owned()))
    });
    let (text, place) =
        named.ok_or(UnknownBase::Unset { what: "npm registry", program: "Node.js with npm", variable: OVERRIDE })?;
    let default = base(&text, &place, credentials)?;
    let mut own = BTreeMap::new();
    for (scope, address, place) in scopes(&settings) {
        own.insert(scope, base(&address, &place, credentials)?);
    }
    let registry = Registry { default, scopes: own };
    add_secrets(&settings, &registry, credentials);
    Ok(registry)
}

/// The settings of the user's and the system's `.npmrc`. The first setting of a key takes precedence.
pub(super) fn person_settings(surroundings: &Surroundings<'_>) -> Vec<Setting> {
    named_files(surroundings)
        .iter()
        .filter_map(|(_, path)| read(path))
        .flat_map(|text| settings(&text))
        .filter(|setting| setting.section.is_empty())
        .map(|setting| Setting { value: expanded(&setting.value, surroundings.variable), ..setting })
        .collect()
}

/// The URL configured for packages without a scope, including secrets, and where it is set.
pub(super) fn configured(surroundings: &Surroundings<'_>, settings: &[Setting]) -> Option<(String, String)> {
    let variables = [OVERRIDE, "npm_config_registry", "NPM_CONFIG_REGISTRY"];
    let named = variables.into_iter().find_map(|name| Some((surroundings.set(name)?, name.to_owned())));
    let of_file = || settings.iter().find(|setting| setting.key == "registry");
    named.or_else(|| Some((of_file()?.value.clone(), "`registry` in .npmrc".to_owned())))
}

/// The URLs configured for scopes, each with its `@scope`, and where they are set.
pub(super) fn scopes(settings: &[Setting]) -> impl Iterator<Item = (String, String, String)> {
    let mut scopes: BTreeMap<&str, &Setting> = BTreeMap::new();
    for setting in settings {
        if let Some(scope) = setting.key.strip_suffix(":registry").filter(|scope| scope.starts_with('@')) {
            scopes.entry(scope).or_insert(setting);
        }
    }
    let place = |setting: &Setting| format!("`{}` in .npmrc", setting.key);
    scopes.into_iter().map(move |(scope, setting)| (scope.to_owned(), setting.value.clone(), place(setting)))
}

/// Settings that decide which packages npm installs, or how it connects, and that this program leaves to npm.
const LEFT_TO_NPM: [&str; 17] = [
    "before", "ca", "cert", "certfile", "cpu", "engine-strict", "force", "https-proxy", "key", "keyfile", "libc",
    "min-release-age", "noproxy", "os", "proxy", "replace-registry-host", "strict-ssl",
];

/// The setting that names certificate authorities.
const AUTHORITIES: &str = "cafile";

/// The file of the certificate authorities that npm trusts instead of its own. Like npm, this ignores a file that is not there.
pub fn npm_authorities(surroundings: &Surroundings<'_>) -> Option<PathBuf> {
    authorities(surroundings).filter(|path| path.exists())
}

fn authorities(surroundings: &Surroundings<'_>) -> Option<PathBuf> {
    let of_file = || person_settings(surroundings).into_iter().find(|setting| setting.key == AUTHORITIES);
    variable(surroundings, AUTHORITIES).or_else(|| Some(of_file()?.value)).map(PathBuf::from)
}

/// The variable that holds a setting.
fn variable(surroundings: &Surroundings<'_>, setting: &str) -> Option<String> {
    let name = format!("npm_config_{}", setting.replace('-', "_"));
    surroundings.set(&name).or_else(|| surroundings.set(&name.to_ascii_uppercase()))
}

/// The first of the person's settings that only npm obeys when packages are fetched.
pub fn left_to_npm(surroundings: &Surroundings<'_>) -> Option<String> {
    if let Some(name) = LEFT_TO_NPM.iter().find(|name| variable(surroundings, name).is_some()) {
        return Some((*name).to_owned());
    }
    // npm knows which directory the path is relative to.
    if authorities(surroundings).is_some_and(|path| !path.is_absolute()) {
        return Some(AUTHORITIES.to_owned());
    }
    // Those for one registry have its address before them.
    let key = |setting: &Setting| setting.key.rsplit(':').next().unwrap_or_default().to_owned();
    let settings = person_settings(surroundings);
    settings.iter().map(key).find(|key| LEFT_TO_NPM.contains(&key.as_str()))
}

/// The user's file, then the system's, with the variables that pass the paths to npm. The first one with a setting takes
/// precedence.
fn named_files(surroundings: &Surroundings<'_>) -> Vec<(&'static str, PathBuf)> {
    let named = |names: [&str; 2]| names.into_iter().find_map(|name| surroundings.set(name)).map(PathBuf::from);
    let user = named(["npm_config_userconfig", "NPM_CONFIG_USERCONFIG"]);
    let user = user.or_else(|| Some(surroundings.home()?.join(".npmrc")));
    let global = named(["npm_config_globalconfig", "NPM_CONFIG_GLOBALCONFIG"]);
    let global = global.or_else(|| {
        let prefix =
            named(["npm_config_prefix", "NPM_CONFIG_PREFIX"]).or_else(|| surroundings.set("PREFIX").map(Into::into));
        Some(prefix.or_else(|| prefix_of_node(surroundings))?.join("etc/npmrc"))
    });
    let user = user.map(|path| ("npm_config_userconfig", path));
    let global = global.map(|path| ("npm_config_globalconfig", path));
    user.into_iter().chain(global).collect()
}

/// Connection settings of npm. Each may also be written in upper case.
const OF_NPM: &[&str] = &[
    "npm_config_registry", "npm_config_proxy", "npm_config_https_proxy", "npm_config_noproxy", "npm_config_cafile",
    "npm_config_ca", "npm_config_strict_ssl", "npm_config_before", "npm_config_min_release_age",
    "npm_config_min_release_age_exclude", "npm_config_fetch_retry_mintimeout", "npm_config_fetch_retry_maxtimeout",
    "npm_config_fetch_retries", "npm_config_fetch_retry_factor", "npm_config_fetch_timeout",
    "npm_config_ignore_scripts",
];

/// The variables that make an npm with another home use the registries and secrets that the user has configured. Pass
/// them only to npm, never to an agent.
pub fn npm_variables(surroundings: &Surroundings<'_>) -> Vec<(String, String)> {
    let mut variables = Proxies::new(surroundings.variable).variables();
    for name in OF_NPM {
        let value = surroundings.set(name).or_else(|| surroundings.set(&name.to_ascii_uppercase()));
        variables.extend(value.map(|value| ((*name).to_owned(), value)));
    }
    for (name, path) in named_files(surroundings) {
        let Some(text) = read(&path) else { continue };
        let used = text.split("${").skip(1).filter_map(|rest| rest.split_once('}'));
        for (name, _) in used {
            let name = name.trim_end_matches('?');
            variables.extend(surroundings.set(name).map(|value| (name.to_owned(), value)));
        }
        variables.extend(path.to_str().map(|path| (name.to_owned(), path.to_owned())));
    }
    variables.extend(surroundings.set(OVERRIDE).map(|value| ("npm_config_registry".to_owned(), value)));
    variables
}

/// npm's global prefix: the parent of the directory that contains `node`.
fn prefix_of_node(surroundings: &Surroundings<'_>) -> Option<PathBuf> {
    let path = surroundings.set("PATH")?;
    let folder = std::env::split_paths(&path).find(|folder| folder.join("node").is_file())?;
    folder.parent().map(Path::to_owned)
}

/// Adds the secrets, which have keys such as `//host/path/:_authToken`.
fn add_secrets(settings: &[Setting], registry: &Registry, credentials: &mut Credentials) {
    let of_key = |key: &str| settings.iter().find(|setting| setting.key == key).map(|setting| setting.value.as_str());
    for setting in settings {
        let Some((place, name)) = setting.key.rsplit_once(':') else { continue };
        if !place.starts_with("//") || of_key(&setting.key) != Some(&setting.value) {
            continue;
        }
        let secret = match name {
            "_authToken" => Secret::Bearer(setting.value.clone()),
            "_auth" => Secret::Encoded(setting.value.clone()),
            "username" => {
                let Some(password) = of_key(&format!("{place}:_password")) else { continue };
                let Ok(password) = BASE64_STANDARD.decode(password) else { continue };
                Secret::Basic(setting.value.clone(), String::from_utf8_lossy(&password).into_owned())
            }
            _ => continue,
        };
        // The keys have no scheme. If a registry with this host is configured, its scheme is used.
        let Ok(url) = Url::parse(&format!("https:{place}")) else { continue };
        let plain = Url::parse(&format!("http:{place}")).ok();
        let plain = plain.filter(|plain| registry.bases().any(|base| base.origin() == plain.origin()));
        credentials.add(&plain.unwrap_or(url), &secret);
    }
}

#[cfg(test)]
mod tests {
    use super::super::surroundings::{find_variables, with_home};
    use super::*;

    fn found(
        files: &[(&str, &str)],
        variables: &[(&str, &str)],
        npm: Option<&str>,
    ) -> (Result<Registry, UnknownBase>, Credentials) {
        let run = |program: &str, arguments: &[&str]| {
            assert_eq!((program, arguments), ("npm", &ASK[..]));
            npm.map(ToOwned::to_owned)
        };
        with_home(files, variables, &run, |surroundings, _| {
            let mut credentials = Credentials::default();
            (npm_registry(surroundings, &mut credentials), credentials)
        })
    }

    fn default(files: &[(&str, &str)], variables: &[(&str, &str)], npm: Option<&str>) -> String {
        found(files, variables, npm).0.unwrap().default.to_string()
    }

    #[test]
    fn the_first_place_that_knows_wins() {
        let user = (".npmrc", "registry=https://user.example/npm\n");
        let global = ("etc/npmrc", "registry=https://global.example\n");
        let variable = ("npm_config_registry", "https://variable.example");
        let all = [user, global];
        assert_eq!(
            default(&all, &[variable, ("ACP_REGISTRY_NPM", "http://own.example/x")], None),
            "http://own.example/x/"
        );
        assert_eq!(default(&all, &[variable], None), "https://variable.example/");
        assert_eq!(default(&all, &[("npm_config_registry", " ")], None), "https://user.example/npm/");
        assert_eq!(default(&[global], &[], None), "https://global.example/");
        assert_eq!(default(&[], &[], Some("https://npm.example/\n")), "https://npm.example/");
        assert_eq!(
            default(&[(".npmrc", "[x]\nregistry=https://section.example")], &[], Some("https://npm.example/")),
            "https://npm.example/"
        );
    }

    #[test]
    fn nothing_known_names_the_remedy() {
        let remedy = found(&[], &[], None).0.unwrap_err().remedy();
        assert!(remedy.contains("ACP_REGISTRY_NPM") && remedy.contains("install"), "{remedy}");
        for text in ["ftp://h.example", "nonsense", "https://"] {
            let error = found(&[], &[("ACP_REGISTRY_NPM", text)], None).0.unwrap_err().to_string();
            assert!(error.starts_with("ACP_REGISTRY_NPM is not"), "{error}");
        }
    }

    #[test]
    fn scopes_have_registries_of_their_own() {
        let (registry, _) =
            found(&[(".npmrc", "@me:registry=https://me.example/\nregistry=https://all.example")], &[], None);
        let registry = registry.unwrap();
        assert_eq!(registry.base("@me/x").as_str(), "https://me.example/");
        assert_eq!(registry.base("@you/x").as_str(), "https://all.example/");
        assert_eq!(registry.base("me").as_str(), "https://all.example/");
        // As with npm's own variable.
        let own = [("ACP_REGISTRY_NPM", "https://own.example")];
        let (registry, _) = found(&[(".npmrc", "@me:registry=https://me.example/")], &own, None);
        let registry = registry.unwrap();
        assert_eq!(registry.base("@me/x").as_str(), "https://me.example/");
        assert_eq!(registry.base("x").as_str(), "https://own.example/");
    }

    #[test]
    fn what_only_npm_obeys_is_left_to_it() {
        let left = |npmrc: &str, variables: &[(&str, &str)]| {
            let files = [(".npmrc", npmrc)];
            with_home(&files, variables, &|_, _| panic!("nothing is run"), |surroundings, _| left_to_npm(surroundings))
        };
        assert_eq!(left("registry=https://h.example\n//h.example/:_authToken=t\nfund=false\n", &[]), None);
        assert_eq!(left("min-release-age=7\n", &[]).as_deref(), Some("min-release-age"));
        assert_eq!(left("//h.example/:certfile=/c.pem\n", &[]).as_deref(), Some("certfile"));
        for name in ["npm_config_strict_ssl", "NPM_CONFIG_STRICT_SSL"] {
            assert_eq!(left("", &[(name, "false")]).as_deref(), Some("strict-ssl"));
        }
        assert_eq!(left("", &[("npm_config_cafile", " ")]), None);
        let absolute = if cfg!(windows) { "C:/ca.pem" } else { "/ca.pem" };
        assert_eq!(left(&format!("cafile=\"{absolute}\"\n"), &[]), None);
        assert_eq!(
            left(&format!("cafile={absolute}\n"), &[("npm_config_cafile", "~/ca.pem")]).as_deref(),
            Some("cafile")
        );
    }

    #[test]
    fn secrets_are_bound_to_their_registry() {
        let text = "registry=http://a.example:8080/npm/\n//a.example:8080/npm/:_authToken=${TOKEN}\n\
                    //b.example/:username=u\n//b.example/:_password=cA==\n//c.example/:_auth=eDp5\n_authToken=global\n";
        let (_, credentials) = found(&[(".npmrc", text)], &[("TOKEN", "t")], None);
        let header =
            |url: &str| credentials.header(&Url::parse(url).unwrap()).map(|header| header.to_str().unwrap().to_owned());
        assert_eq!(header("http://a.example:8080/npm/x").as_deref(), Some("Bearer t"));
        assert_eq!(header("https://b.example/x").as_deref(), Some("Basic dTpw"));
        assert_eq!(header("https://c.example/x").as_deref(), Some("Basic eDp5"));
        for other in
            ["http://a.example:8080/", "https://a.example:8080/npm/", "http://b.example/", "https://d.example/"]
        {
            assert_eq!(header(other), None, "{other}");
        }
    }

    #[test]
    fn npm_gets_its_own_files_and_what_they_mention_and_nothing_else() {
        let npmrc = (".npmrc", "//h.example/:_authToken=${MY_TOKEN}\nregistry=https://h.example/\n");
        let host =
            [("MY_TOKEN", "t"), ("OTHER_TOKEN", "o"), ("NPM_CONFIG_PROXY", "p"), ("https_proxy", "http://u:p@h")];
        let variables = find_variables(npm_variables, &[npmrc], &host);
        let expected = [
            ("MY_TOKEN", "t"),
            ("https_proxy", "http://u:p@h"),
            ("npm_config_proxy", "p"),
            ("npm_config_userconfig", "HOME/.npmrc"),
        ];
        assert_eq!(variables, expected.map(|(name, value)| (name.to_owned(), value.to_owned())).into());

        let own = [("ACP_REGISTRY_NPM", "http://own.example"), ("npm_config_registry", "https://other.example")];
        let variables = find_variables(npm_variables, &[], &own);
        assert_eq!(
            variables.into_iter().collect::<Vec<_>>(),
            [("npm_config_registry".into(), "http://own.example".into())]
        );
    }
}

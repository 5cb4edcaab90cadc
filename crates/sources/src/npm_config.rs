//! Finds the npm registry that `npx` would use, and its secrets; passes the configuration on to an npm with another home.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde_json::Value;
use url::Url;

use super::npm::Registry;
use super::surroundings::{Surroundings, UnknownBase, base, read};
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
    let NpmConfig { settings, .. } = NpmConfig::read(surroundings);
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

/// A setting of npm, with the variables in it filled in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct NpmSetting {
    key: String,
    value: String,
    /// Where it is set, for messages.
    place: String,
}

/// What the person has configured for npm.
pub(super) struct NpmConfig {
    /// The settings of variables, then of the user's and the system's `.npmrc`. The first setting of a key takes precedence.
    pub(super) settings: Vec<NpmSetting>,
    /// These files, with the variables that pass their paths to npm.
    files: Vec<(&'static str, PathBuf)>,
}

impl NpmConfig {
    pub(super) fn read(surroundings: &Surroundings<'_>) -> Self {
        let mut config = Self { settings: variable_settings(surroundings), files: Vec::new() };
        let user = config.path("userconfig", surroundings).or_else(|| Some(surroundings.home()?.join(".npmrc")));
        config.add("npm_config_userconfig", user, surroundings);
        let global = config.path("globalconfig", surroundings).or_else(|| {
            let prefix = config.path("prefix", surroundings).or_else(|| surroundings.set("PREFIX").map(Into::into));
            Some(prefix.or_else(|| prefix_of_node(surroundings))?.join("etc/npmrc"))
        });
        config.add("npm_config_globalconfig", global, surroundings);
        config
    }

    fn add(&mut self, variable: &'static str, path: Option<PathBuf>, surroundings: &Surroundings<'_>) {
        let Some(path) = path else { return };
        let settings = parse(&read(&path).unwrap_or_default()).into_iter().map(|(key, value)| {
            let key = expanded(&key, surroundings.variable);
            let value = expanded(value.trim(), surroundings.variable);
            NpmSetting { place: format!("`{key}` in .npmrc"), key, value }
        });
        self.settings.extend(settings.rev());
        self.files.push((variable, path));
    }

    /// The path in a setting, with the person's home in place of `~`.
    fn path(&self, key: &str, surroundings: &Surroundings<'_>) -> Option<PathBuf> {
        let value = find(&self.settings, key)?;
        let below_home = value.strip_prefix("~/").or_else(|| value.strip_prefix("~\\").filter(|_| cfg!(windows)));
        match below_home.zip(surroundings.home()) {
            Some((path, home)) => Some(home.join(path)),
            None => Some(PathBuf::from(value)),
        }
    }
}

/// The value of a setting, unless it is empty.
fn find<'a>(settings: &'a [NpmSetting], key: &str) -> Option<&'a str> {
    let found = settings.iter().find(|setting| setting.key == key)?;
    Some(found.value.as_str()).filter(|value| !value.is_empty())
}

/// The settings of variables such as `npm_config_registry`. Of several for one setting, npm takes the last.
fn variable_settings(surroundings: &Surroundings<'_>) -> Vec<NpmSetting> {
    const PREFIX: &str = "npm_config_";
    let setting = |name: String| {
        let key = name
            .get(PREFIX.len()..)
            .filter(|_| name.as_bytes()[..PREFIX.len()].eq_ignore_ascii_case(PREFIX.as_bytes()))?;
        let value = expanded(surroundings.set(&name)?.trim(), surroundings.variable);
        let key = match key.chars().next()? {
            // The address of a registry.
            '/' => key.to_owned(),
            first => format!("{first}{}", key[first.len_utf8()..].replace('_', "-")).to_lowercase(),
        };
        Some(NpmSetting { key, value, place: name })
    };
    (surroundings.names)().into_iter().filter_map(setting).rev().collect()
}

/// Parses the keys and values before the first section of an `.npmrc`, in the dialect of INI files that npm reads.
fn parse(text: &str) -> Vec<(String, String)> {
    let lines = text.trim_start_matches('\u{feff}').split(['\r', '\n']);
    let lines = lines.filter(|line| !line.trim().is_empty() && !line.trim_start().starts_with([';', '#']));
    let settings = lines.take_while(|line| !(line.starts_with('[') && line.trim_end().ends_with(']')));
    let setting = |line: &str| {
        let (key, value) = line.split_once('=').map_or((line, None), |(key, value)| (key, Some(value)));
        let key = unquoted(key);
        // Values of a list have the same key.
        let key = key.strip_suffix("[]").unwrap_or(&key).to_owned();
        (key, value.map_or_else(|| "true".to_owned(), unquoted))
    };
    settings.map(setting).filter(|(key, _)| !key.is_empty()).collect()
}

/// A key or value without its quotes or its comment.
fn unquoted(text: &str) -> String {
    let text = text.trim();
    if let Some(quote) = ['"', '\''].into_iter().find(|quote| text.starts_with(*quote) && text.ends_with(*quote)) {
        let within = if quote == '\'' { text.get(1..text.len().max(2) - 1).unwrap_or_default() } else { text };
        return match serde_json::from_str(within) {
            Ok(Value::String(text)) => text,
            Ok(value) => value.to_string(),
            Err(_) => within.to_owned(),
        };
    }
    let (mut out, mut is_escaped) = (String::new(), false);
    for c in text.chars() {
        match c {
            '\\' | ';' | '#' if is_escaped => out.push(c),
            c if is_escaped => out.extend(['\\', c]),
            ';' | '#' => break,
            '\\' => {}
            c => out.push(c),
        }
        is_escaped = c == '\\' && !is_escaped;
    }
    if is_escaped {
        out.push('\\');
    }
    out.trim().to_owned()
}

/// Replaces `${NAME}` with the variable's value. As in npm, unset variables are kept as written, `${NAME?}` is one that may be
/// unset, and a backslash before it keeps it.
fn expanded(text: &str, variable: &dyn Fn(&str) -> Option<String>) -> String {
    let (mut out, mut rest) = (String::new(), text);
    while let Some((before, from)) = rest.split_once("${") {
        let place = from.split_once('}').filter(|(name, _)| {
            let name = name.strip_suffix('?').unwrap_or(name);
            !name.is_empty() && !name.contains(['$', '{', '?'])
        });
        let Some((name, behind)) = place else {
            out.push_str(before);
            out.push_str("${");
            rest = from;
            continue;
        };
        let escapes = before.len() - before.trim_end_matches('\\').len();
        out.push_str(&before[..before.len() - escapes.div_ceil(2)]);
        match name.strip_suffix('?') {
            _ if escapes % 2 == 1 => out.push_str(&format!("${{{name}}}")),
            Some(name) => out.push_str(&variable(name).unwrap_or_default()),
            None => out.push_str(&variable(name).unwrap_or_else(|| format!("${{{name}}}"))),
        }
        rest = behind;
    }
    out + rest
}

/// The URL configured for packages without a scope, including secrets, and where it is set.
pub(super) fn configured(surroundings: &Surroundings<'_>, settings: &[NpmSetting]) -> Option<(String, String)> {
    let own = || Some((surroundings.set(OVERRIDE)?, OVERRIDE.to_owned()));
    let named = || settings.iter().find(|setting| setting.key == "registry");
    own().or_else(|| named().map(|setting| (setting.value.clone(), setting.place.clone())))
}

/// The URLs configured for scopes, each with its `@scope`, and where they are set.
pub(super) fn scopes(settings: &[NpmSetting]) -> impl Iterator<Item = (String, String, String)> {
    let mut scopes: BTreeMap<&str, &NpmSetting> = BTreeMap::new();
    for setting in settings {
        if let Some(scope) = scope(&setting.key) {
            scopes.entry(scope).or_insert(setting);
        }
    }
    scopes.into_iter().map(|(scope, setting)| (scope.to_owned(), setting.value.clone(), setting.place.clone()))
}

/// The scope whose registry a setting names.
fn scope(key: &str) -> Option<&str> {
    key.strip_suffix(":registry").filter(|scope| scope.starts_with('@'))
}

/// Settings that decide which packages npm installs, or how it connects, and that this program leaves to npm.
const LEFT_TO_NPM: [&str; 18] = [
    "before", "ca", "cert", "certfile", "cpu", "engine-strict", "force", "https-proxy", "key", "keyfile", "libc",
    "min-release-age", "noproxy", "offline", "os", "proxy", "replace-registry-host", "strict-ssl",
];

/// The setting that names certificate authorities.
const AUTHORITIES: &str = "cafile";

/// The file of the certificate authorities that npm trusts instead of its own. Like npm, this ignores a file that is not there.
pub fn npm_authorities(surroundings: &Surroundings<'_>) -> Option<PathBuf> {
    authorities(surroundings).filter(|path| path.exists())
}

fn authorities(surroundings: &Surroundings<'_>) -> Option<PathBuf> {
    NpmConfig::read(surroundings).path(AUTHORITIES, surroundings)
}

/// The first of the person's settings that only npm obeys when packages are fetched.
pub fn left_to_npm(surroundings: &Surroundings<'_>) -> Option<String> {
    // npm knows which directory the path is relative to.
    if authorities(surroundings).is_some_and(|path| !path.is_absolute()) {
        return Some(AUTHORITIES.to_owned());
    }
    // Those for one registry have its address before them.
    let key = |setting: &NpmSetting| setting.key.rsplit(':').next().unwrap_or_default().to_owned();
    let NpmConfig { settings, .. } = NpmConfig::read(surroundings);
    settings.iter().map(key).find(|key| LEFT_TO_NPM.contains(&key.as_str()))
}

/// Connection settings of npm, besides those that begin with a registry or a scope.
const OF_NPM: &[&str] = &[
    "registry", "proxy", "https-proxy", "noproxy", "ca", "strict-ssl", "before", "min-release-age",
    "min-release-age-exclude", "fetch-retry-mintimeout", "fetch-retry-maxtimeout", "fetch-retries",
    "fetch-retry-factor", "fetch-timeout", "ignore-scripts", "offline",
];

/// The variables that make an npm with another home use the registries and secrets that the user has configured. Pass
/// them only to npm, never to an agent.
pub fn npm_variables(surroundings: &Surroundings<'_>) -> Vec<(String, String)> {
    let mut variables = Proxies::new(surroundings.variable).variables();
    let mut known = BTreeSet::new();
    for NpmSetting { key, value, .. } in variable_settings(surroundings) {
        let is_of_registry = key.starts_with("//") || scope(&key).is_some();
        if (is_of_registry || OF_NPM.contains(&key.as_str())) && known.insert(key.clone()) {
            let name = if is_of_registry { key } else { key.replace('-', "_") };
            variables.push((format!("npm_config_{name}"), value));
        }
    }
    let config = NpmConfig::read(surroundings);
    // That npm has another home, which `~` and `${HOME}` would lead to.
    let authorities = config.path(AUTHORITIES, surroundings);
    let authorities = authorities.and_then(|path| path.to_str().map(ToOwned::to_owned));
    variables.extend(authorities.map(|path| ("npm_config_cafile".to_owned(), path)));
    for (name, path) in config.files {
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

/// Adds the secrets, which have keys such as `//host/path/:_authToken`. Of several for one place, npm sends a token rather than
/// the others, and `_auth` rather than a user name.
fn add_secrets(settings: &[NpmSetting], registry: &Registry, credentials: &mut Credentials) {
    let places = settings.iter().filter_map(|setting| setting.key.rsplit_once(':').map(|(place, _)| place));
    let places: BTreeSet<&str> = places.filter(|place| place.starts_with("//")).collect();
    for place in places {
        let value = |name: &str| find(settings, &format!("{place}:{name}"));
        let token = || value("_authToken").map(|token| Secret::Bearer(token.to_owned()));
        let encoded = || value("_auth").map(|encoded| Secret::Encoded(encoded.to_owned()));
        let basic = || {
            let (user, password) = value("username").zip(value("_password"))?;
            let password = BASE64_STANDARD.decode(password).ok()?;
            Some(Secret::Basic(user.to_owned(), String::from_utf8_lossy(&password).into_owned()))
        };
        let Some(secret) = token().or_else(encoded).or_else(basic) else { continue };
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
            left(&format!("cafile={absolute}\n"), &[("npm_config_cafile", "ca.pem")]).as_deref(),
            Some("cafile")
        );
    }

    #[test]
    fn an_npmrc_is_read_as_npm_does() {
        for (line, key, value) in [
            ("a=1", "a", "1"),
            (" a = 1 ", "a", "1"),
            ("a=b=c", "a", "b=c"),
            ("a", "a", "true"),
            ("a=1 # comment", "a", "1"),
            ("a=1;comment", "a", "1"),
            (r"a=1\;2\#3\\4\5", "a", r"1;2#3\4\5"),
            (r#"a="1 # \u0062""#, "a", "1 # b"),
            (r#"a="b\c""#, "a", r#""b\c""#),
            ("a='b c'", "a", "b c"),
            (r#"a='"b"'"#, "a", "b"),
            (r#""@s:registry"=1"#, "@s:registry", "1"),
            ("ca[]=1", "ca", "1"),
            ("a='", "a", ""),
        ] {
            assert_eq!(parse(line), [(key.to_owned(), value.to_owned())], "{line}");
        }
        assert_eq!(parse("\u{feff}; a=1\r\n # b=1\n=1\n\nc=1\n[d]\ne=1"), [("c".to_owned(), "1".to_owned())]);
    }

    #[test]
    fn variables_are_filled_in_once() {
        let variable = |name: &str| (name == "A").then(|| "${A}".to_owned());
        for (text, expected) in [
            ("x${A}y", "x${A}y"),
            ("${B}", "${B}"),
            ("${B?}z", "z"),
            (r"\${A}", "${A}"),
            (r"\\${A?}", r"\${A}"),
            ("${}", "${}"),
            ("${A", "${A"),
            ("$A", "$A"),
            ("", ""),
        ] {
            assert_eq!(expanded(text, &variable), expected, "{text}");
        }
    }

    #[test]
    fn the_setting_that_npm_takes_counts() {
        let twice = "registry=https://old.example\nregistry=https://new.example\n";
        assert_eq!(default(&[(".npmrc", twice)], &[], None), "https://new.example/");
        let variables =
            [("npm_config_registry", "https://one.example"), ("Npm_Config_Registry", "https://two.example")];
        assert_eq!(default(&[(".npmrc", twice)], &variables, None), "https://two.example/");
        assert_eq!(
            default(&[], &[("npm_config_registry", "${HOST}"), ("HOST", "https://h.example")], None),
            "https://h.example/"
        );
        // The user's file leads to the system's.
        let prefix = (".npmrc", "prefix=~/own");
        assert_eq!(
            default(&[prefix, ("own/etc/npmrc", "registry=https://own.example")], &[], None),
            "https://own.example/"
        );
        let scope = [("npm_config_registry", "https://all.example"), ("npm_config_@me:registry", "https://me.example")];
        let registry = found(&[], &scope, None).0.unwrap();
        assert_eq!(registry.base("@me/x").as_str(), "https://me.example/");
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
        // A token counts for more than a name, and what is empty does not count.
        let text = "//a.example/:username=u\n//a.example/:_password=cA==\n//a.example/:_authToken=t\n//b.example/:_authToken=${T?}\n\
                    //b.example/:_auth=eDp5\n//b.example/:_auth=eDp6\n";
        let of_variable = [("npm_config_registry", "https://a.example"), ("npm_config_//c.example/:_authToken", "v")];
        let (_, several) = found(&[(".npmrc", text)], &of_variable, None);
        for (url, expected) in
            [("https://a.example", "Bearer t"), ("https://b.example", "Basic eDp6"), ("https://c.example", "Bearer v")]
        {
            assert_eq!(several.header(&Url::parse(url).unwrap()).unwrap().to_str().unwrap(), expected, "{url}");
        }
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

        let of_registries = [
            ("npm_config_@me:registry", "https://m.example"),
            ("npm_config_//m.example/:_authToken", "t"),
            ("npm_config_cafile", "~/ca.pem"),
            ("npm_config_global", "true"),
        ];
        let variables = find_variables(npm_variables, &[], &of_registries);
        let expected = [
            ("npm_config_//m.example/:_authToken", "t"),
            ("npm_config_@me:registry", "https://m.example"),
            ("npm_config_cafile", "HOME/ca.pem"),
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

//! Finds the Python package index that `uvx` would use, and its secrets; passes the configuration on to a uv with another home.

use std::path::{Path, PathBuf};

use url::Url;

use super::pypi::PackageIndex;
use super::surroundings::{Surroundings, UnknownBase, base, read, settings};
use acp_registry_http::{Credentials, Proxies, Secret};

/// The variable that overrides the configuration of uv and pip.
const OVERRIDE: &str = "ACP_REGISTRY_PYPI";

/// Finds the Python package index, in this order: `ACP_REGISTRY_PYPI`, `UV_DEFAULT_INDEX`, `UV_INDEX_URL`,
/// `PIP_INDEX_URL`, the configuration files of uv and pip, uv itself. Secrets, including those in `.netrc`, are added
/// to `credentials`.
///
/// A `uv.toml` or `pyproject.toml` in the working directory is not read: in a checkout of a registry, it may come from
/// any contributor.
///
/// # Errors
/// Returns [`UnknownBase`] if nothing is configured and uv is not installed, or if the configured value is not a URL.
pub fn python_index(
    surroundings: &Surroundings<'_>,
    credentials: &mut Credentials,
) -> Result<PackageIndex, UnknownBase> {
    let named = configured(surroundings).or_else(|| {
        let text = (surroundings.run)("uv", &["pip", "compile", "--quiet", "--no-config", "--emit-index-url", "-"])?;
        let line = text.lines().find_map(|line| line.trim().strip_prefix("--index-url"))?;
        Some((line.trim_start_matches(['=', ' ']).to_owned(), "the answer of `uv pip compile`".to_owned()))
    });
    let (text, place) =
        named.ok_or(UnknownBase::Unset { what: "Python package index", program: "uv", variable: OVERRIDE })?;
    let mut open = |text: &str, place: &str| {
        let (name, address) = named_index(text);
        let base = base(address, place, credentials)?;
        let has_password = Url::parse(address).is_ok_and(|url| url.password().is_some());
        let netrc = netrc(surroundings).filter(|_| !has_password);
        let of_netrc = || read_netrc(&read(&netrc?)?, &base);
        if let Some((user, password)) = find_password(name, surroundings).or_else(of_netrc) {
            credentials.add(&base, &Secret::Basic(user, password));
        }
        Ok(base)
    };
    let base = open(&text, &place)?;
    let first = first_indexes(surroundings).into_iter().map(|(text, place)| open(&text, &place));
    Ok(PackageIndex { base, first: first.collect::<Result<_, _>>()? })
}

/// The URLs of the indexes that uv asks before the default one, in its order, and where they are set. Folders are left out.
fn first_indexes(surroundings: &Surroundings<'_>) -> Vec<(String, String)> {
    let of_variable = |name: &str| {
        let value = surroundings.set(name).unwrap_or_default();
        value.split_whitespace().map(|text| (text.to_owned(), name.to_owned())).collect::<Vec<_>>()
    };
    let mut indexes = ["UV_INDEX", "UV_EXTRA_INDEX_URL"].map(of_variable).concat();
    if let Some((path, config)) = uv_files(surroundings).iter().find_map(|path| Some((path, parse_toml(path)?))) {
        let is_set = |index: &toml::Table, key: &str| index.get(key).and_then(toml::Value::as_bool) == Some(true);
        let tables = tables(&config).filter(|index| !is_set(index, "default") && !is_set(index, "explicit"));
        let extra = config.get("extra-index-url").and_then(toml::Value::as_array).into_iter().flatten();
        let extra = extra.filter_map(|url| Some(url.as_str()?.to_owned()));
        indexes.extend(tables.filter_map(named_address).chain(extra).map(|text| (text, shown(path))));
    }
    indexes.retain(|(text, _)| address(text).contains("://") && !address(text).starts_with("file:"));
    indexes
}

/// The URL of an index, which may follow a name in uv's configuration.
pub(super) fn address(text: &str) -> &str {
    named_index(text).1
}

/// The name of an index in uv's configuration, if it has one, and its URL.
fn named_index(text: &str) -> (Option<&str>, &str) {
    match text.split_once('=') {
        Some((name, address)) if !name.contains([':', '/']) => (Some(name), address),
        _ => (None, text),
    }
}

/// The variables with the user name and the password for an index of this name.
fn credential_variables(name: &str) -> [String; 2] {
    let name: String =
        name.chars().map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_uppercase() } else { '_' }).collect();
    ["USERNAME", "PASSWORD"].map(|part| format!("UV_INDEX_{name}_{part}"))
}

/// User name and password for an index of this name.
fn find_password(name: Option<&str>, surroundings: &Surroundings<'_>) -> Option<(String, String)> {
    let [user, password] = credential_variables(name?).map(|variable| surroundings.set(&variable));
    (user.is_some() || password.is_some()).then(|| (user.unwrap_or_default(), password.unwrap_or_default()))
}

/// The configured URL, including secrets, and where it is set.
pub(super) fn configured(surroundings: &Surroundings<'_>) -> Option<(String, String)> {
    let variables = [OVERRIDE, "UV_DEFAULT_INDEX", "UV_INDEX_URL", "PIP_INDEX_URL"];
    let named = variables.into_iter().find_map(|name| Some((surroundings.set(name)?, name.to_owned())));
    let named = named.or_else(|| uv_files(surroundings).iter().find_map(|path| Some((read_uv(path)?, shown(path)))));
    named.or_else(|| pip_files(surroundings).iter().find_map(|path| Some((read_pip(path)?, shown(path)))))
}

fn shown(path: &Path) -> String {
    format!("the index address in {}", path.display())
}

fn uv_files(surroundings: &Surroundings<'_>) -> Vec<PathBuf> {
    if let Some(path) = surroundings.set("UV_CONFIG_FILE") {
        return vec![path.into()];
    }
    let is_true = |value: &String| ["1", "true", "t", "yes", "y", "on"].contains(&value.to_ascii_lowercase().as_str());
    if surroundings.set("UV_NO_CONFIG").as_ref().is_some_and(is_true) {
        return Vec::new();
    }
    let person = surroundings.config_home();
    let system = surroundings.set("XDG_CONFIG_DIRS").unwrap_or_else(|| "/etc/xdg".to_owned());
    let folders = person.into_iter().chain(std::env::split_paths(&system)).chain([PathBuf::from("/etc")]);
    folders.map(|folder| folder.join("uv/uv.toml")).collect()
}

/// Settings of uv for connections, for what it may install, and for the source of Python.
const OF_UV: &[&str] = &[
    "UV_DEFAULT_INDEX", "UV_INDEX_URL", "UV_INDEX", "UV_EXTRA_INDEX_URL", "UV_NO_INDEX", "UV_FIND_LINKS", "UV_OFFLINE",
    "UV_INDEX_STRATEGY", "UV_KEYRING_PROVIDER", "UV_CREDENTIALS_DIR", "UV_NATIVE_TLS", "UV_SYSTEM_CERTS",
    "UV_INSECURE_HOST", "UV_HTTP_TIMEOUT", "UV_HTTP_RETRIES", "UV_EXCLUDE_NEWER", "UV_PRERELEASE", "UV_RESOLUTION",
    "UV_CONSTRAINT", "UV_OVERRIDE", "UV_PYTHON", "UV_PYTHON_DOWNLOADS", "UV_PYTHON_INSTALL_MIRROR",
    "UV_PYTHON_PREFERENCE", "UV_MANAGED_PYTHON", "UV_NO_MANAGED_PYTHON",
];

/// The variables that make a uv with another home use the indexes and secrets that the user has configured. Pass them
/// only to uv, never to an agent.
pub fn uv_variables(surroundings: &Surroundings<'_>) -> Vec<(String, String)> {
    let mut variables = Proxies::new(surroundings.variable).variables();
    for name in OF_UV {
        variables.extend(surroundings.set(name).map(|value| ((*name).to_owned(), value)));
    }
    let names = index_names(surroundings);
    for variable in names.iter().flat_map(|name| credential_variables(name)) {
        variables.extend(surroundings.set(&variable).map(|value| (variable, value)));
    }
    match uv_files(surroundings).into_iter().find(|path| path.is_file()) {
        Some(path) => variables.extend(path.to_str().map(|path| ("UV_CONFIG_FILE".to_owned(), path.to_owned()))),
        // Otherwise, uv would search parent directories for one.
        None => variables.push(("UV_NO_CONFIG".to_owned(), "1".to_owned())),
    }
    // `uv auth login` keeps passwords in the person's home.
    let data = surroundings.set("XDG_DATA_HOME").map(PathBuf::from);
    let data = data.or_else(|| Some(surroundings.home()?.join(".local/share")));
    let passwords = data.map(|data| data.join("uv/credentials")).filter(|passwords| passwords.is_dir());
    if let Some(passwords) = passwords.filter(|_| surroundings.set("UV_CREDENTIALS_DIR").is_none()) {
        variables.extend(passwords.to_str().map(|path| ("UV_CREDENTIALS_DIR".to_owned(), path.to_owned())));
    }
    let netrc = netrc(surroundings).and_then(|path| path.to_str().map(ToOwned::to_owned));
    variables.extend(netrc.map(|path| ("NETRC".to_owned(), path)));
    // Otherwise, uv would use its default index if another one is configured only for pip or for this program.
    let index = configured(surroundings).map(|(address, _)| address);
    variables.extend(index.map(|address| ("UV_DEFAULT_INDEX".to_owned(), address)));
    variables
}

/// The names of the indexes that uv is configured to use.
fn index_names(surroundings: &Surroundings<'_>) -> Vec<String> {
    let variables = ["UV_DEFAULT_INDEX", "UV_INDEX"].into_iter().filter_map(|name| surroundings.set(name));
    let of_variables = variables.flat_map(|value| value.split_whitespace().map(ToOwned::to_owned).collect::<Vec<_>>());
    let mut names: Vec<String> = of_variables.filter_map(|text| Some(named_index(&text).0?.to_owned())).collect();
    let config = uv_files(surroundings).iter().find_map(|path| parse_toml(path));
    names.extend(config.iter().flat_map(tables).filter_map(|index| text(index, "name")));
    names
}

fn parse_toml(path: &Path) -> Option<toml::Table> {
    read(path)?.parse().ok()
}

fn text(table: &toml::Table, key: &str) -> Option<String> {
    table.get(key).and_then(toml::Value::as_str).map(ToOwned::to_owned)
}

/// The tables `[[index]]`.
fn tables(config: &toml::Table) -> impl Iterator<Item = &toml::Table> {
    let indexes = config.get("index").and_then(toml::Value::as_array);
    indexes.into_iter().flatten().filter_map(toml::Value::as_table)
}

/// The URL of an index, after its name and `=` if it has one.
fn named_address(index: &toml::Table) -> Option<String> {
    let address = text(index, "url")?;
    Some(text(index, "name").map_or_else(|| address.clone(), |name| format!("{name}={address}")))
}

/// The default index.
fn read_uv(path: &Path) -> Option<String> {
    let config = parse_toml(path)?;
    let is_default = |index: &&toml::Table| index.get("default").and_then(toml::Value::as_bool) == Some(true);
    let default = || tables(&config).find(is_default).and_then(named_address);
    default().or_else(|| text(&config, "index-url")).or_else(|| text(config.get("pip")?.as_table()?, "index-url"))
}

fn pip_files(surroundings: &Surroundings<'_>) -> Vec<PathBuf> {
    if let Some(path) = surroundings.set("PIP_CONFIG_FILE") {
        return vec![path.into()];
    }
    let person =
        surroundings.config_home().into_iter().flat_map(|home| [home.join("pip/pip.conf"), home.join("pip/pip.ini")]);
    let old = surroundings.home().map(|home| home.join(".pip/pip.conf"));
    person.chain(old).chain([PathBuf::from("/etc/pip.conf")]).collect()
}

fn read_pip(path: &Path) -> Option<String> {
    let settings = settings(&read(path)?);
    let mut found = settings.into_iter().filter(|one| ["global", "install"].contains(&one.section.as_str()));
    found.find(|one| ["index-url", "index_url"].contains(&one.key.as_str())).map(|one| one.value)
}

fn netrc(surroundings: &Surroundings<'_>) -> Option<PathBuf> {
    surroundings.set("NETRC").map(PathBuf::from).or_else(|| Some(surroundings.home()?.join(".netrc")))
}

/// User name and password for the host of an index: of several entries, the last one, as in uv, or else the `default`.
fn read_netrc(text: &str, base: &Url) -> Option<(String, String)> {
    let words: Vec<&str> =
        text.lines().filter(|line| !line.trim_start().starts_with('#')).flat_map(str::split_whitespace).collect();
    let is_begin = |word: &&str| ["machine", "default"].contains(word);
    let entry = |at: usize| {
        let begin = at + if words[at] == "default" { 1 } else { 2 };
        let entry = words.get(begin..)?;
        let entry = &entry[..entry.iter().position(is_begin).unwrap_or(entry.len())];
        let value =
            |key: &str| Some(entry.chunks_exact(2).find(|pair| pair[0] == key)?[1].trim_matches('"').to_owned());
        Some((value("login")?, value("password")?))
    };
    let is_of_host = |at: &usize| words[*at] == "machine" && words.get(at + 1).copied() == base.host_str();
    let named = (0..words.len()).rev().find(is_of_host);
    entry(named.or_else(|| words.iter().position(|word| *word == "default"))?)
}

#[cfg(test)]
mod tests {
    use super::super::surroundings::{find_variables, with_home};
    use super::*;

    fn found(
        files: &[(&str, &str)],
        variables: &[(&str, &str)],
        uv: Option<&str>,
    ) -> (Result<PackageIndex, UnknownBase>, Credentials) {
        let run = |program: &str, _: &[&str]| {
            assert_eq!(program, "uv");
            uv.map(ToOwned::to_owned)
        };
        with_home(files, variables, &run, |surroundings, _| {
            let mut credentials = Credentials::default();
            (python_index(surroundings, &mut credentials), credentials)
        })
    }

    fn index(files: &[(&str, &str)], variables: &[(&str, &str)], uv: Option<&str>) -> String {
        found(files, variables, uv).0.unwrap().base.to_string()
    }

    #[test]
    fn the_first_place_that_knows_wins() {
        let uv = (
            ".config/uv/uv.toml",
            "[[index]]\nurl = \"https://x.example\"\n[[index]]\nurl = \"https://uv.example/s\"\ndefault = true\n",
        );
        let pip = (".config/pip/pip.conf", "[global]\nindex-url = https://pip.example/simple/\n");
        for (variables, expected) in [
            (
                &[("ACP_REGISTRY_PYPI", "https://own.example"), ("UV_DEFAULT_INDEX", "https://d.example")][..],
                "https://own.example/",
            ),
            (
                &[("UV_DEFAULT_INDEX", "mine=https://d.example/s"), ("UV_INDEX_URL", "https://i.example")],
                "https://d.example/s/",
            ),
            (&[("UV_INDEX_URL", "https://i.example"), ("PIP_INDEX_URL", "https://p.example")], "https://i.example/"),
            (&[("PIP_INDEX_URL", "https://p.example/?a=b")], "https://p.example/"),
            (&[], "https://uv.example/s/"),
        ] {
            assert_eq!(index(&[uv, pip], variables, None), expected);
        }
        assert_eq!(index(&[pip], &[], None), "https://pip.example/simple/");
        assert_eq!(
            index(&[(".config/uv/uv.toml", "index-url = \"https://u.example\"")], &[], None),
            "https://u.example/"
        );
        assert_eq!(
            index(&[(".config/uv/uv.toml", "[pip]\nindex-url = \"https://u.example\"")], &[], None),
            "https://u.example/"
        );
        assert_eq!(
            index(&[], &[], Some("# made by uv\n--index-url https://asked.example/simple\n")),
            "https://asked.example/simple/"
        );
    }

    #[test]
    fn nothing_known_names_the_remedy() {
        for uv in [None, Some("# nothing\n")] {
            let remedy = found(&[], &[], uv).0.unwrap_err().remedy();
            assert!(remedy.contains("ACP_REGISTRY_PYPI") && remedy.contains("install uv"), "{remedy}");
        }
    }

    #[test]
    fn secrets_in_the_address_or_beside_it_are_used_and_not_shown() {
        let netrc =
            (".netrc", "machine other.example login o password o\nmachine h.example\n  login u password s3cret\n");
        for (address, files) in [("https://u:s3cret@h.example/simple", &[][..]), ("https://h.example/simple", &[netrc])]
        {
            let (index, credentials) = found(files, &[("ACP_REGISTRY_PYPI", address)], None);
            let index = index.unwrap();
            assert_eq!(index.base.as_str(), "https://h.example/simple/");
            let header = credentials.header(&index.base).unwrap().to_str().unwrap().to_owned();
            assert_eq!(header, "Basic dTpzM2NyZXQ=");
        }
    }

    #[test]
    fn a_named_index_has_its_own_variables_for_a_password() {
        let netrc = (".netrc", "machine h.example login n password old machine h.example login n password \"new\"\n");
        let password = [("UV_INDEX_MY_OWN_USERNAME", "u"), ("UV_INDEX_MY_OWN_PASSWORD", "s3cret")];
        let uv =
            (".config/uv/uv.toml", "[[index]]\nname = \"my-own\"\nurl = \"https://h.example/s\"\ndefault = true\n");
        let header = |files: &[(&str, &str)], variables: &[(&str, &str)]| {
            let (index, credentials) = found(files, variables, None);
            credentials.header(&index.unwrap().base).map(|header| header.to_str().unwrap().to_owned())
        };
        assert_eq!(header(&[uv, netrc], &password).as_deref(), Some("Basic dTpzM2NyZXQ="));
        assert_eq!(header(&[uv, netrc], &[]).as_deref(), Some("Basic bjpuZXc="));
        let variables = find_variables(uv_variables, &[uv], &password);
        assert_eq!(variables["UV_DEFAULT_INDEX"], "my-own=https://h.example/s");
        assert_eq!(variables["UV_INDEX_MY_OWN_PASSWORD"], "s3cret");
        let other =
            find_variables(uv_variables, &[], &[&password[..], &[("UV_INDEX", "other=https://h.example")]].concat());
        assert!(!other.contains_key("UV_INDEX_MY_OWN_PASSWORD"));
        // Another file, and none.
        let elsewhere =
            find_variables(uv_variables, &[uv], &[("NETRC", "/n"), ("UV_OFFLINE", "1"), ("UV_NO_INDEX", "1")]);
        assert_eq!((&*elsewhere["NETRC"], &*elsewhere["UV_OFFLINE"], &*elsewhere["UV_NO_INDEX"]), ("/n", "1", "1"));
    }

    #[test]
    fn indexes_are_asked_in_the_order_of_uv() {
        let uv = (
            ".config/uv/uv.toml",
            "extra-index-url = [\"https://extra.example\"]\n[[index]]\nurl = \"https://d.example\"\ndefault = true\n\
             [[index]]\nname = \"one\"\nurl = \"https://one.example/s\"\n[[index]]\nurl = \"https://e.example\"\nexplicit = true\n",
        );
        let variables = [
            ("UV_INDEX", "two=https://u:p@two.example /folder"),
            ("UV_EXTRA_INDEX_URL", "https://three.example"),
            ("UV_INDEX_ONE_PASSWORD", "s"),
        ];
        let (index, credentials) = found(&[uv], &variables, None);
        let index = index.unwrap();
        let asked: Vec<&str> = index.bases().map(Url::as_str).collect();
        let hosts = ["two.example/", "three.example/", "one.example/s/", "extra.example/", "d.example/"];
        assert_eq!(asked, hosts.map(|host| format!("https://{host}")));
        let has_secret = |base: &Url| credentials.header(base).is_some();
        assert_eq!(index.bases().map(has_secret).collect::<Vec<_>>(), [true, false, true, false, false]);
    }

    #[test]
    fn uv_gets_the_index_that_is_configured_anywhere() {
        let index = |files: &[(&str, &str)], variables: &[(&str, &str)]| {
            find_variables(uv_variables, files, variables).remove("UV_DEFAULT_INDEX")
        };
        let pip = (".config/pip/pip.conf", "[global]\nindex-url = https://u:p@pip.example/simple/\n");
        assert_eq!(index(&[pip], &[]).as_deref(), Some("https://u:p@pip.example/simple/"));
        assert_eq!(index(&[pip], &[("ACP_REGISTRY_PYPI", "http://own")]).as_deref(), Some("http://own"));
        assert_eq!(index(&[], &[]), None);
        let uv = find_variables(
            uv_variables,
            &[(".config/uv/uv.toml", "index-url = \"https://u.example\"")],
            &[("UV_INDEX", "x")],
        );
        assert_eq!((uv["UV_CONFIG_FILE"].as_str(), uv["UV_INDEX"].as_str()), ("HOME/.config/uv/uv.toml", "x"));
        assert_eq!(find_variables(uv_variables, &[], &[])["UV_NO_CONFIG"], "1");
    }
}

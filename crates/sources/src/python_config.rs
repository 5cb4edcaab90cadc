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
    let base = base(address(&text), &place, credentials)?;
    if let Some((user, password)) = surroundings.home().and_then(|home| read_netrc(&home, &base)) {
        credentials.add(&base, &Secret::Basic(user, password));
    }
    Ok(PackageIndex { base })
}

/// The URL of an index, which may follow a name in uv's configuration.
pub(super) fn address(text: &str) -> &str {
    match text.split_once('=') {
        Some((name, address)) if !name.contains([':', '/']) => address,
        _ => text,
    }
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
    let person = surroundings.config_home().map(|home| home.join("uv/uv.toml"));
    person.into_iter().chain([PathBuf::from("/etc/uv/uv.toml")]).collect()
}

/// Settings of uv for connections and for the source of Python.
const OF_UV: &[&str] = &[
    "UV_DEFAULT_INDEX", "UV_INDEX_URL", "UV_INDEX", "UV_EXTRA_INDEX_URL", "UV_INDEX_STRATEGY", "UV_KEYRING_PROVIDER",
    "UV_NATIVE_TLS", "UV_SYSTEM_CERTS", "UV_INSECURE_HOST", "UV_EXCLUDE_NEWER", "UV_HTTP_TIMEOUT", "UV_PYTHON",
    "UV_PYTHON_DOWNLOADS", "UV_PYTHON_INSTALL_MIRROR",
];

/// The variables that make a uv with another home use the indexes and secrets that the user has configured. Pass them
/// only to uv, never to an agent.
pub fn uv_variables(surroundings: &Surroundings<'_>) -> Vec<(String, String)> {
    let mut variables = Proxies::new(surroundings.variable).variables();
    for name in OF_UV {
        variables.extend(surroundings.set(name).map(|value| ((*name).to_owned(), value)));
    }
    match uv_files(surroundings).into_iter().find(|path| path.is_file()) {
        Some(path) => variables.extend(path.to_str().map(|path| ("UV_CONFIG_FILE".to_owned(), path.to_owned()))),
        // Otherwise, uv would search parent directories for one.
        None => variables.push(("UV_NO_CONFIG".to_owned(), "1".to_owned())),
    }
    let netrc = surroundings.set("NETRC").or_else(|| Some(surroundings.home()?.join(".netrc").to_str()?.to_owned()));
    variables.extend(netrc.map(|path| ("NETRC".to_owned(), path)));
    // Otherwise, uv would use its default index if another one is configured only for pip or for this program.
    let index = configured(surroundings).map(|(address, _)| address);
    variables.extend(index.map(|address| ("UV_DEFAULT_INDEX".to_owned(), address)));
    variables
}

fn read_uv(path: &Path) -> Option<String> {
    let config: toml::Table = read(path)?.parse().ok()?;
    let text = |table: &toml::Table, key: &str| table.get(key).and_then(toml::Value::as_str).map(ToOwned::to_owned);
    let indexes = config.get("index").and_then(toml::Value::as_array);
    let is_default = |index: &&toml::Table| index.get("default").and_then(toml::Value::as_bool) == Some(true);
    let default = indexes.into_iter().flatten().filter_map(toml::Value::as_table).find(is_default);
    default
        .and_then(|index| text(index, "url"))
        .or_else(|| text(&config, "index-url"))
        .or_else(|| text(config.get("pip")?.as_table()?, "index-url"))
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

/// User name and password for the index's host.
fn read_netrc(home: &Path, base: &Url) -> Option<(String, String)> {
    let text = read(&home.join(".netrc"))?;
    let words: Vec<&str> = text.split_whitespace().collect();
    let start = words.windows(2).position(|pair| pair[0] == "machine" && Some(pair[1]) == base.host_str())?;
    let entry = &words[start + 2..];
    let entry = &entry[..entry.iter().position(|word| ["machine", "default"].contains(word)).unwrap_or(entry.len())];
    let value = |key: &str| {
        let pair = entry.chunks_exact(2).find(|pair| pair[0] == key)?;
        Some(pair[1].to_owned())
    };
    Some((value("login")?, value("password")?))
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

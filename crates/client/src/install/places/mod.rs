//! Where programs are that a start without a shell does not find.
//!
//! An editor that was started from the desktop has a `PATH` without the directories that a shell's configuration adds,
//! and without the Node.js of a version manager. These directories are found by the documented layout of each manager;
//! no manager and no shell is run.

#[cfg(unix)]
#[cfg(test)]
mod tests;

use std::cell::LazyCell;
use std::env::split_paths;
use std::ffi::{OsStr, OsString};
use std::path::{Component, Path, PathBuf};

use acp_registry_host::fs::read_bounded;
use acp_registry_host::owner::is_safe_for_programs;
use acp_registry_host::process::{Environment, is_executable};
use semver::Version;
use serde_json::Value;

/// The variable that names other directories instead of the usual ones.
const VARIABLE: &str = "ACP_REGISTRY_PATH";

/// The directories of the system that people's shells usually have in `PATH`.
const OF_SYSTEM: &[&str] = if cfg!(windows) {
    &[]
} else {
    &["/usr/local/bin", "/opt/local/bin", "/run/current-system/sw/bin", "/nix/var/nix/profiles/default/bin"]
};

/// The same, below the home directory.
const OF_HOME: &[&str] = &[".local/bin", ".cargo/bin", ".nix-profile/bin"];

/// Where Homebrew is.
const HOMEBREW: &[&str] = if cfg!(target_os = "macos") {
    &["/opt/homebrew", "/usr/local"]
} else if cfg!(target_os = "linux") {
    &["/home/linuxbrew/.linuxbrew"]
} else {
    &[]
};

/// The environment of a host for package managers and agents, from the variables of a person: those that hold no
/// secrets, with a longer `PATH`. At its end, it has the directories `first`, a Node.js of a version manager if there is no
/// other one, and the usual directories of the system and of the person, each only if no other user can change it. Further
/// programs of Node.js and Python that version managers have are found by
/// [`Environment::find_all`](acp_registry_host::process::Environment::find_all).
#[must_use]
pub fn host_environment(variables: &[(OsString, OsString)], first: impl IntoIterator<Item = PathBuf>) -> Environment {
    let places = VariablePaths { variables };
    let nodes = LazyCell::new(|| nodes(&places));
    let mut environment = with_path(&places, first, &nodes);
    let others = nodes.default.iter().chain(&nodes.others).cloned().chain(pythons(&places));
    environment.also_search(others.filter(|directory| is_safe_for_programs(directory)));
    environment
}

/// As [`host_environment`], for what takes nothing but `PATH` from it: directories of version managers are read only for a Node.js
/// that `PATH` lacks.
pub(crate) fn path_environment(
    variables: &[(OsString, OsString)],
    first: impl IntoIterator<Item = PathBuf>,
) -> Environment {
    let places = VariablePaths { variables };
    with_path(&places, first, &LazyCell::new(|| nodes(&places)))
}

fn with_path<F: FnOnce() -> Nodes>(
    places: &VariablePaths<'_>,
    first: impl IntoIterator<Item = PathBuf>,
    nodes: &LazyCell<Nodes, F>,
) -> Environment {
    let mut environment = Environment::from_host(places.variables.iter().cloned());
    let safe = |directory: &PathBuf| is_safe_for_programs(directory);
    environment.append_to_path(first);
    let has_node = environment.find("node").is_some();
    if !has_node {
        environment.append_to_path(nodes.default.iter().find(|directory| safe(directory)).cloned());
    }
    let known: Vec<PathBuf> = environment.path().into_iter().flat_map(|(_, path)| split_paths(path)).collect();
    environment
        .append_to_path(places.usual().into_iter().filter(|directory| !known.contains(directory) && safe(directory)));
    if !has_node && environment.find("node").is_none() {
        environment.append_to_path(nodes.others.iter().find(|directory| safe(directory)).cloned());
    }
    environment
}

/// The value of a variable. On Windows, the case of names does not matter.
pub(crate) fn variable<'a>(variables: &'a [(OsString, OsString)], name: &str) -> Option<&'a OsStr> {
    let is_named = |known: &OsString| if cfg!(windows) { known.eq_ignore_ascii_case(name) } else { known == name };
    variables.iter().find(|(known, _)| is_named(known)).map(|(_, value)| value.as_os_str())
}

/// The directories that the variables of a person name.
struct VariablePaths<'a> {
    variables: &'a [(OsString, OsString)],
}

impl VariablePaths<'_> {
    fn get(&self, name: &str) -> Option<&OsStr> {
        variable(self.variables, name)
    }

    /// The absolute directory that a variable names.
    fn named(&self, name: &str) -> Option<PathBuf> {
        self.get(name).map(PathBuf::from).filter(|path| path.is_absolute())
    }

    fn home(&self) -> Option<PathBuf> {
        self.named("HOME").or_else(|| self.named("USERPROFILE"))
    }

    /// The user's directory for the data of programs.
    fn data(&self) -> Option<PathBuf> {
        let of_system = || if cfg!(windows) { self.named("LOCALAPPDATA") } else { None };
        self.named("XDG_DATA_HOME").or_else(of_system).or_else(|| Some(self.home()?.join(".local/share")))
    }

    /// The user's directory for the configuration of programs.
    fn config(&self) -> Option<PathBuf> {
        self.named("XDG_CONFIG_HOME").or_else(|| Some(self.home()?.join(".config")))
    }

    /// The directories that a start without a shell may lack.
    fn usual(&self) -> Vec<PathBuf> {
        if let Some(named) = self.get(VARIABLE) {
            return split_paths(named).collect();
        }
        let of_home = self.home().into_iter().flat_map(|home| OF_HOME.iter().map(move |name| home.join(name)));
        let of_homebrew = self.homebrew().into_iter().map(|prefix| prefix.join("bin"));
        of_home.chain(of_homebrew).chain(OF_SYSTEM.iter().map(PathBuf::from)).collect()
    }

    fn homebrew(&self) -> Vec<PathBuf> {
        match (self.named("HOMEBREW_PREFIX"), self.get(VARIABLE)) {
            (Some(prefix), _) => vec![prefix],
            (None, Some(_)) => Vec::new(),
            (None, None) => HOMEBREW.iter().map(PathBuf::from).collect(),
        }
    }
}

/// A path that starts the same Node.js in later sessions: the directory that fnm makes for each shell is removed with
/// it, and a shim runs its manager, which then chooses by the working directory.
pub(super) fn lasting(program: PathBuf, version: Option<&str>, environment: &Environment) -> PathBuf {
    let has_part = |path: &Path, name: &str| path.components().any(|part| part.as_os_str() == name);
    let is_of_shell = has_part(&program, "fnm_multishells");
    let is_volta =
        || program.canonicalize().is_ok_and(|real| real.file_stem().is_some_and(|name| name == "volta-shim"));
    let is_shim = program.parent().is_some_and(|parent| parent.ends_with("shims")) || is_volta();
    if !is_of_shell && !is_shim {
        return program;
    }
    let kept = version.and_then(|version| {
        let with_v = format!("v{version}");
        environment.find_all("node").find(|path| has_part(path, version) || has_part(path, &with_v))
    });
    let real = || program.canonicalize().ok().filter(|_| is_of_shell);
    kept.or_else(real).unwrap_or(program)
}

/// The largest setting that is read, in bytes.
const LIMIT: u64 = 1 << 18;

/// How many aliases of nvm may lead from one to the next.
const ALIASES: usize = 8;

/// nvm: the alias `default`, which may name another alias.
fn nvm_default(root: &Path, versions: &Versions) -> Option<PathBuf> {
    let mut text = first_line(&root.join("alias/default"))?;
    for _ in 0..ALIASES {
        if let Some(found) = versions.meant_by(&text) {
            return Some(found);
        }
        // For example `lts/*`, which is the name of a file.
        if !Path::new(&text).components().all(|part| matches!(part, Component::Normal(_))) {
            return None;
        }
        text = first_line(&root.join("alias").join(&text))?;
    }
    None
}

/// Volta: the platform of the user.
fn volta_default(root: &Path, versions: &Versions) -> Option<PathBuf> {
    let platform: Value = serde_json::from_str(&text(&root.join("tools/user/platform.json"))?).ok()?;
    versions.meant_by(platform.pointer("/node/runtime")?.as_str()?)
}

/// mise: its configuration for all projects, or else the file that it shares with asdf.
fn mise_default(places: &VariablePaths<'_>, versions: &Versions) -> Option<PathBuf> {
    let config = places.named("MISE_CONFIG_DIR").or_else(|| Some(places.config()?.join("mise")));
    let named = config.and_then(|config| {
        let settings: toml::Table = text(&config.join("config.toml"))?.parse().ok()?;
        let node = settings.get("tools")?.as_table()?.get("node")?;
        let one = node.as_array().and_then(|all| all.first()).unwrap_or(node);
        let one = one.as_table().and_then(|table| table.get("version")).unwrap_or(one);
        versions.meant_by(one.as_str()?)
    });
    named.or_else(|| tool_versions(places, versions))
}

/// asdf: the file `.tool-versions` in the home directory.
fn tool_versions(places: &VariablePaths<'_>, versions: &Versions) -> Option<PathBuf> {
    let text = text(&places.home()?.join(".tool-versions"))?;
    let mut lines = text.lines().map(|line| line.split_whitespace());
    let mut words = lines.find_map(|mut words| ["nodejs", "node"].contains(&words.next()?).then_some(words))?;
    words.find_map(|word| versions.meant_by(word))
}

fn first_line(path: &Path) -> Option<String> {
    Some(text(path)?.lines().next()?.trim().to_owned())
}

fn text(path: &Path) -> Option<String> {
    let path = path.canonicalize().ok()?;
    String::from_utf8(read_bounded(&path, path.parent()?, LIMIT).ok()?).ok()
}

/// Where installers of conda put it, below the home directory.
const CONDA: [&str; 4] = ["miniconda3", "miniforge3", "mambaforge", "anaconda3"];

/// Directories with a program `node`.
#[derive(Debug, Default)]
struct Nodes {
    /// The default version of each manager that has one.
    default: Vec<PathBuf>,
    /// The other versions, the newest first.
    others: Vec<PathBuf>,
}

/// Searches the directories of the version managers and of Homebrew.
fn nodes(places: &VariablePaths<'_>) -> Nodes {
    let below_home = |name: &str| Some(places.home()?.join(name));
    let (mut nodes, mut others) = (Nodes::default(), Vec::new());
    let mut add = |root: PathBuf, inner, default: &dyn Fn(&Versions) -> Option<PathBuf>| {
        let versions = Versions::at(root, inner, NODE);
        nodes.default.extend(default(&versions));
        others.extend(versions.found);
    };
    let nvm =
        places.named("NVM_DIR").or_else(|| existing([below_home(".nvm"), places.config().map(|c| c.join("nvm"))]));
    if let Some(nvm) = nvm {
        add(nvm.join("versions/node"), inner("bin"), &|versions| nvm_default(&nvm, versions));
    }
    let fnm = places.named("FNM_DIR").or_else(|| {
        let of_mac = below_home("Library/Application Support/fnm");
        let of_windows = places.named("APPDATA").map(|folder| folder.join("fnm"));
        existing([places.data().map(|data| data.join("fnm")), of_mac, of_windows, below_home(".fnm")])
    });
    if let Some(fnm) = fnm {
        let inner_of_fnm = if cfg!(windows) { "installation" } else { "installation/bin" };
        let default = fnm.join("aliases/default").join(inner("bin"));
        add(fnm.join("node-versions"), inner_of_fnm, &|_| default.canonicalize().ok().and_then(|bin| with(NODE, bin)));
    }
    let of_windows = || places.named("LOCALAPPDATA").map(|folder| folder.join("Volta"));
    if let Some(volta) = places.named("VOLTA_HOME").or_else(|| existing([below_home(".volta"), of_windows()])) {
        add(volta.join("tools/image/node"), inner("bin"), &|versions| volta_default(&volta, versions));
    }
    if let Some(mise) = mise(places) {
        add(mise.join("installs/node"), inner("bin"), &|versions| mise_default(places, versions));
    }
    if let Some(asdf) = asdf(places) {
        add(asdf.join("installs/nodejs"), inner("bin"), &|versions| tool_versions(places, versions));
    }
    // Of the same version, the one of the first manager stays first.
    others.sort_by(|(one, _), (other, _)| other.cmp(one));
    nodes.others = others.into_iter().map(|(_, directory)| directory).collect();
    nodes.others.extend(places.homebrew().iter().flat_map(|prefix| homebrew(prefix)));
    nodes
}

/// Searches the directories of version managers, and then those of conda, for directories with a program `python3`: the newest
/// versions first. uv, which is told of them, chooses.
fn pythons(places: &VariablePaths<'_>) -> Vec<PathBuf> {
    let below_home = |name: &str| Some(places.home()?.join(name));
    let pyenv = places.named("PYENV_ROOT").or_else(|| existing([below_home(".pyenv"), below_home(".pyenv/pyenv-win")]));
    let of_uv = places.named("UV_PYTHON_INSTALL_DIR").or_else(|| Some(places.data()?.join("uv/python")));
    let roots = [
        pyenv.map(|pyenv| pyenv.join("versions")),
        of_uv,
        mise(places).map(|mise| mise.join("installs/python")),
        asdf(places).map(|asdf| asdf.join("installs/python")),
    ];
    let versions = roots.into_iter().flatten().map(|root| Versions::at(root, inner("bin"), PYTHON));
    let mut found: Vec<(Version, PathBuf)> = versions.flat_map(|versions| versions.found).collect();
    found.sort_by(|(one, _), (other, _)| other.cmp(one));
    let conda = CONDA.iter().filter_map(|name| below_home(name)).flat_map(|root| {
        let place = root.join("envs");
        let environments: Vec<_> = entries(&place).take(MOST).map(|name| place.join(name)).collect();
        [root].into_iter().chain(environments)
    });
    let conda = conda.filter_map(|environment| with(PYTHON, environment.join(inner("bin"))));
    found.into_iter().map(|(_, directory)| directory).chain(conda).collect()
}

fn mise(places: &VariablePaths<'_>) -> Option<PathBuf> {
    places.named("MISE_DATA_DIR").or_else(|| existing([places.data().map(|data| data.join("mise"))]))
}

fn asdf(places: &VariablePaths<'_>) -> Option<PathBuf> {
    places.named("ASDF_DATA_DIR").or_else(|| existing([Some(places.home()?.join(".asdf"))]))
}

/// The versions of Node.js that Homebrew does not link into its `bin`, the newest first.
fn homebrew(prefix: &Path) -> Vec<PathBuf> {
    let opt = prefix.join("opt");
    let number = |name: &str| name.strip_prefix("node@")?.parse::<u32>().ok();
    let mut found: Vec<(u32, PathBuf)> =
        entries(&opt).filter_map(|name| Some((number(&name)?, with(NODE, opt.join(&name).join("bin"))?))).collect();
    found.sort_unstable_by(|one, other| other.cmp(one));
    found.into_iter().take(MOST).map(|(_, directory)| directory).collect()
}

/// The first of these directories that exists.
fn existing<const N: usize>(directories: [Option<PathBuf>; N]) -> Option<PathBuf> {
    directories.into_iter().flatten().find(|directory| directory.is_dir())
}

/// Where the programs of a version are: on Windows, they are in its directory itself.
fn inner(unix: &'static str) -> &'static str {
    if cfg!(windows) { "" } else { unix }
}

/// How many entries of a directory are read.
const ENTRIES: usize = 1000;

/// How many versions of one manager are kept, the newest first.
const MOST: usize = 16;

/// The program of Node.js, and that of Python.
const NODE: &str = if cfg!(windows) { "node.exe" } else { "node" };
const PYTHON: &str = if cfg!(windows) { "python.exe" } else { "python3" };

/// Versions of a runtime in one directory.
struct Versions {
    /// The directory, whose entries are versions.
    root: PathBuf,
    /// Where the program is in an entry.
    inner: &'static str,
    program: &'static str,
    /// The versions, the newest first, and the directories of their programs.
    found: Vec<(Version, PathBuf)>,
}

impl Versions {
    fn at(root: PathBuf, inner: &'static str, program: &'static str) -> Self {
        let mut found: Vec<(Version, PathBuf)> = entries(&root)
            .filter_map(|name| {
                // uv adds the platform: `cpython-3.12.7-linux-x86_64-gnu`.
                let of_uv = name.strip_prefix("cpython-").and_then(|rest| rest.split('-').next());
                let version = of_uv.or_else(|| name.strip_prefix('v')).unwrap_or(&name);
                Some((Version::parse(version).ok()?, with(program, root.join(&name).join(inner))?))
            })
            .collect();
        found.sort_unstable_by(|one, other| other.cmp(one));
        found.truncate(MOST);
        Self { root, inner, program, found }
    }

    /// The version that a setting means: the exact one, an entry of that name such as a link, or the newest that begins
    /// with these numbers.
    fn meant_by(&self, text: &str) -> Option<PathBuf> {
        if ["node", "stable", "latest", "*"].contains(&text) {
            return self.found.first().map(|(_, directory)| directory.clone());
        }
        let is_plain = text.starts_with(|c: char| c.is_ascii_alphanumeric()) && !text.contains(['/', '\\']);
        if !is_plain {
            return None;
        }
        let exact = with(self.program, self.root.join(text).join(self.inner)).and_then(|path| path.canonicalize().ok());
        let exact = exact.filter(|path| self.root.canonicalize().is_ok_and(|root| path.starts_with(root)));
        let number = text.strip_prefix('v').unwrap_or(text);
        let begins = |version: &Version| {
            let version = version.to_string();
            version == number || version.strip_prefix(number).is_some_and(|rest| rest.starts_with('.'))
        };
        exact.or_else(|| self.found.iter().find(|(version, _)| begins(version)).map(|(_, path)| path.clone()))
    }
}

/// The directory, if a program is in it.
fn with(program: &str, directory: PathBuf) -> Option<PathBuf> {
    is_executable(&directory.join(program)).then_some(directory)
}

/// The names in a directory.
fn entries(directory: &Path) -> impl Iterator<Item = String> {
    let items = directory.read_dir().into_iter().flatten().take(ENTRIES);
    items.filter_map(|item| item.ok()?.file_name().into_string().ok())
}

//! The Node.js and the Python of version managers.

use std::path::{Path, PathBuf};

use semver::Version;

use super::versions::{MOST, NODE, PYTHON, Versions, entries, with};
use super::{VariablePaths, default};

/// Where installers of conda put it, below the home directory.
const CONDA: [&str; 4] = ["miniconda3", "miniforge3", "mambaforge", "anaconda3"];

/// Directories with a program `node`.
#[derive(Debug, Default)]
pub(super) struct Nodes {
    /// The default version of each manager that has one.
    pub(super) default: Vec<PathBuf>,
    /// The other versions, the newest first.
    pub(super) others: Vec<PathBuf>,
}

/// Searches the directories of the version managers and of Homebrew.
pub(super) fn nodes(places: &VariablePaths<'_>) -> Nodes {
    let below_home = |name: &str| Some(places.home()?.join(name));
    let mut all: Vec<(Versions, Option<PathBuf>)> = Vec::new();
    let nvm =
        places.named("NVM_DIR").or_else(|| existing([below_home(".nvm"), places.config().map(|c| c.join("nvm"))]));
    if let Some(nvm) = nvm {
        let versions = Versions::at(nvm.join("versions/node"), inner("bin"), NODE);
        let default = default::nvm(&nvm, &versions);
        all.push((versions, default));
    }
    let fnm = places.named("FNM_DIR").or_else(|| {
        let of_mac = below_home("Library/Application Support/fnm");
        let of_windows = places.named("APPDATA").map(|folder| folder.join("fnm"));
        existing([places.data().map(|data| data.join("fnm")), of_mac, of_windows, below_home(".fnm")])
    });
    if let Some(fnm) = fnm {
        let inner_of_fnm = if cfg!(windows) { "installation" } else { "installation/bin" };
        let versions = Versions::at(fnm.join("node-versions"), inner_of_fnm, NODE);
        let default =
            fnm.join("aliases/default").join(inner("bin")).canonicalize().ok().and_then(|bin| with(NODE, bin));
        all.push((versions, default));
    }
    let of_windows = || places.named("LOCALAPPDATA").map(|folder| folder.join("Volta"));
    if let Some(volta) = places.named("VOLTA_HOME").or_else(|| existing([below_home(".volta"), of_windows()])) {
        let versions = Versions::at(volta.join("tools/image/node"), inner("bin"), NODE);
        let default = default::volta(&volta, &versions);
        all.push((versions, default));
    }
    if let Some(mise) = mise(places) {
        let versions = Versions::at(mise.join("installs/node"), inner("bin"), NODE);
        let default = default::mise(places, &versions);
        all.push((versions, default));
    }
    if let Some(asdf) = asdf(places) {
        let versions = Versions::at(asdf.join("installs/nodejs"), inner("bin"), NODE);
        let default = default::tool_versions(places, &versions);
        all.push((versions, default));
    }
    let mut nodes =
        Nodes { default: all.iter().filter_map(|(_, default)| default.clone()).collect(), others: Vec::new() };
    let mut others: Vec<(Version, PathBuf)> = all.into_iter().flat_map(|(versions, _)| versions.found).collect();
    // Of the same version, the one of the first manager stays first.
    others.sort_by(|(one, _), (other, _)| other.cmp(one));
    nodes.others = others.into_iter().map(|(_, directory)| directory).collect();
    nodes.others.extend(places.homebrew().iter().flat_map(|prefix| homebrew(prefix)));
    nodes
}

/// Searches the directories of version managers, and then those of conda, for directories with a program `python3`: the newest
/// versions first. uv, which is told of them, chooses.
pub(super) fn pythons(places: &VariablePaths<'_>) -> Vec<PathBuf> {
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

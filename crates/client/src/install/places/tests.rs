use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};

use tempfile::TempDir;

use super::*;

/// A home directory, and a `PATH` with nothing in it.
struct Home(TempDir);

impl Home {
    fn new() -> Self {
        let home = Self(tempfile::tempdir().unwrap());
        fs::create_dir(home.path("empty")).unwrap();
        home
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().canonicalize().unwrap().join(name)
    }

    /// Puts a Node.js into these directories.
    fn nodes(&self, directories: &[&str]) -> &Self {
        for directory in directories {
            let program = self.path(directory).join("node");
            self.write(&format!("{directory}/node"), "#!/bin/sh\nexit 99\n");
            fs::set_permissions(program, fs::Permissions::from_mode(0o755)).unwrap();
        }
        self
    }

    fn write(&self, name: &str, text: &str) -> &Self {
        fs::create_dir_all(self.path(name).parent().unwrap()).unwrap();
        fs::write(self.path(name), text).unwrap();
        self
    }

    fn environment(&self, more: &[(&str, &str)]) -> Environment {
        let home = self.path("");
        let own = [("HOME", home.to_str().unwrap()), (VARIABLE, "")];
        let path = self.path("empty");
        let path =
            [("PATH", path.to_str().unwrap())].into_iter().filter(|_| more.iter().all(|(name, _)| *name != "PATH"));
        let variables: Vec<(OsString, OsString)> = own
            .into_iter()
            .filter(|(name, _)| more.iter().all(|(other, _)| other != name))
            .chain(path)
            .chain(more.iter().copied())
            .map(|(name, value)| (name.into(), value.replace('~', home.to_str().unwrap().trim_end_matches('/')).into()))
            .collect();
        host_environment(&variables, [])
    }

    /// The Node.js programs that are found, in order and relative to the home directory.
    fn found(&self, more: &[(&str, &str)]) -> Vec<String> {
        let mut all = Vec::new();
        for path in self.environment(more).find_all("node") {
            let name = path.strip_prefix(self.path("")).unwrap().to_str().unwrap().to_owned();
            if !all.contains(&name) {
                all.push(name);
            }
        }
        all
    }
}

#[test]
fn without_any_manager_nothing_is_found_and_the_path_stays() {
    let home = Home::new();
    for odd in [&[][..], &[("NVM_DIR", "relative")], &[("NVM_DIR", "/dev/null"), ("VOLTA_HOME", "~/missing")]] {
        assert_eq!(home.found(odd), [] as [&str; 0]);
    }
    assert_eq!(home.environment(&[]).get("PATH"), Some(home.path("empty").as_os_str()));
    // Names that are not versions, and versions without a program.
    home.nodes(&[".nvm/versions/node/system/bin"]).write(".nvm/versions/node/v20.0.0/bin/other", "");
    assert_eq!(home.found(&[]), [] as [&str; 0]);
}

#[test]
fn the_default_of_nvm_is_followed_through_its_aliases() {
    let versions = ["v18.2.0", "v20.9.1", "v20.10.0", "v22.1.0"];
    let home = Home::new();
    home.nodes(&versions.map(|version| format!(".nvm/versions/node/{version}/bin")).each_ref().map(String::as_str));
    home.write(".nvm/alias/lts/*", "lts/iron\n").write(".nvm/alias/lts/iron", "v20.9.1\n");
    home.write(".nvm/alias/loop", "loop\n").write("outside", "18\n");
    for (default, first) in [
        ("20", "v20.10.0"),
        ("v20.9.1", "v20.9.1"),
        ("lts/*", "v20.9.1"),
        ("node", "v22.1.0"),
        ("18.2", "v18.2.0"),
        // Without a default that can be used, the newest.
        ("loop", "v22.1.0"),
        ("system", "v22.1.0"),
        ("../../outside", "v22.1.0"),
        ("v18.2.0/bin", "v22.1.0"),
        ("2", "v22.1.0"),
    ] {
        home.write(".nvm/alias/default", &format!("{default}\n"));
        let found = home.found(&[]);
        assert_eq!(
            (found.len(), found[0].as_str()),
            (4, &*format!(".nvm/versions/node/{first}/bin/node")),
            "{default}"
        );
        let path = home.environment(&[]).get("PATH").unwrap().to_str().unwrap().to_owned();
        let (empty, bin) = (home.path("empty"), home.path(&format!(".nvm/versions/node/{first}/bin")));
        assert_eq!(path, format!("{}:{}", empty.display(), bin.display()), "{default}");
    }
}

#[test]
fn every_manager_is_known_by_its_usual_directory_and_by_its_variable() {
    let home = Home::new();
    home.nodes(&[
        ".local/share/fnm/node-versions/v20.1.0/installation/bin",
        ".local/share/fnm/node-versions/v22.1.0/installation/bin",
    ]);
    fs::create_dir(home.path(".local/share/fnm/aliases")).unwrap();
    symlink(
        home.path(".local/share/fnm/node-versions/v20.1.0/installation"),
        home.path(".local/share/fnm/aliases/default"),
    )
    .unwrap();
    assert_eq!(home.found(&[])[0], ".local/share/fnm/node-versions/v20.1.0/installation/bin/node");
    assert_eq!(home.found(&[("XDG_DATA_HOME", "~/other")]), [] as [&str; 0]);

    for (usual, variable, below, settings) in [
        (
            ".volta",
            "VOLTA_HOME",
            "tools/image/node",
            (".volta/tools/user/platform.json", r#"{"node":{"runtime":"20.1.0"}}"#),
        ),
        (
            ".local/share/mise",
            "MISE_DATA_DIR",
            "installs/node",
            (".config/mise/config.toml", "[tools]\nnode = ['20', '22']\n"),
        ),
        (".asdf", "ASDF_DATA_DIR", "installs/nodejs", (".tool-versions", "# x\npython 3.12\nnodejs 19.0.0 20.1.0\n")),
    ] {
        let home = Home::new();
        let of = |root: &str, version: &str| format!("{root}/{below}/{version}/bin");
        home.nodes(&[&of(usual, "20.1.0"), &of(usual, "22.1.0")]).write(settings.0, settings.1);
        let expected = |root: &str| [of(root, "20.1.0") + "/node", of(root, "22.1.0") + "/node"];
        assert_eq!(home.found(&[]), expected(usual), "{variable}");
        home.write(settings.0, "broken [");
        assert_eq!(home.found(&[])[0], of(usual, "22.1.0") + "/node", "{variable}");
        // The variable counts for more, even if its directory is empty.
        assert_eq!(home.found(&[(variable, "~/moved")]), [] as [&str; 0], "{variable}");
        fs::rename(home.path(usual), home.path("moved")).unwrap();
        assert_eq!(home.found(&[(variable, "~/moved")]).len(), 2, "{variable}");
    }

    let home = Home::new();
    home.nodes(&["brew/opt/node@20/bin", "brew/opt/node@22/bin", "brew/opt/other/bin"]);
    let prefix = ("HOMEBREW_PREFIX", "~/brew");
    assert_eq!(home.found(&[prefix]), ["brew/opt/node@22/bin/node", "brew/opt/node@20/bin/node"]);
    let path = home.environment(&[prefix]);
    assert!(
        path.get("PATH").unwrap().to_str().unwrap().ends_with(":/brew/opt/node@22/bin") || path.find("node").is_some()
    );
}

#[test]
fn a_link_of_mise_is_followed_only_within_its_directory() {
    let home = Home::new();
    let root = ".local/share/mise/installs/node";
    home.nodes(&[&format!("{root}/22.1.0/bin"), &format!("{root}/20.1.0/bin"), "elsewhere/bin"]);
    home.write(".config/mise/config.toml", "[tools.node]\nversion = 'lts'\n");
    symlink(home.path("elsewhere"), home.path(&format!("{root}/lts"))).unwrap();
    assert_eq!(home.found(&[])[0], format!("{root}/22.1.0/bin/node"));
    fs::remove_file(home.path(&format!("{root}/lts"))).unwrap();
    symlink("./20.1.0", home.path(&format!("{root}/lts"))).unwrap();
    assert_eq!(home.found(&[])[0], format!("{root}/20.1.0/bin/node"));
}

#[test]
fn a_directory_that_others_can_change_is_not_used() {
    let home = Home::new();
    home.nodes(&[".nvm/versions/node/v22.0.0/bin", ".nvm/versions/node/v20.0.0/bin", "tools"]);
    let set = |name: &str, mode| fs::set_permissions(home.path(name), fs::Permissions::from_mode(mode)).unwrap();
    set(".nvm/versions/node/v22.0.0", 0o777);
    assert_eq!(home.found(&[]), [".nvm/versions/node/v20.0.0/bin/node"]);
    assert_eq!(home.found(&[(VARIABLE, "relative:~/tools")])[0], "tools/node");
    for mode in [0o777, 0o1777] {
        set("tools", mode);
        assert_eq!(home.found(&[(VARIABLE, "~/tools")]), [".nvm/versions/node/v20.0.0/bin/node"], "{mode:o}");
    }
}

#[test]
fn the_persons_path_comes_first() {
    let home = Home::new();
    home.nodes(&["own", "tools", ".nvm/versions/node/v22.0.0/bin"]).write(".nvm/alias/default", "22");
    let more = [("PATH", "~/own"), (VARIABLE, "~/tools:~/own")];
    assert_eq!(home.found(&more), ["own/node", "tools/node", ".nvm/versions/node/v22.0.0/bin/node"]);
    // The Node.js of a manager is for those who have none.
    let (own, tools) = (home.path("own"), home.path("tools"));
    let path = home.environment(&more).get("PATH").unwrap().to_owned();
    assert_eq!(path.to_str().unwrap(), format!("{}:{}", own.display(), tools.display()));
}

#[test]
fn a_path_of_one_shell_and_a_shim_are_replaced_by_the_version_that_they_start() {
    let home = Home::new();
    let real = ".local/share/fnm/node-versions/v22.0.0/installation";
    home.nodes(&[&format!("{real}/bin"), ".asdf/shims", ".asdf/installs/nodejs/20.0.0/bin", "own"]);
    home.nodes(&[".volta/tools/image/node/18.0.0/bin"]).write(".volta/bin/volta-shim", "");
    symlink("volta-shim", home.path(".volta/bin/node")).unwrap();
    fs::create_dir_all(home.path("run/fnm_multishells")).unwrap();
    symlink(home.path(real), home.path("run/fnm_multishells/1_2")).unwrap();
    let environment = home.environment(&[]);
    let kept = |name: &str, version: Option<&str>| {
        let path = lasting(home.path(name), version, &environment);
        path.strip_prefix(home.path("")).unwrap().to_str().unwrap().to_owned()
    };
    assert_eq!(kept("run/fnm_multishells/1_2/bin/node", Some("22.0.0")), format!("{real}/bin/node"));
    assert_eq!(kept("run/fnm_multishells/1_2/bin/node", None), format!("{real}/bin/node"));
    assert_eq!(kept(".asdf/shims/node", Some("20.0.0")), ".asdf/installs/nodejs/20.0.0/bin/node");
    assert_eq!(kept(".asdf/shims/node", Some("21.0.0")), ".asdf/shims/node");
    assert_eq!(kept(".volta/bin/node", Some("18.0.0")), ".volta/tools/image/node/18.0.0/bin/node");
    assert_eq!(kept("own/node", Some("22.0.0")), "own/node");
}

#[test]
fn pythons_of_every_manager_are_found_the_newest_first() {
    let home = Home::new();
    for directory in [
        ".pyenv/versions/3.11.9/bin",
        ".pyenv/versions/own-name/bin",
        ".local/share/uv/python/cpython-3.13.1-linux-x86_64-gnu/bin",
        ".local/share/mise/installs/python/3.12.2/bin",
        ".asdf/installs/python/3.12.10/bin",
        "miniconda3/bin",
        "miniconda3/envs/own/bin",
    ] {
        home.write(&format!("{directory}/python3"), "#!/bin/sh\nexit 99\n");
        fs::set_permissions(home.path(directory).join("python3"), fs::Permissions::from_mode(0o755)).unwrap();
    }
    let found = home.environment(&[]).find_all("python3").collect::<Vec<_>>();
    let expected = [
        ".local/share/uv/python/cpython-3.13.1-linux-x86_64-gnu/bin",
        ".asdf/installs/python/3.12.10/bin",
        ".local/share/mise/installs/python/3.12.2/bin",
        ".pyenv/versions/3.11.9/bin",
        "miniconda3/bin",
        "miniconda3/envs/own/bin",
    ];
    assert_eq!(found, expected.map(|name| home.path(name).join("python3")));
    fs::set_permissions(home.path(".asdf/installs/python/3.12.10"), fs::Permissions::from_mode(0o777)).unwrap();
    assert_eq!(home.environment(&[("PYENV_ROOT", "~/none")]).find_all("python3").count(), 4);
    // Agents get no more of them than the variables of the person name.
    assert_eq!(home.environment(&[]).get("PATH"), Some(home.path("empty").as_os_str()));
}

//! Agents that look around in their home.

use std::net::ToSocketAddrs as _;
use std::path::Path;
use std::process::exit;
use std::{env, fs};

use super::{good, serve};

/// How a home is looked at.
type Visit<'a> = &'a dyn Fn(&Path);

pub(super) fn look(way: &str) {
    let home = env::home_dir().unwrap();
    let key = home.join(".ssh/id_ed25519");
    match way {
        // Honest: asks for names, sizes, and whether the key is there.
        "list" => {
            walk(&home, &|file| assert!(fs::symlink_metadata(file).unwrap().len() > 0));
            assert_eq!(key.exists(), cfg!(target_os = "linux"));
        }
        "key" => drop(fs::read(&key).unwrap()),
        "copy" => walk(&home, &|file| assert!(fs::copy(file, env::temp_dir().join("copy")).unwrap() > 0)),
        // Answers nothing, so that there is another reason to fail.
        "fail" => {
            drop(fs::read(&key).unwrap());
            eprintln!("no API key");
            exit(3)
        }
        // Only while it is examined, when there are projects in its home.
        "examined" if home.join("projects").exists() => drop(fs::read(&key).unwrap()),
        "examined" | "end" => {}
        // Leaves settings, and a cache.
        "write" => {
            for folder in [".config/fake", ".cache/fake"].map(|folder| home.join(folder)) {
                fs::create_dir_all(&folder).unwrap();
                fs::write(folder.join("state"), "x").unwrap();
            }
        }
        // What the system cannot resolve stays unknown.
        "hosts" => {
            for name in ["telemetry.example", "Models.Example", "telemetry.example"] {
                assert!((name, 443).to_socket_addrs().is_err(), "{name} cannot be there");
            }
        }
        "link" => {
            fs::hard_link(&key, home.join("x")).unwrap();
            drop(fs::read(home.join("x")).unwrap());
        }
        other => panic!("no such way: {other}"),
    }
    serve(&good());
    if way == "end" {
        drop(fs::read(&key).unwrap());
    }
}

fn walk(directory: &Path, visit: Visit<'_>) {
    for item in fs::read_dir(directory).unwrap().map(|item| item.unwrap()) {
        if item.file_type().unwrap().is_dir() { walk(&item.path(), visit) } else { visit(&item.path()) }
    }
}

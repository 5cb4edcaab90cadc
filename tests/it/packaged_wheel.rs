//! The Python wheels of this program, installed from a folder.

use std::fs;
use std::io::Read as _;
use std::path::Path;
use std::process::Command;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use crate::packaged::{PLATFORMS, VERSION, archives, has, packages, platform};
use crate::support::{Env, Run, scrub};

/// uv or its `uvx`, with nothing of the person's settings, and without a network.
fn uv(env: &Env, arguments: &[&str]) -> Run {
    let mut command = Command::new(arguments[0]);
    scrub(&mut command);
    command.args(&arguments[1..]).current_dir(env.path("")).env("HOME", env.path("home"));
    command.env("UV_CACHE_DIR", env.path("cache")).env("UV_NO_CONFIG", "1").env("UV_OFFLINE", "1");
    command.env("UV_TOOL_DIR", env.path("tools")).env("UV_TOOL_BIN_DIR", env.path("tool bin"));
    command.env("UV_PYTHON_DOWNLOADS", "never").env("XDG_DATA_HOME", env.path("data"));
    Run::of(&mut command)
}

/// The only wheel of this platform's tag, as its file name ends.
fn wheel(folder: &Path, ending: &str) -> String {
    let names = fs::read_dir(folder).unwrap().map(|item| item.unwrap().path().to_str().unwrap().to_owned());
    names.into_iter().find(|name| name.ends_with(&format!("{ending}.whl"))).expect(ending)
}

#[test]
fn uv_installs_the_program_of_this_machine() {
    const TEST: &str = "uv_installs_the_program_of_this_machine";
    if !has("uv", TEST) {
        return;
    }
    let Some(env) = archives(&[&platform(), "windows-aarch64"], TEST) else { return };
    let folder = packages(&env, &["wheel"], &[]);
    let ending = if cfg!(target_os = "macos") { "" } else { std::env::consts::ARCH };
    let run = uv(&env, &["uvx", "--from", &wheel(&folder, ending), "acp-registry", "--version"]);
    assert_eq!((run.code, run.stdout), (0, format!("acp-registry {VERSION}\n")), "{}", run.stderr);
    let folder = folder.to_str().unwrap();
    let run = uv(&env, &["uv", "tool", "install", "--no-index", "--find-links", folder, "acp-registry"]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    let program = env.path("tool bin/acp-registry");
    let run = uv(&env, &[program.to_str().unwrap(), "explain", "no/rule", "--json"]);
    assert!(run.code == 2 && run.stdout.contains("no/rule"), "{}{}", run.stdout, run.stderr);
}

/// In an environment whose directory of programs is not in `PATH`.
#[test]
fn a_project_uses_the_module_of_the_wheel() {
    const TEST: &str = "a_project_uses_the_module_of_the_wheel";
    const USE: &str = "import sys
from acp_registry import Registry
with Registry(['--index', sys.argv[1]]) as registry:
    print(*(agent['id'] for agent in registry.request('list')['agents']))
";
    if !has("uv", TEST) {
        return;
    }
    let Some(env) = archives(&[&platform()], TEST) else { return };
    let index = crate::packaged::index(&env);
    let wheel = wheel(&packages(&env, &["wheel"], &[]), "");
    for arguments in [
        &["uv", "venv", "--quiet", "venv"][..],
        &["uv", "pip", "install", "--quiet", "--no-index", "--python", "venv", &wheel],
    ] {
        let run = uv(&env, arguments);
        assert_eq!(run.code, 0, "{}", run.stderr);
    }
    let run = uv(&env, &["venv/bin/python", "-c", USE, &index]);
    assert_eq!((run.code, run.stdout.as_str()), (0, "one two\n"), "{}", run.stderr);
}

#[cfg(feature = "world")]
#[test]
fn pipx_installs_the_program() {
    const TEST: &str = "pipx_installs_the_program";
    if !has("uv", TEST) {
        return;
    }
    let Some(env) = archives(&[&platform()], TEST) else { return };
    let wheel = wheel(&packages(&env, &["wheel"], &[]), "");
    let mut pipx = Command::new("uvx");
    pipx.args(["pipx", "install", &wheel]).env("PIPX_HOME", env.path("pipx")).env("PIPX_BIN_DIR", env.path("bin"));
    let Some(output) = pipx.output().ok().filter(|output| output.status.success()) else {
        return crate::support::missing(TEST, "the Python index cannot be reached");
    };
    let run = uv(&env, &[env.path("bin/acp-registry").to_str().unwrap(), "--version"]);
    assert_eq!(run.stdout, format!("acp-registry {VERSION}\n"), "{}", String::from_utf8_lossy(&output.stderr));
}

/// The systems that uv would install each wheel on.
#[test]
fn each_wheel_is_for_its_platform() {
    const TEST: &str = "each_wheel_is_for_its_platform";
    if !has("uv", TEST) {
        return;
    }
    let systems = [
        ("darwin-aarch64", "macosx_11_0_arm64", &["aarch64-apple-darwin"][..]),
        ("darwin-x86_64", "macosx_11_0_x86_64", &["x86_64-apple-darwin"]),
        ("linux-aarch64", "aarch64", &["aarch64-manylinux_2_17", "aarch64-unknown-linux-musl"]),
        ("linux-x86_64", "linux_1_1_x86_64", &["x86_64-manylinux_2_17", "x86_64-unknown-linux-musl"]),
        ("windows-aarch64", "win_arm64", &["aarch64-pc-windows-msvc"]),
        ("windows-x86_64", "win_amd64", &["x86_64-pc-windows-msvc"]),
    ];
    assert_eq!(systems.map(|(platform, ..)| platform), PLATFORMS.map(|(platform, _)| platform));
    let Some(env) = archives(&systems.map(|(platform, ..)| platform), TEST) else { return };
    let folder = packages(&env, &["wheel"], &[]);
    for (platform, ending, names) in systems {
        let own = wheel(&folder, ending);
        for (_, _, others) in systems {
            for name in others {
                let target = env.path(&format!("{platform} on {name}"));
                let flags = ["--quiet", "--no-index", "--python-platform", name, "--target", target.to_str().unwrap()];
                let run = uv(&env, &[&["uv", "pip", "install"], &flags[..], &[&own]].concat());
                assert_eq!(run.code == 0, names.contains(name), "{platform} on {name}: {}", run.stderr);
            }
        }
    }
}

#[test]
fn a_wheel_lists_its_files_with_their_digests() {
    const TEST: &str = "a_wheel_lists_its_files_with_their_digests";
    let Some(env) = archives(&["windows-x86_64"], TEST) else { return };
    let folder = packages(&env, &["wheel"], &["--repository", "https://h.example/o/acp-registry"]);
    let file = fs::File::open(wheel(&folder, "win_amd64")).unwrap();
    let mut zip = zip::ZipArchive::new(file).unwrap();
    let mut content = |name: &str| {
        let mut bytes = Vec::new();
        zip.by_name(name).unwrap().read_to_end(&mut bytes).unwrap();
        bytes
    };
    let info = format!("acp_registry-{VERSION}.dist-info");
    let record = String::from_utf8(content(&format!("{info}/RECORD"))).unwrap();
    let mut names = Vec::new();
    for line in record.lines().filter(|line| !line.ends_with("RECORD,,")) {
        let parts: Vec<&str> = line.split(',').collect();
        let bytes = content(parts[0]);
        let digest = URL_SAFE_NO_PAD.encode(<sha2::Sha256 as sha2::Digest>::digest(&bytes));
        assert_eq!(
            (parts[1], parts[2]),
            (format!("sha256={digest}").as_str(), bytes.len().to_string().as_str()),
            "{line}"
        );
        names.push(parts[0].to_owned());
    }
    let module = ["__init__.py", "__init__.pyi", "py.typed"].map(|name| format!("acp_registry/{name}"));
    assert_eq!(names[..3], module);
    assert_eq!(names[3], format!("acp_registry-{VERSION}.data/scripts/acp-registry.exe"));
    let metadata = String::from_utf8(content(&format!("{info}/METADATA"))).unwrap();
    assert!(metadata.contains("\nProject-URL: Repository, https://h.example/o/acp-registry\n"), "{metadata}");
    assert_eq!(zip.len(), names.len() + 1);
}

/// Python orders versions by another notation.
#[test]
fn versions_of_python_have_a_form_of_their_own() {
    const TEST: &str = "versions_of_python_have_a_form_of_their_own";
    let Some(env) = archives(&["linux-x86_64"], TEST) else { return };
    let own = env.path(&format!("archives/acp-registry-{VERSION}-linux-x86_64.tar.gz"));
    for (version, expected) in [("1.0.0-rc.1", Some("1.0.0rc1")), ("1.0.0-alpha.2", Some("1.0.0a2")), ("1.0.0-x", None)]
    {
        let folder = format!("archives {version}");
        fs::create_dir(env.path(&folder)).unwrap();
        fs::copy(&own, env.path(&format!("{folder}/acp-registry-{version}-linux-x86_64.tar.gz"))).unwrap();
        let run = crate::packaged::build(&env, &["packages", &folder, "out", "--kind", "wheel"]);
        match expected {
            Some(name) => {
                assert!(run.stdout.contains(&format!("acp_registry-{name}-py3-")), "{}{}", run.stdout, run.stderr);
            }
            None => assert!(run.code == 1 && run.stderr.contains("no form for the version 1.0.0-x"), "{}", run.stderr),
        }
    }
}

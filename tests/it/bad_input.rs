//! Hostile input and failing disks: each results in a finding or an error with the right exit code, and no data is lost.

use std::fs;
use std::path::Path;
#[cfg(unix)]
use std::process::Command;

#[cfg(target_os = "linux")]
use crate::support::SmallDisk;
use crate::support::{Env, ICON, manifest, tree};
#[cfg(unix)]
use crate::support::{PROGRAM, Run, scrub, skipped};

fn found(rule: &str, file: &str) -> (i32, Vec<(String, String)>) {
    (1, vec![(rule.to_owned(), file.to_owned())])
}

/// A valid agent, and one with this manifest.
fn with_manifest(content: impl AsRef<[u8]>) -> Env {
    Env::with(&["good"]).file("r/bad/agent.json", content).file("r/bad/icon.svg", ICON)
}

fn with_icon(content: impl AsRef<[u8]>) -> Env {
    Env::with(&["good", "bad"]).file("r/bad/icon.svg", content)
}

/// A valid agent, and one whose manifest the test creates.
fn with_folder() -> Env {
    Env::with(&["good"]).file("r/bad/icon.svg", ICON)
}

#[test]
fn a_manifest_that_is_not_utf_8() {
    let env = with_manifest(b"{\n  \"name\": \"\xff\"\n}");
    assert_eq!(env.findings(), found("manifest/syntax", "bad/agent.json"));
    let (_, report) = env.json(&["validate"]);
    assert_eq!((&report["findings"][0]["line"], &report["findings"][0]["column"]), (&2.into(), &12.into()));
    assert_eq!(report["agents"].to_string(), r#"[{"id":"bad","status":"failed"},{"id":"good","status":"ok"}]"#);
}

#[test]
fn a_manifest_of_ten_megabytes() {
    let env = with_manifest(format!("{{\"name\": \"{}\"}}", "x".repeat(10 << 20)));
    assert_eq!(env.findings(), found("manifest/syntax", "bad/agent.json"));
}

#[test]
fn a_manifest_nested_ten_thousand_deep() {
    for open in ["[", "{\"a\":"] {
        let env = with_manifest(open.repeat(10_000));
        assert_eq!(env.findings(), found("manifest/syntax", "bad/agent.json"));
        assert!(env.run(&["validate"]).stdout.contains("nested deeper than 62 levels"));
    }
}

#[test]
fn manifests_that_are_no_objects_are_not_published() {
    for text in ["null", "[]", "7", "\"text\"", "", " "] {
        let env = with_manifest(text).file("r/registry.toml", "[rules]\n\"manifest/*\" = \"allow\"\n");
        let run = env.run(&["build", "--out", "out"]);
        assert_eq!(run.code, 1, "{text}: {}", run.stderr);
        assert!(!env.path("out").exists());
    }
}

#[test]
fn a_directory_in_the_place_of_a_manifest() {
    let env = with_folder().file("r/bad/agent.json/x", "");
    assert_eq!(env.findings(), found("registry/unreadable-file", "bad/agent.json"));
}

#[cfg(unix)]
#[test]
fn symbolic_links_may_not_leave_the_registry() {
    use std::os::unix::fs::symlink;

    let env = with_folder().file("outside/agent.json", manifest("bad")).file("outside/icon.svg", ICON);
    symlink("../../outside/agent.json", env.path("r/bad/agent.json")).unwrap();
    assert_eq!(env.findings(), found("registry/unreadable-file", "bad/agent.json"));
    assert_eq!(env.run(&["build", "--out", "out"]).code, 1);

    let env = Env::with(&["good"]).file("outside/agent.json", manifest("bad"));
    symlink("../outside", env.path("r/bad")).unwrap();
    let both = ["bad/agent.json", "bad/icon.svg"].map(|file| ("registry/unreadable-file".to_owned(), file.to_owned()));
    assert_eq!(env.findings(), (1, both.to_vec()));

    let env = with_folder();
    symlink("/dev/zero", env.path("r/bad/agent.json")).unwrap();
    assert_eq!(env.findings(), found("registry/unreadable-file", "bad/agent.json"));

    // A link within the registry is accepted.
    let env = Env::with(&["good", "same"]);
    fs::remove_file(env.path("r/same/icon.svg")).unwrap();
    symlink("../good/icon.svg", env.path("r/same/icon.svg")).unwrap();
    assert_eq!(env.findings(), (0, vec![]));
}

/// An error quotes a line of a configuration, and the environment is one line.
#[cfg(unix)]
#[test]
fn what_is_in_a_registry_shows_nothing_that_is_outside() {
    use std::os::unix::fs::symlink;

    for (name, commands) in [("registry.toml", &["build", "validate"][..]), ("history.json", &["build"])] {
        let env = Env::with(&["good"]).file("outside", "\"password\" of a person");
        symlink("../outside", env.path(&format!("r/{name}"))).unwrap();
        for command in commands {
            let run = env.run(&[command]);
            assert!(!format!("{}{}", run.stdout, run.stderr).contains("password"), "{name}: {}", run.stderr);
            assert!(run.code == 2 && run.stderr.contains("leads out of the registry"), "{name}: {}", run.stderr);
        }
    }
    // One that is named may be anywhere.
    let env = Env::with(&["good"]).file("outside.toml", "");
    symlink("outside.toml", env.path("named.toml")).unwrap();
    assert_eq!(env.run(&["--config", "named.toml", "validate"]).code, 0);
}

#[cfg(unix)]
#[test]
fn a_fifo_does_not_make_it_wait() {
    let env = with_folder();
    assert!(Command::new("mkfifo").arg(env.path("r/bad/agent.json")).status().unwrap().success());
    assert_eq!(env.findings(), found("registry/unreadable-file", "bad/agent.json"));
}

/// Root can read and write everything. If the tests run as root, this runs the program as an unprivileged user.
#[cfg(unix)]
fn unprivileged(env: &Env, arguments: &[&str]) -> Option<Run> {
    use std::os::unix::fs::PermissionsExt as _;
    use std::os::unix::process::CommandExt as _;

    let is_root = Command::new("id").arg("-u").output().unwrap().stdout == b"0\n";
    if !is_root {
        return Some(env.run(arguments));
    }
    let program = env.path("program");
    // Copied by another process. If this process had the copy open for writing while another test forks, the child would
    // inherit the descriptor, and the system would refuse to execute the file.
    assert!(Command::new("cp").arg(PROGRAM).arg(&program).status().unwrap().success());
    fs::set_permissions(env.path("."), fs::Permissions::from_mode(0o755)).unwrap();
    let mut command = Command::new(program);
    command.args(["--registry-dir", "r"]).args(arguments).current_dir(env.path(".")).uid(65534).gid(65534);
    scrub(&mut command);
    Run::try_of(&mut command).ok()
}

#[cfg(unix)]
#[test]
fn a_file_without_read_permission() {
    use std::os::unix::fs::PermissionsExt as _;

    let env = with_manifest(manifest("bad"));
    fs::set_permissions(env.path("r/bad/agent.json"), fs::Permissions::from_mode(0o000)).unwrap();
    let Some(run) = unprivileged(&env, &["validate", "--json"]) else {
        return skipped("a_file_without_read_permission", "cannot become another user");
    };
    assert_eq!(run.code, 1, "{}", run.stderr);
    assert!(run.stdout.contains("registry/unreadable-file"), "{}", run.stdout);
}

#[cfg(unix)]
#[test]
fn an_output_directory_that_cannot_be_written() {
    use std::os::unix::fs::PermissionsExt as _;

    let env = Env::with(&["good"]).file("parent/out/SHA256SUMS", "old");
    for folder in ["parent", "parent/out"] {
        fs::set_permissions(env.path(folder), fs::Permissions::from_mode(0o555)).unwrap();
    }
    let Some(run) = unprivileged(&env, &["build", "--out", "parent/out"]) else {
        return skipped("an_output_directory_that_cannot_be_written", "cannot become another user");
    };
    assert_eq!(run.code, 3, "{}", run.stderr);
    assert!(run.stderr.contains("error: ") && run.stderr.contains("Permission denied"), "{}", run.stderr);
    assert_eq!(env.read("parent/out/SHA256SUMS"), "old");
    assert_eq!(fs::read_dir(env.path("parent")).unwrap().count(), 1);
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_keeps_the_old_tree() {
    let env = Env::with(&["good"]).file("r/big/agent.json", manifest("big"));
    let icon = ICON.replace("</svg>", &format!("<desc>{}</desc></svg>", "x".repeat(900_000)));
    env.write("r/big/icon.svg", icon);
    let Some(disk) = SmallDisk::mount("a_full_disk_keeps_the_old_tree", &env.path("disk"), "512k") else { return };
    env.write("disk/out/SHA256SUMS", "old");
    // A directory that does not exist gets pages while they are rendered.
    let runs = ["disk/out", "disk/new"].map(|out| env.run(&["build", "--out", out]));
    let left = fs::read_dir(env.path("disk")).unwrap().count();
    let old = env.read("disk/out/SHA256SUMS");
    drop(disk);
    for run in runs {
        assert_eq!(run.code, 3, "{}{}", run.stdout, run.stderr);
        assert!(run.stderr.contains("No space left"), "{}", run.stderr);
    }
    assert_eq!((left, old.as_str()), (1, "old"));
}

#[test]
fn icons_with_entity_bombs() {
    let bomb = "<!DOCTYPE svg [<!ENTITY a \"aaaaaaaaaa\"><!ENTITY b \"&a;&a;&a;&a;&a;&a;&a;&a;&a;&a;\">]>\n<svg xmlns=\"http://www.w3.org/2000/svg\">&b;</svg>";
    assert_eq!(with_icon(bomb).findings(), found("icon/syntax", "bad/icon.svg"));
}

#[test]
fn an_icon_that_is_a_binary_file_is_called_what_it_is() {
    let png = [b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x10".as_slice(), &[0xff; 64]].concat();
    let jpeg = [b"\xff\xd8\xff\xe0\0\x10JFIF\0".as_slice(), &[0xfe; 64]].concat();
    for (bytes, message, help) in [
        (png, "a raster image, not an SVG document", "export the icon as SVG"),
        (jpeg, "a raster image, not an SVG document", "export the icon as SVG"),
        (b"<svg \xe9/>".to_vec(), "not UTF-8", "save the file as UTF-8"),
    ] {
        let env = with_icon(bytes);
        assert_eq!(env.findings(), found("icon/syntax", "bad/icon.svg"));
        let (_, report) = env.json(&["validate"]);
        let finding = &report["findings"][0];
        assert_eq!((finding["message"].as_str(), finding["help"].as_str()), (Some(message), Some(help)));
    }
}

#[test]
fn icons_of_impossible_sizes() {
    for size in ["nan", "1e999", "-16", "inf", "99999999999999999999999999999999"] {
        let by_width = ICON.replace("width=\"16\"", &format!("width=\"{size}\""));
        assert_eq!(with_icon(by_width).findings(), found("icon/size", "bad/icon.svg"), "{size}");
        let by_view = ICON
            .replace("viewBox=\"0 0 16 16\"", &format!("viewBox=\"0 0 {size} {size}\""))
            .replace("width=\"16\" height=\"16\" ", "");
        let (code, findings) = with_icon(by_view).findings();
        assert_eq!(code, 1, "{size}");
        assert_eq!(findings.iter().filter(|(rule, _)| rule == "icon/size").count(), 2, "{size}: {findings:?}");
    }
}

#[test]
fn an_icon_of_fifty_megabytes() {
    let env = with_icon(vec![b' '; 50 << 20]);
    assert_eq!(env.findings(), found("icon/syntax", "bad/icon.svg"));
}

#[test]
fn an_icon_that_is_one_deep_or_one_long_thing() {
    let deep = format!("<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"16\" height=\"16\">{}", "<g>".repeat(9_000));
    assert_eq!(with_icon(deep).findings(), found("icon/syntax", "bad/icon.svg"));
    let closed = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"16\" height=\"16\" fill=\"currentColor\">{}<path d=\"M2 2h12v12H2z\"/>{}</svg>",
        "<g>".repeat(9_000),
        "</g>".repeat(9_000)
    );
    let (code, findings) = with_icon(closed).findings();
    assert_eq!((code, findings), (0, vec![("icon/too-large".to_owned(), "bad/icon.svg".to_owned())]));
}

#[test]
fn a_hostile_file_cannot_fill_the_report() {
    let circles = "<circle r=\"1\" fill=\"red\"/>".repeat(2000);
    let env = with_icon(ICON.replace("<path", &format!("{circles}<path")));
    let (_, report) = env.json(&["validate"]);
    let findings = report["findings"].as_array().unwrap();
    let messages: Vec<_> = findings.iter().filter(|finding| finding["rule"] == "icon/hardcoded-color").collect();
    assert_eq!(messages.len(), 50);
    assert!(
        messages
            .iter()
            .any(|finding| finding["message"].as_str().unwrap().ends_with("(and 1950 more of this kind in this file)"))
    );
}

/// Quadratic work on files of these sizes would take minutes.
#[test]
fn files_of_every_shape_come_to_an_end() {
    let members = |count: usize, member: &dyn Fn(usize) -> String| (0..count).map(member).collect::<Vec<_>>().join(",");
    let long = "k".repeat(400_000);
    let manifests = [
        format!("{{{}}}", members(60_000, &|n| format!("\"m{n}\":1"))),
        format!("{{{}}}", members(100_000, &|_| "\"id\":1".to_owned())),
        format!("{{\"{long}\":{{{}}}}}", members(60_000, &|_| "\"a\":1".to_owned())),
        format!("{{\"distribution\":{{\"binary\":{{{}}}}}}}", members(40_000, &|n| format!("\"p{n}\":{{}}"))),
        format!("{{\"authors\":[{}]}}", members(300_000, &|_| "1".to_owned())),
        format!("{{\"license\":\"{long}\",\"version\":\"{long}\",\"id\":\"{long}\"}}"),
        format!(
            "{{\"version\":\"1.0.0\",\"distribution\":{{\"binary\":{{\"linux-x86_64\":{{\"archive\":\"https://h.example/{}\"}}}}}}}}",
            "1.0-".repeat(200_000)
        ),
        format!("{{\"distribution\":{{\"npx\":{{\"package\":\"{}\"}}}}}}", "a@1".repeat(300_000)),
    ];
    let svg = |body: &str| format!("<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"16\" height=\"16\">{body}</svg>");
    let icons = [
        svg(&"<g/>".repeat(200_000)),
        svg(&"<path fill='red' d='M0 0h1v1z'/>".repeat(3_000)),
        svg(&format!("<path {}/>", members(100_000, &|n| format!("a{n}=''")).replace(',', " "))),
        svg(&format!("<style>{}</style>{}", ".a .b{fill:red}".repeat(900), "<path d='M0 0h1v1z'/>".repeat(9_000))),
        svg(&format!("<style>{}</style>", ".a{".repeat(100_000))),
        svg(&format!("<style>a{{b:{}}}</style>", "(".repeat(400_000))),
        svg(&format!("<style>.a{{fill:none}}</style><path class='{}'/>", "a ".repeat(400_000))),
        svg(&format!(
            "<style>stop{{stop-color:currentColor}}</style><linearGradient id='z'>{}</linearGradient>{}",
            "<stop/>".repeat(9_000),
            members(4_500, &|n| format!("<linearGradient id='g{n}' href='#z'/>"))
        )),
        svg(&format!("<path d='{}' fill='{}'/>", "M".repeat(400_000), "(".repeat(400_000))),
        svg(&(0..4_000)
            .map(|n| format!("<g id='u{}'><use href='#u{n}'/><use href='#u{n}'/></g>", n + 1))
            .collect::<String>()),
        svg(&format!("<mask>{}</mask>", "<g fill='white'>".repeat(4_000) + &"</g>".repeat(4_000))),
    ];
    let env = manifests
        .iter()
        .enumerate()
        .fold(Env::with(&["good"]), |env, (n, text)| env.file(&format!("r/m{n}/agent.json"), text));
    let env = icons.iter().enumerate().fold(env, |env, (n, text)| {
        let id = format!("i{n}");
        env.file(&format!("r/{id}/agent.json"), manifest(&id)).file(&format!("r/{id}/icon.svg"), text)
    });
    let (code, report) = env.json(&["validate"]);
    assert_eq!(code, 1);
    assert!(report["findings"].as_array().unwrap().len() > manifests.len() + icons.len());
}

#[test]
fn ids_with_path_separators_choose_no_path() {
    // Windows has no folder `con`.
    let reserved = if cfg!(windows) { "c:d" } else { "con" };
    for id in ["../evil", "a/b", "..", "/etc/passwd", "a\\b", reserved, ""] {
        let text = manifest("good").replace("\"id\": \"good\"", &format!("\"id\": {}", serde_json::Value::from(id)));
        let env = Env::with(&["good"]).file("r/bad/agent.json", &text).file("r/bad/icon.svg", ICON);
        let (code, findings) = env.findings();
        assert!(code == 1 && findings.iter().any(|(_, file)| file == "bad/agent.json"), "{id}: {findings:?}");
        assert_eq!(env.run(&["build", "--out", "out/here"]).code, 1, "{id}");
        assert!(!env.path("out").exists() && !env.path("evil.svg").exists());

        // Even with every rule switched off, files are named by folders.
        env.write("r/registry.toml", "[rules]\n\"manifest/*\" = \"allow\"\n\"distribution/*\" = \"allow\"\n");
        assert_eq!(env.run(&["build", "--out", "out/here"]).code, 0, "{id}");
        assert!(!env.path("out/evil").exists() && !env.path("out/here/agents/a").exists(), "{id}");
        assert_eq!(env.run(&["build", "--out", "out/here", "--no-site"]).code, 0, "{id}");
        let names: Vec<_> = tree(&env.path("out/here")).into_iter().map(|(name, _)| name).collect();
        assert_eq!(
            names,
            ["SHA256SUMS", "agent.schema.json", "bad.svg", "good.svg", "registry.json", "registry.schema.json"]
        );
        assert_eq!(fs::read_dir(env.path("out")).unwrap().count(), 1);
    }
}

#[cfg(unix)]
#[test]
fn folders_with_odd_names_are_not_published() {
    let env = Env::with(&["good"]).file("r/Bad Name\u{1b}[31m/agent.json", manifest("x"));
    env.write(
        "r/registry.toml",
        "[rules]\n\"manifest/*\" = \"allow\"\n\"icon/*\" = \"allow\"\n\"distribution/*\" = \"allow\"\n",
    );
    let run = env.run(&["build", "--out", "out"]);
    assert_eq!(run.code, 1, "{}", run.stdout);
    assert!(!run.stderr.contains('\u{1b}') && run.stderr.contains("\\u{1b}"), "{}", run.stderr);
    let run = env.run(&["validate", "--warn", "manifest/*"]);
    assert!(!run.stdout.contains('\u{1b}'), "{}", run.stdout);
}

#[test]
fn an_empty_registry() {
    let env = Env::empty().file("out/registry.json", "old");
    let run = env.run(&["validate"]);
    assert_eq!((run.code, run.stdout.as_str()), (2, ""));
    assert!(run.stderr.contains("r has neither agents nor a registry.toml"), "{}", run.stderr);
    let run = env.run(&["build", "--out", "out"]);
    assert_eq!(run.code, 2);
    assert!(run.stderr.contains("holds no agents\nhelp: name the registry"), "{}", run.stderr);
    assert_eq!(env.read("out/registry.json"), "old");
}

/// Its workflows run before its first agent is there.
#[test]
fn a_new_registry_is_published_without_agents() {
    let env = Env::empty().file("r/registry.toml", "base-url = \"https://h.example/latest\"\n");
    let run = env.run(&["validate"]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert_eq!(env.run(&["build", "--out", "out"]).code, 0);
    assert!(env.read("out/registry.json").contains("\"agents\": []"));
    assert_eq!(env.run(&["publish", "--from", "out", "--to", "published"]).code, 0);
    assert_eq!(env.run(&["build", "--out", "again", "--previous", "published/latest"]).code, 0);
    // One that has lost its agents is another matter.
    let full = Env::with(&["a"]);
    assert_eq!(full.run(&["build", "--out", "old"]).code, 0);
    fs::remove_dir_all(full.path("r/a")).unwrap();
    full.write("r/registry.toml", "");
    let run = full.run(&["build", "--out", "out", "--previous", "old"]);
    assert!(run.code == 2 && run.stderr.contains("r holds no agents\nhelp: add an agent"), "{}", run.stderr);
    assert!(!full.path("out").exists());
}

#[test]
fn a_directory_that_is_not_there() {
    let env = Env::empty();
    let run = env.run(&["--registry-dir", "nowhere", "validate"]);
    assert_eq!(run.code, 3);
    assert!(run.stderr.contains("nowhere") && run.stderr.contains("`acp-registry init nowhere`"), "{}", run.stderr);
}

#[test]
fn one_bad_agent_hides_no_other() {
    let env = Env::with(&["good"])
        .file("r/bad/agent.json", "{")
        .file("r/bad/icon.svg", "<svg")
        .file("r/worse/agent.json", "{}");
    let (code, findings) = env.findings();
    assert_eq!(code, 1);
    for expected in [
        ("manifest/syntax", "bad/agent.json"),
        ("icon/syntax", "bad/icon.svg"),
        ("manifest/schema", "worse/agent.json"),
        ("icon/missing", "worse/icon.svg"),
    ] {
        assert!(findings.contains(&(expected.0.to_owned(), expected.1.to_owned())), "{expected:?} in {findings:?}");
    }
}

#[test]
fn two_builds_at_once_leave_one_whole_tree() {
    let env = Env::with(&["one", "two", "three"]);
    env.run(&["build", "--out", "out"]);
    let expected = tree(&env.path("out"));
    for _ in 0..10 {
        let mut children: Vec<_> = (0..4)
            .map(|_| env.command(&["build", "--out", "out", "-q"]).stdout(std::process::Stdio::null()).spawn().unwrap())
            .collect();
        for child in &mut children {
            assert!(child.wait().unwrap().success());
        }
        assert_eq!(tree(&env.path("out")), expected);
        assert_eq!(siblings(&env.path(".")), ["out", "r"]);
    }
}

fn siblings(folder: &Path) -> Vec<String> {
    let mut names: Vec<_> =
        fs::read_dir(folder).unwrap().map(|item| item.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

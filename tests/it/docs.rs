//! The documentation matches the program.

use std::fs;
use std::path::Path;
use std::process::Command;

use acp_registry::handshake::HandshakeOptions;
use acp_registry::session::SessionOptions;
use acp_registry::{duration, examination, install, ops, scaffold, verify};
use pulldown_cmark::{Event, Options, Parser, Tag};
use serde_json::Value;

use crate::support::{Env, Run, skipped, tree};

/// Every command, in the order of the help.
pub(crate) const COMMANDS: &[&str] = &[
    "init", "new", "validate", "build", "publish", "publish prune", "publish list", "publish rollback", "diff",
    "verify", "report", "serve", "serve-agent", "probe", "bump", "list", "search", "info", "resolve", "install", "run",
    "which", "update", "uninstall", "gc", "doctor", "login", "logout", "config", "rpc", "completions", "rules",
    "explain",
];

fn text(path: &str) -> String {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(path)).unwrap()
}

/// The fenced code blocks of a kind in a Markdown document.
fn blocks<'a>(document: &'a str, kind: &str) -> Vec<&'a str> {
    let start = format!("```{kind}\n");
    document.split(&start).skip(1).map(|rest| rest.split("```").next().unwrap()).collect()
}

/// Of one command, and of the program: what the help says of the others is compared with `docs/commands/`.
#[cfg(unix)]
#[test]
fn the_help_has_a_known_layout() {
    let env = Env::empty();
    let help = |command: &str| {
        let words: Vec<&str> = command.split_whitespace().chain(["--help"]).collect();
        env.run(&words).stdout
    };
    insta::assert_snapshot!(format!("{}\n---- install\n\n{}", help(""), help("install")));
    for command in COMMANDS {
        let help = help(command);
        assert!(help.contains(&format!("\nUsage: acp-registry {command}")), "{help}");
        let wide = help.lines().find(|line| line.chars().count() > 100 && !line.starts_with("Usage: "));
        assert_eq!(wide, None, "{command}");
    }
}

/// Defaults that the parser does not know, since they depend on what else is given.
#[test]
fn defaults_in_the_help_are_those_of_the_program() {
    let handshake = HandshakeOptions::new(std::env::temp_dir()).timeout;
    let session = SessionOptions::new("agents", []);
    let env = Env::empty();
    for (commands, flag, default) in [
        (&["probe", "verify", "bump", "validate", "doctor"][..], "--timeout", handshake),
        (&["new"], "--timeout", scaffold::PATIENCE),
        (&["verify", "new", "bump", "validate"], "--install-timeout", verify::INSTALL_TIMEOUT),
        (&["install", "update"], "--install-timeout", install::INSTALL_TIMEOUT),
        (&["login", "logout"], "--timeout", ops::SIGN_IN_TIMEOUT),
        (&["verify"], "--reuse-max-age", verify::REUSE_MAX_AGE),
        (&["probe", "verify"], "--examination-timeout", examination::LIMIT),
        (&["install", "update", "uninstall"], "--wait", session.patience),
    ] {
        for command in commands {
            let help = env.run(&[command, "--help"]).stdout;
            let (_, about) = help.split_once(&format!(" {flag} <")).unwrap_or_else(|| panic!("{command} {flag}"));
            let stated = about.split_once("[default: ").unwrap().1.split([']', ',']).next().unwrap();
            assert_eq!(duration::parse(stated).unwrap(), default, "{command} {flag}");
        }
    }
    for (page, words) in [
        ("docs/installing.md", format!("({} minutes by default)", install::INSTALL_TIMEOUT.as_secs() / 60)),
        ("docs/examining.md", format!("limit for the examination is {} min", examination::LIMIT.as_secs() / 60)),
    ] {
        assert!(text(page).contains(&words), "{page}: {words}");
    }
}

#[test]
fn the_reference_of_commands_is_what_the_help_says() {
    let env = Env::empty();
    let run = env.run(&["man", "--markdown", "--out", "commands"]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    let committed = tree(&Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/commands"));
    let written = tree(&env.path("commands"));
    let names = |tree: &[(String, Vec<u8>)]| tree.iter().map(|(name, _)| name.clone()).collect::<Vec<_>>();
    assert_eq!(names(&written), names(&committed));
    for ((name, now), (_, then)) in written.iter().zip(&committed) {
        assert!(now == then, "docs/commands/{name} is old: run `cargo run -- man --markdown --out docs/commands`");
    }
}

#[test]
fn every_command_has_a_manual_page_that_is_in_order() {
    let env = Env::empty();
    let run = env.run(&["man", "--out", "new/man1"]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    let mut expected: Vec<String> =
        COMMANDS.iter().map(|command| format!("acp-registry-{}.1", command.replace(' ', "-"))).collect();
    expected.push("acp-registry.1".to_owned());
    expected.sort();
    let pages = tree(&env.path("new/man1"));
    assert_eq!(pages.iter().map(|(name, _)| name).collect::<Vec<_>>(), expected.iter().collect::<Vec<_>>());
    let mut has_groff = true;
    for (name, page) in pages {
        let page = String::from_utf8(page).unwrap();
        assert!(page.contains(".SH NAME") && page.contains(".SH SYNOPSIS") && page.contains(".SH OPTIONS"), "{name}");
        for part in [
            ".SH \"EXIT STATUS\"\n.TP\n0\ndone",
            ".SH ENVIRONMENT\n.TP\nACP_REGISTRY_INDEX",
            ".SH SEE ALSO\nacp\\-registry",
            &format!(" 1 \"\" \"acp-registry {}\" \"General Commands Manual\"\n", env!("CARGO_PKG_VERSION")),
        ] {
            assert!(page.contains(part), "{name}: {part}");
        }
        assert!(!page.split(".SH \"EXIT STATUS\"").nth(1).unwrap().contains('`'), "{name}");
        let see_also = page.split(".SH SEE ALSO").nth(1).unwrap();
        assert_eq!(see_also.contains("publish\\-prune(1)"), name == "acp-registry-publish.1", "{name}");
        assert!(!see_also.contains("publish") || name.contains("publish") || !name.contains("list"), "{name}");
        let has_examples = name != "acp-registry.1";
        assert_eq!(page.contains(".SH EXAMPLES\n.PP\n"), has_examples, "{name}");
        let line =
            name.trim_end_matches(".1").replace("acp-registry-", "acp-registry ").replace("publish-", "publish ");
        let synopsis = format!(".SH SYNOPSIS\n\\fB{}\\fR [OPTIONS]", line.replace('-', "\\-"));
        assert!(page.contains(&synopsis), "{name}: {synopsis}");
        let path = env.path("new/man1").join(&name);
        match Run::try_of(Command::new("groff").args(["-man", "-Tutf8", "-ww", "-rLL=120n"]).arg(path)) {
            Ok(run) => {
                assert_eq!((run.code, run.stderr.as_str()), (0, ""), "{name}");
                assert!(run.stdout.contains("General Commands Manual"), "{name}");
            }
            Err(_) => has_groff = false,
        }
    }
    if !has_groff {
        skipped("manual pages as groff reads them", "groff is not installed");
    }
    let env = Env::empty().file("taken", "");
    let run = env.run(&["man", "--out", "taken"]);
    assert_eq!((run.code, run.stderr.contains("taken")), (3, true), "{}", run.stderr);
}

/// A documented variable has an effect: the program, or a workflow that it creates, reads it by that name.
#[cfg(unix)]
#[test]
fn every_variable_that_is_named_is_read() {
    fn files(folder: &Path, endings: &[&str], out: &mut Vec<(String, String)>) {
        for path in fs::read_dir(folder).unwrap().map(|item| item.unwrap().path()) {
            let name = path.to_string_lossy().into_owned();
            if path.is_dir() {
                files(&path, endings, out);
            } else if endings.iter().any(|ending| name.ends_with(ending)) {
                out.push((name, fs::read_to_string(&path).unwrap()));
            }
        }
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let all = |folders: &[&str], endings: &[&str]| {
        let mut out = Vec::new();
        for folder in folders {
            files(&root.join(folder), endings, &mut out);
        }
        out
    };
    let mut documents = all(&["docs/guides", "docs/commands", "templates/init"], &[".md", ".env"]);
    documents.extend(all(&["docs"], &[".md"]).into_iter().filter(|(name, _)| !name.contains("/decisions/")));
    documents.push(("README.md".to_owned(), text("README.md")));
    // The manual pages have a list of their own.
    let manual = "src/terminal/help/roff.rs";
    documents.push((manual.to_owned(), text(manual)));
    let code = all(&["src", "crates"], &[".rs"]).into_iter().filter(|(name, _)| !name.ends_with(manual));
    let code: String = code.map(|(_, text)| text).collect();
    let workflows: String = all(&[".github", "templates/init/.github"], &[".yml", ".sh", ".env"])
        .into_iter()
        .map(|(_, text)| text)
        .collect();
    let is_part = |c: char| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_';
    let mut seen = 0;
    for (file, text) in &documents {
        for name in
            text.split(|c: char| !is_part(c) && !c.is_ascii_alphabetic()).filter(|word| word.chars().all(is_part))
        {
            let is_variable = name.starts_with(|c: char| c.is_ascii_uppercase())
                && name.split('_').filter(|part| !part.is_empty()).count() > 1;
            // In the source of the manual pages, only the names in that list count.
            if !is_variable || (file == manual && !text.contains(&format!("(\"{name}\""))) {
                continue;
            }
            seen += 1;
            let is_read = code.contains(&format!("\"{name}\""))
                || workflows.contains(name)
                || text.contains(&format!("secrets.{name}"))
                || code.contains(&format!("\"{name}="));
            assert!(is_read, "{file} names {name}, which is read nowhere");
        }
    }
    assert!(seen > 40, "only {seen} names were found");
}

#[test]
fn the_commands_of_the_readme_are_recipes() {
    let (readme, makefile) = (text("README.md"), text("Makefile"));
    let commands: Vec<&str> =
        blocks(&readme, "sh").into_iter().flat_map(str::lines).filter(|line| line.starts_with("make ")).collect();
    assert!(commands.contains(&"make demo") && commands.contains(&"make test"), "{commands:?}");
    for command in commands {
        let target = command.split_whitespace().nth(1).unwrap();
        assert!(makefile.lines().any(|line| line.starts_with(&format!("{target}:"))), "{command}");
    }
    assert!(text(".ci/run").contains("make test"), "CI must run the README's test command");
}

/// Readers of the repository on the web follow these links; a test of the site checks where they lead in the catalog.
#[test]
fn every_relative_link_of_a_document_leads_to_a_file() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let folders = ["", "docs", "docs/guides", "docs/commands", "templates/init", "templates/init/.github"];
    let mut seen = 0;
    for folder in folders.map(|folder| root.join(folder)) {
        let files = fs::read_dir(&folder).unwrap().map(|item| item.unwrap().path());
        for file in files.filter(|path| path.extension().is_some_and(|ending| ending == "md")) {
            for event in Parser::new_ext(&fs::read_to_string(&file).unwrap(), Options::ENABLE_TABLES) {
                let target = match event {
                    Event::Start(Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. }) => dest_url.to_string(),
                    Event::Html(html) | Event::InlineHtml(html) => {
                        let named = ["src=\"", "srcset=\"", "href=\""].iter().find_map(|key| html.split_once(key));
                        let Some((_, rest)) = named else { continue };
                        rest.split('"').next().unwrap().to_owned()
                    }
                    _ => continue,
                };
                let path = target.split('#').next().unwrap();
                if !path.contains("://") && !path.is_empty() {
                    assert!(folder.join(path).exists(), "{}: {target}", file.display());
                    seen += 1;
                }
            }
        }
    }
    assert!(seen > 40, "only {seen} links were found");
}

#[test]
fn the_configuration_in_the_documentation_obeys_its_schema() {
    let schema: Value = serde_json::from_str(acp_registry::check::schema::CONFIG).unwrap();
    let validator = jsonschema::draft7::new(&schema).unwrap();
    let documents = ["docs/configuration.md", "docs/registries.md", "docs/bumping.md"].map(text);
    let of = |document: &String| blocks(document, "toml").into_iter().map(ToOwned::to_owned).collect::<Vec<_>>();
    let mut examples: Vec<String> = documents.iter().flat_map(of).collect();
    assert!(examples.len() >= 3);
    examples.push(text("tests/fixtures/public-registry.toml"));
    for example in examples {
        let config = acp_registry::config::Config::parse(Path::new("registry.toml"), &example).unwrap();
        let value: Value = toml::from_str(&example).unwrap();
        let errors: Vec<String> = validator.iter_errors(&value).map(|error| error.to_string()).collect();
        assert_eq!(errors, [] as [String; 0], "{example}");
        assert!(!config.views.is_empty());
    }
    // The schema refuses what the program refuses.
    for wrong in [
        "colour = 1",
        "bump.x.beta = {}",
        "schemas.agent = \"../a.json\"",
        "schemas.registry = \"/a.json\"",
        "agents.x.rules.\"icon/size\" = \"never\"",
        "bump.x.stable = { url = \"https://h\", version = \"v\", archive = \"/{platform}\" }",
        "[[view]]\nfile = \"../x.json\"",
        "[[view]]\nfile = \"r.json\"\nchannel = \"beta\"",
        "rules.\"icon/size\" = \"fatal\"",
        "[[view]]\nfile = \"r.json\"\nextra = { agents = 1 }",
        "[[view]]\nfile = \"r.json\"\nagents.x.append-args.bun = []",
    ] {
        assert!(!validator.is_valid(&toml::from_str(wrong).unwrap()), "{wrong}");
    }
}

#[test]
fn the_bundled_registry_is_in_order() {
    let env = Env::empty();
    let registry = Path::new(env!("CARGO_MANIFEST_DIR")).join("registry");
    let (code, report) = env.json(&["--registry-dir", registry.to_str().unwrap(), "validate"]);
    assert_eq!(
        (code, &report["summary"]["errors"], &report["summary"]["warnings"]),
        (0, &0.into(), &0.into()),
        "{}",
        report["findings"]
    );
    assert!(report["summary"]["agents"].as_u64().unwrap() >= 30);
}

/// No file names the host of a package registry: the program gets it from the package managers.
#[test]
fn no_host_of_a_package_registry_is_named() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    // Concatenated, so that this file does not contain the names either.
    let hosts = [
        ["npm", "js.org"],
        ["npm", "js.com"],
        ["py", "pi.org"],
        ["pythonho", "sted.org"],
        ["crates", ".io"],
        ["debian", ".org"],
        ["yarn", "pkg.com"],
    ];
    let hosts: Vec<String> = hosts.iter().map(|parts| parts.concat()).collect();
    let mut folders = vec![root.to_owned()];
    let mut seen = 0;
    while let Some(folder) = folders.pop() {
        for path in fs::read_dir(folder).unwrap().map(|item| item.unwrap().path()) {
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            if path.is_dir() {
                if ![".git", "target", "dist", "node_modules", "proptest-regressions"].contains(&name.as_str()) {
                    folders.push(path);
                }
            } else if name != "Cargo.lock" {
                seen += 1;
                let text = String::from_utf8_lossy(&fs::read(&path).unwrap()).into_owned();
                assert!(hosts.iter().all(|host| !text.contains(host.as_str())), "{}", path.display());
            }
        }
    }
    assert!(seen > 100, "only {seen} files were looked at");
}

#[test]
fn the_table_of_platforms_has_all_commands() {
    let page = text("docs/platforms.md");
    let missing: Vec<_> = COMMANDS.iter().filter(|command| !page.contains(&format!("| `{command}` |"))).collect();
    assert!(missing.is_empty(), "docs/platforms.md lacks {missing:?}: run `make test-platforms`");
}

#[cfg(unix)]
#[test]
fn the_table_of_platforms_shows_what_failed_and_counts_no_test_that_was_skipped() {
    const TEST: &str = "the_table_of_platforms_shows_what_failed_and_counts_no_test_that_was_skipped";
    if !crate::packaged::has("python3", TEST) {
        return;
    }
    let env = Env::empty();
    for path in [".ci/matrix", "docs/platforms.md", "docs/commands/acp-registry-list.md"] {
        env.write(path, text(path));
    }
    env.write("docs/commands/acp-registry-run.md", "");
    let runs = [
        (r#""a""#, r#""--registry-dir", "r", "list""#),
        (r#""b""#, r#""list", "--json""#),
        (r#""c""#, r#""list""#),
        (r#""c""#, r#""SKIPPED""#),
        (r#""b""#, r#""run", "--help""#),
    ];
    let runs = runs.map(|(test, arguments)| format!("{{ \"test\": {test}, \"arguments\": [{arguments}] }}\n")).concat();
    for (result, code, row) in [("ok", 0, "| `list` | 2 pass |"), ("FAILED", 1, "| `list` | **1 of 2 fail** |")] {
        env.write("here/tests", format!("test a ... ok\ntest b ... {result}\ntest c ... ok\n"));
        env.write("here/runs", &runs);
        let mut matrix = Command::new("python3");
        let run = Run::of(matrix.arg(".ci/matrix").arg("Here=here").current_dir(env.path("")));
        assert_eq!(run.code, code, "{}", run.stderr);
        assert_eq!(run.stderr.contains("Here: b"), code == 1, "{}", run.stderr);
        let page = env.read("docs/platforms.md");
        assert!(page.contains(row) && page.contains("| `run` | – |") && page.contains("\n## Not tested"), "{page}");
        // What this run did not test stays as it was.
        assert!(page.contains("| command | Here | Linux "), "{page}");
        let other = |page: &str| {
            page.lines()
                .find(|line| line.starts_with("| `list` |"))
                .map(|line| line.rsplit_once(" | ").unwrap().1.to_owned())
        };
        assert_eq!(other(&page), other(&text("docs/platforms.md")));
    }
    // A run that recorded nothing tells nothing.
    env.write("here/runs", "");
    let run = Run::of(Command::new("python3").arg(".ci/matrix").arg("Here=here").current_dir(env.path("")));
    assert!(run.code == 1 && run.stderr.contains("Here: no test of any command"), "{}", run.stderr);
}

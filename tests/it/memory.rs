//! The memory used for foreign documents: at most their size and a bounded part more, whatever they contain. As trees of
//! values, the same bytes would take twenty to seventy times their size.

use std::env;
use std::process::Command;

use nix::sys::resource::{UsageWho, getrusage};
use serde_json::{Value, json};

use crate::agent::fake_agent;
use crate::server::{Server, not_found, ok};
use crate::support::{Env, ICON};

/// The size of the documents, in bytes.
const SIZE: usize = 6 << 20;

/// The peak memory that the program may use, in KiB. A debug build needs about 50 MiB for itself.
const BOUND: i64 = 144 << 10;

/// The peak memory with an agent that floods it, in KiB: 64 MiB besides what a debug build needs for itself.
const OF_AGENT: i64 = 120 << 10;

/// Set for the process that measures one command, since resource usage is only known for all children of a process
/// together.
const MEASURE: &str = "ACP_REGISTRY_TEST_MEASURE";

/// Runs a command in another process of this test; returns the exit code and the peak memory in KiB.
fn measured(test: &str, command: &Command) -> (i32, i64) {
    let mut arguments = vec![command.get_program().to_str().unwrap()];
    arguments.extend(command.get_args().map(|argument| argument.to_str().unwrap()));
    let mut child = Command::new(env::current_exe().unwrap());
    child.args(["--exact", test, "--nocapture"]).env_clear().env(MEASURE, json!(arguments).to_string());
    child.current_dir(command.get_current_dir().unwrap());
    for (name, value) in command.get_envs() {
        child.env(name, value.unwrap());
    }
    let output = child.output().unwrap();
    let stdout = String::from_utf8(output.stdout).unwrap();
    let line = stdout.lines().find_map(|line| Some(line.split_once("MEASURED ")?.1));
    let line = line.unwrap_or_else(|| panic!("{stdout}{}", String::from_utf8_lossy(&output.stderr)));
    let (code, peak) = line.split_once(' ').unwrap();
    (code.parse().unwrap(), peak.parse().unwrap())
}

/// In the measuring process, runs the command and returns true.
fn measures() -> bool {
    let Ok(arguments) = env::var(MEASURE) else { return false };
    let arguments: Vec<String> = serde_json::from_str(&arguments).unwrap();
    let status = Command::new(&arguments[0]).args(&arguments[1..]).env_remove(MEASURE).output().unwrap().status;
    let peak = getrusage(UsageWho::RUSAGE_CHILDREN).unwrap().max_rss();
    println!("\nMEASURED {} {peak}", status.code().unwrap_or(-1));
    true
}

fn repeated(before: &str, piece: &str, behind: &str) -> String {
    format!("{before}{}{behind}", piece.repeat(SIZE / piece.len()))
}

/// The size of documents that are only held in part, in bytes.
const LARGE: usize = 24 << 20;

/// The peak memory that no document may exceed, in KiB.
const MOST: i64 = 256 << 10;

/// A document of many parts that differ in a number.
fn numbered(before: &str, piece: &str, behind: &str) -> String {
    let mut text = before.to_owned();
    for number in 0.. {
        if text.len() > LARGE {
            break;
        }
        text.push_str(&piece.replace('#', &format!("{number:x}")));
    }
    text + behind
}

/// The file, its text, another file beside it, and the commands that read it.
type Case<'a> = (&'a str, String, Option<(&'a str, &'a str)>, &'a [&'a str]);

#[test]
fn no_file_of_a_target_or_of_the_store_takes_many_times_its_size() {
    if measures() {
        return;
    }
    let agents = numbered("{\"agents\":[", "{},", "{}]}");
    let index = ("pub/latest/registry.json", "{\"agents\":[]}");
    let publish: &[&str] = &["publish", "--to", "pub"];
    let list: &[&str] = &["list", "--installed", "--root", "root"];
    let locked: &[&str] = &["install", "--locked", "--lock", "some.lock", "--root", "root"];
    let merge: &[&str] = &["verify", "--merge", "1/4=1.json", "--out", "out.json"];
    let current = ("root/agents/a/current", r#"{"schema":1,"folder":"1.0.0","is_pinned":false}"#);
    let receipt = r#"{"schema":1,"id":"a","version":"1.0.0","source":{"npx":{"package":"p@1","env":{},"args":["#;
    let rest = r#"""]}},"proof":{"verified":"none"},"program":"p","program_size":1,"program_stamp":{"modified":1,"changed":1},"installed_at":"x","size":1,"remarks":{}}"#;
    let receipt = format!("{receipt}{}{rest}", "\"\",".repeat(5 << 20));
    let state = "{\"schema\":1,\"latest\":null,\"snapshots\":{},\"files\":{";
    let line = format!("{}  #\n", "0".repeat(64));
    let rows = "{\"schema\":1,\"agents\":[{\"extra\":[";
    let cases: Vec<Case<'_>> = vec![
        ("pub/latest/registry.json", numbered("{", "\"#\":0,", "\"agents\":[]}"), None, publish),
        ("pub/latest/registry-x.json", agents, Some(index), publish),
        ("pub/latest/SHA256SUMS", numbered("", &line, ""), None, publish),
        ("pub/.acp-registry/state.json", numbered(state, "\"#\":{},", "\"x\":{}}}"), None, publish),
        ("root/agents/a/1.0.0/receipt.json", receipt, Some(current), list),
        ("some.lock", numbered("schema = 1\nx = [", "0,", "0]\n"), None, locked),
        ("some.lock", numbered("schema = 1\n", "[agents.a#]\n", ""), None, locked),
        ("some.lock", numbered("schema = 1\n", "[[x]]\n", ""), None, locked),
        ("r/registry.toml", format!("a = [{}]", "[],".repeat(300_000)), None, &["validate"]),
        ("r/quarantine.json", format!("{{{}\"a\":\"x\"}}", "\"\":\"\",".repeat(170_000)), None, &["validate"]),
        ("1.json", format!("{rows}{}0]}}]}}", "[],".repeat(1 << 20)), None, merge),
        ("1.json", numbered(rows, "[],", "0]}]}"), None, &["verify", "--reuse", "1.json"]),
    ];
    for (file, text, other, arguments) in cases {
        let env = Env::with(&["a"]);
        assert_eq!(env.run(&["build", "--out", "dist", "--no-site"]).code, 0);
        env.write(file, &text);
        if let Some((name, text)) = other {
            env.write(name, text);
        }
        let command = env.command(arguments);
        let (code, peak) = measured("memory::no_file_of_a_target_or_of_the_store_takes_many_times_its_size", &command);
        let shown = format!("{file} ({}…)", &text[..40]);
        assert!(peak < MOST, "{shown}: {peak} KiB");
        assert!((0..=4).contains(&code), "{shown}: {code}");
    }
}

/// All agents of `verify` share one process, so that none may cost it much.
#[test]
fn no_agent_takes_much_memory_of_its_examiner() {
    if measures() {
        return;
    }
    let ways = ["constants", "lists", "objects", "few objects", "texts", "results", "small results", "updates"];
    for way in ways {
        let env = Env::empty();
        let program = fake_agent();
        let agent = [program.to_str().unwrap(), "fill", way];
        let flags = ["probe", "--level", "sessions", "--timeout", "120s", "--json", "--"];
        let command = env.command(&[&flags[..], &agent].concat());
        let (code, peak) = measured("memory::no_agent_takes_much_memory_of_its_examiner", &command);
        println!("{way}: {} MiB", peak >> 10);
        assert!(peak < OF_AGENT, "{way}: {peak} KiB");
        assert!([0, 1].contains(&code), "{way}: {code}");
    }
}

#[test]
fn lists_of_old_snapshots_are_not_in_memory_together() {
    // In bytes per snapshot.
    const LIST: usize = 1280 << 10;
    if measures() {
        return;
    }
    let line = format!("{}  {}#\n", "0".repeat(64), "x".repeat(400));
    let list: String = (0..LIST / line.len()).map(|number| line.replace('#', &number.to_string())).collect();
    let peak = |snapshots: usize| {
        let env = Env::empty();
        env.write("pub/latest/SHA256SUMS", "");
        for day in 10..10 + snapshots {
            env.write(&format!("pub/v2020-01-{day}-x/SHA256SUMS"), &list);
        }
        let command = env.command(&["publish", "prune", "--to", "pub", "--keep", "0", "--dry-run"]);
        let (code, peak) = measured("memory::lists_of_old_snapshots_are_not_in_memory_together", &command);
        assert_eq!(code, 0);
        peak
    };
    let (few, many) = (peak(1), peak(12));
    // Several snapshots are read at once.
    assert!(many - few < 5 * i64::try_from(LIST >> 10).unwrap(), "{few} KiB, {many} KiB");
}

#[test]
fn no_answer_of_a_source_takes_many_times_its_size() {
    if measures() {
        return;
    }
    let npx = json!({ "npx": { "package": "a@1.0.0" } });
    let uvx = json!({ "uvx": { "package": "a==1.0.0" } });
    let binary = json!({ "binary": { "linux-x86_64": { "archive": "{base}/o/r/releases/download/v1.0.0/a-linux-x64.zip", "cmd": "./a" } } });
    let feed = "[bump.a.stable]\nurl = '{base}/feed'\nversion = '/v'\narchive = '/{platform}'\n";
    let of_document = format!("{feed}records = '/x'\n");
    let versions = "\"versions\":{\"1.0.0\":{";
    // The case, the distribution, the response of the source, its type, and the configuration.
    let cases: Vec<(&str, &Value, String, &str, &str)> = vec![
        ("npm, commands as a list", &npx, repeated(&format!("{{{versions}\"bin\":["), "0,", "0]}}}"), "json", ""),
        (
            "npm, many commands",
            &npx,
            repeated(&format!("{{{versions}\"bin\":{{"), "\"a\":\"b\",", "\"b\":\"c\"}}}}"),
            "json",
            "",
        ),
        ("npm, many versions", &npx, repeated("{\"versions\":{", "\"\":{},", "\"1.0.0\":{}}}"), "json", ""),
        ("npm, something else", &npx, repeated("{\"x\":[", "[],", "0],\"versions\":{}}"), "json", ""),
        ("an index, many files", &uvx, repeated("{\"files\":[", "{},", "{}]}"), "json", ""),
        (
            "an index, one file",
            &uvx,
            repeated("{\"files\":[{\"filename\":\"a-1.0.0.zip\",\"hashes\":{", "\"\":0,", "\"b\":0}}]}"),
            "json",
            "",
        ),
        ("a page of an index, one tag", &uvx, repeated("<html><a ", "b c=d ", ">a-1.0.0.zip</a>"), "html", ""),
        ("a page of an index, many links", &uvx, repeated("<html>", "<a>", "</a>"), "html", ""),
        ("releases, many files", &binary, repeated("[{\"assets\":[", "{},", "{}]}]"), "json", ""),
        ("releases, many", &binary, repeated("[", "{\"assets\":[]},", "{\"assets\":[]}]"), "json", ""),
        ("a feed of lines", &binary, repeated("", "[[],{}]\n", ""), "json", feed),
        ("a feed of one line", &binary, repeated("[", "{},", "0]"), "json", feed),
        ("a feed as a document", &binary, repeated("{\"x\":[", "{},", "0]}"), "json", &of_document),
    ];
    for (name, distribution, body, form, config) in cases {
        let media_type = if form == "json" { "application/vnd.pypi.simple.v1+json" } else { "text/html" };
        let server = Server::answering(move |asked| {
            let is_it = ["/npm/a", "/simple/a/", "/api/repos/o/r/releases?", "/feed"];
            if is_it.iter().any(|path| asked.path.starts_with(path)) {
                (200, vec![("Content-Type", media_type.to_owned())], body.clone().into())
            } else {
                not_found()
            }
        });
        let env = Env::empty();
        let manifest = json!({ "id": "a", "name": "A", "version": "1.0.0", "description": "d", "license": "MIT", "distribution": distribution });
        env.write("r/a/agent.json", manifest.to_string().replace("{base}", &server.url("")));
        env.write("r/a/icon.svg", ICON);
        env.write("r/registry.toml", config.replace("{base}", &server.url("")));
        let mut command = env.command(&["--allow-host", &server.host, "bump", "--no-cache", "--json"]);
        command.env("ACP_REGISTRY_NPM", server.url("/npm")).env("ACP_REGISTRY_PYPI", server.url("/simple"));
        command.env("GITHUB_API_URL", server.url("/api"));
        let (code, peak) = measured("memory::no_answer_of_a_source_takes_many_times_its_size", &command);
        assert!(peak < BOUND, "{name}: {peak} KiB");
        assert!([0, 1, 3].contains(&code), "{name}: {code}");
        assert!(!server.asked().is_empty(), "{name}");
    }
}

#[test]
fn no_document_of_a_registry_takes_many_times_its_size() {
    if measures() {
        return;
    }
    let event = "{\"time\":\"2026-01-01T00:00:00Z\",\"event\":\"added\",\"id\":\"a\",\"version\":\"1\"},";
    let events = repeated("{\"schema\":1,\"events\":[", event, &format!("{}]}}", event.trim_end_matches(',')));
    let agents = repeated("{\"agents\":[", "{},", "{}]}");
    for (name, flag, body) in [
        ("a history", "--history", &events),
        ("a history of nothing", "--history", &repeated("{\"schema\":1,\"events\":[", "{},", "{}]}")),
        ("a history with something else", "--history", &repeated("{\"schema\":1,\"x\":[", "{},", "0],\"events\":[]}")),
        ("a snapshot", "--capabilities", &agents),
        ("a published index", "--previous", &agents),
    ] {
        let env = Env::with(&["a"]);
        env.write("old/registry.json", body);
        let place = if flag == "--previous" { "old" } else { "old/registry.json" };
        let command = env.command(&["build", "--out", "out", flag, place, "--json"]);
        let (code, peak) = measured("memory::no_document_of_a_registry_takes_many_times_its_size", &command);
        assert!(peak < BOUND, "{name}: {peak} KiB");
        assert!((0..=3).contains(&code), "{name}: {code}");
    }
    let env = Env::empty();
    env.write("old.json", &agents);
    let (_, peak) = measured(
        "memory::no_document_of_a_registry_takes_many_times_its_size",
        &env.command(&["diff", "old.json", "old.json", "--json"]),
    );
    assert!(peak < BOUND, "diff: {peak} KiB");
    let server = Server::answering(move |_| ok(agents.clone()));
    let env = Env::empty();
    let index = server.url("/registry.json");
    let root = env.path("root");
    let mut command = env.command(&["--allow-host", &server.host, "list", "--json", "--index", &index]);
    command.env("HOME", root.as_os_str());
    let (_, peak) = measured("memory::no_document_of_a_registry_takes_many_times_its_size", &command);
    assert!(peak < BOUND, "list: {peak} KiB");
}

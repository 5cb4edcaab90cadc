//! The cases. The benchmark also includes this module, and starts itself as an agent.

use std::io::{self, BufRead, Write};
use std::process::exit;
#[cfg(unix)]
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::Duration;
use std::{env, fs};

use serde_json::{Value, json};

// The path is the same where the benchmark includes this module.
#[path = "account.rs"]
mod account;
#[path = "looking.rs"]
mod looking;

/// A valid result of `initialize`.
pub(crate) fn good() -> Value {
    json!({
        "protocolVersion": 1,
        "agentCapabilities": { "loadSession": false },
        "agentInfo": { "name": "fake-agent", "version": "1.0.0" },
        "authMethods": [{ "id": "login", "name": "Log in" }],
    })
}

pub(crate) fn run(arguments: &[String]) {
    let argument = |at: usize| arguments.get(at).map_or("", String::as_str);
    let number = |at: usize| argument(at).parse().unwrap_or(0);
    match argument(0) {
        "ok" => serve(&good()),
        // The result is given as JSON.
        "result" => serve(&serde_json::from_str(argument(1)).unwrap()),
        // Writes exactly this text, in which $OK is a valid response and $LARGE is 900 kB, and waits for the end of
        // stdin.
        "reply" => {
            receive();
            write(&text(argument(1)));
            wait_for_end();
        }
        "reply-and-exit" => {
            receive();
            write(&text(argument(1)));
            exit(i32::try_from(number(2)).unwrap());
        }
        "bytewise" => {
            receive();
            for byte in text(argument(1)).bytes() {
                io::stdout().write_all(&[byte]).unwrap();
                io::stdout().flush().unwrap();
            }
            wait_for_end();
        }
        "late" => {
            receive();
            sleep(Duration::from_millis(number(1)));
            write(&text("$OK\n"));
            wait_for_end();
        }
        // Stores whether a user has signed in, in a file in its home, or reads it from a variable. Arguments: how it
        // answers `authenticate`, the result of `initialize`.
        "account" if argument(3) == "--sign-in" => account::sign_in_here(argument(4)),
        "account" => account::account(argument(1), &serde_json::from_str(argument(2)).unwrap()),
        "silent" => wait_for_end(),
        "deaf" => forever(),
        // $ESC is a character that arguments in manifests cannot contain.
        "exit" => {
            eprintln!("{}", argument(2).replace("$ESC", "\u{1b}"));
            exit(i32::try_from(number(1)).unwrap());
        }
        "exit-if-there" => exit(if fs::exists(argument(1)).unwrap() { 5 } else { 6 }),
        "crash" => std::process::abort(),
        // Only at the first start, which creates the file.
        "crash-once" | "deaf-once" if fs::File::create_new(argument(1)).is_ok() => {
            if argument(0) == "deaf-once" {
                forever();
            }
            std::process::abort()
        }
        "crash-once" | "deaf-once" => serve(&good()),
        // Does not answer `session/new` at the first start.
        "slow-once" => {
            let mut result = good();
            result["sessions"] = if fs::File::create_new(argument(1)).is_ok() { "silent" } else { "open" }.into();
            serve(&result);
        }
        "stderr" => {
            let line = format!("{}\n", "e".repeat(99));
            for _ in 0..number(1) / 100 {
                io::stderr().write_all(line.as_bytes()).unwrap();
            }
            serve(&good());
        }
        "flood" => flood(argument(1), number(2)),
        "flood-stderr" => loop {
            eprintln!("{}", "e".repeat(4000));
        },
        "ask-first" => ask_first(),
        "environment" => {
            // Before other files are opened.
            let descriptors = descriptors();
            let variables: serde_json::Map<String, Value> = env::vars_os()
                .map(|(name, value)| (name.to_string_lossy().into(), value.to_string_lossy().into()))
                .collect();
            let mut result = good();
            result["agentInfo"] = json!({
                "environment": variables,
                "directory": env::current_dir().unwrap(),
                "limits": fs::read_to_string("/proc/self/limits").unwrap_or_default(),
                "stat": fs::read_to_string("/proc/self/stat").unwrap_or_default(),
                "descriptors": descriptors,
                "status": fs::read_to_string("/proc/self/status").unwrap_or_default(),
                "oom_score_adj": fs::read_to_string("/proc/self/oom_score_adj").unwrap_or_default(),
            });
            serve(&result);
        }
        "litter" => {
            let home = env::home_dir().unwrap();
            fs::create_dir_all(home.join("a/b")).unwrap();
            fs::write(home.join("a/b/c"), vec![0; 100_000]).unwrap();
            #[cfg(unix)]
            fs::set_permissions(home.join("a/b"), std::os::unix::fs::PermissionsExt::from_mode(0o000)).unwrap();
            serve(&good());
        }
        "look" => looking::look(argument(1)),
        #[cfg(unix)]
        other => family::run(other, arguments),
        #[cfg(not(unix))]
        other => panic!("no such case: {other}"),
    }
}

/// The file descriptors that this process has inherited.
fn descriptors() -> Vec<String> {
    let items = fs::read_dir("/proc/self/fd").into_iter().flatten().flatten();
    // Except for the directory that is being read.
    let is_other = |path: &std::path::Path| !fs::read_link(path).is_ok_and(|to| to.starts_with("/proc"));
    items.filter(|item| is_other(&item.path())).map(|item| item.file_name().to_string_lossy().into()).collect()
}

fn text(template: &str) -> String {
    // Longer than the arguments of a program may be.
    let template = template.replace("$LARGE", &"y".repeat(900_000));
    template.replace("$OK", &json!({ "jsonrpc": "2.0", "id": 1, "result": good() }).to_string())
}

/// Reads one message.
fn receive() -> Option<Value> {
    let mut line = String::new();
    io::stdin().lock().read_line(&mut line).unwrap();
    serde_json::from_str(&line).ok()
}

fn write(text: &str) {
    io::stdout().write_all(text.as_bytes()).unwrap();
    io::stdout().flush().unwrap();
}

fn send(message: &Value) {
    write(&format!("{message}\n"));
}

fn wait_for_end() {
    io::copy(&mut io::stdin(), &mut io::sink()).unwrap();
}

pub(crate) fn forever() -> ! {
    loop {
        sleep(Duration::from_mins(10));
    }
}

/// Answers `initialize` with this result, and other requests like typical agents.
pub(crate) fn serve(result: &Value) {
    while let Some(message) = receive() {
        let Some(id) = message.get("id") else { continue };
        let answer = match message["method"].as_str().unwrap() {
            "initialize" => json!({ "result": result }),
            "session/new" if result["sessions"] == "open" => {
                let modes = json!({ "currentModeId": "ask", "availableModes": [{ "id": "ask", "name": "Ask" }] });
                let options = json!([{ "id": "o", "type": "boolean" }]);
                json!({ "result": { "sessionId": "s", "modes": modes, "configOptions": options } })
            }
            "session/new" if result["sessions"] == "setup" => {
                let details = "The program pi was not found.\n\u{1b}[1mInstall it via `npm install -g pi`\u{1b}[0m";
                json!({ "error": { "code": -32603, "message": "Internal error", "data": { "details": details } } })
            }
            "session/new" if result["sessions"] == "exit" => exit(7),
            "session/new" if result["sessions"] == "silent" => continue,
            "session/new" | "nes/start" => json!({ "error": { "code": -32000, "message": "Authentication required" } }),
            "providers/list" => continue,
            "session/delete" => json!({ "error": { "code": -32602, "message": "Invalid params" } }),
            "session/load" => json!({ "error": { "code": -32002, "message": "Resource not found" } }),
            _ => json!({ "error": { "code": -32601, "message": "Method not found" } }),
        };
        let mut answer = answer;
        answer["jsonrpc"] = "2.0".into();
        answer["id"] = id.clone();
        send(&answer);
    }
}

/// Writes a text this many times, or without end if the number is 0.
fn flood(text: &str, times: u64) {
    let text = text.replace("\\n", "\n");
    let piece = text.repeat(1 + 65_536 / text.len());
    let mut left = times;
    loop {
        if io::stdout().write_all(piece.as_bytes()).is_err() {
            exit(1);
        }
        left = left.wrapping_sub(1);
        if left == 0 {
            return;
        }
    }
}

/// Requests a file and a permission, and answers only after both were refused.
fn ask_first() {
    receive();
    send(&json!({ "jsonrpc": "2.0", "id": "r1", "method": "fs/read_text_file", "params": {} }));
    send(&json!({ "jsonrpc": "2.0", "id": 0, "method": "session/request_permission", "params": {} }));
    send(&json!({ "jsonrpc": "2.0", "method": "_note", "params": {} }));
    for id in [json!("r1"), json!(0)] {
        let answer = receive().unwrap();
        if answer["id"] != id || !answer["error"]["code"].is_i64() || answer["jsonrpc"] != "2.0" {
            exit(9);
        }
    }
    write(&text("$OK\n"));
    wait_for_end();
}

/// Starts this program with another case, sharing stdout and stderr.
#[cfg(unix)]
fn start(arguments: &[&str]) -> Command {
    let mut command = Command::new(env::current_exe().unwrap());
    command.args(arguments).stdin(Stdio::null());
    command
}

#[cfg(unix)]
fn words(arguments: &[String]) -> Vec<&str> {
    arguments.iter().map(String::as_str).collect()
}

/// Cases with further processes.
#[cfg(unix)]
mod family {
    use nix::sys::signal::{SigSet, Signal, kill};
    use nix::unistd::{Pid, dup2_stdout, getsid, setsid};
    use rustix::process::getuid;
    use serde_json::{Value, json};

    use super::{Command, Duration, Stdio, env, forever, fs, good, serve, sleep, start, words};

    /// The first user id without an account. With lower ids, an attack would reach real processes.
    const FIRST: u32 = 61_184;

    /// Attacks the host, and reports what succeeded. `secret` is searched for in the environments of other processes.
    fn attack(secret: &str) -> Value {
        let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
        let line = |name: &str| status.lines().find_map(|line| line.strip_prefix(name)).unwrap_or_default().trim();
        let me = std::process::id();
        let items = fs::read_dir("/proc").into_iter().flatten().flatten();
        let others: Vec<u32> = items.filter_map(|item| item.file_name().to_str()?.parse().ok()).collect();
        let others = others.into_iter().filter(|pid| *pid != me);
        let knows = |pid: &u32| {
            let found = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
            found.windows(secret.len()).any(|part| part == secret.as_bytes())
        };
        let learned: Vec<u32> = others.clone().filter(knows).collect();
        // Only as a user who owns nothing else.
        let is_nobody = getuid().as_raw() >= FIRST;
        let end = |pid: &u32| kill(Pid::from_raw(i32::try_from(*pid).unwrap()), Signal::SIGKILL).is_ok();
        let killed: Vec<u32> = if is_nobody { others.clone().filter(end).collect() } else { Vec::new() };
        let device = env::temp_dir().join("device");
        let works = |command: &mut Command| command.output().is_ok_and(|output| output.status.success());
        json!({
            "user": getuid().as_raw(), "seen": others.count(), "learned": learned, "killed": killed,
            "capabilities": line("CapEff:"), "groups": line("Groups:"),
            "remounts": is_nobody && works(Command::new("mount").args(["-o", "remount,rw", "/usr"])),
            "makes_devices": works(Command::new("mknod").arg(device).args(["c", "1", "3"])),
            "reads_shadow": fs::read("/etc/shadow").is_ok(),
            "network": fs::read_to_string("/proc/self/net/dev").unwrap_or_default().lines().count().saturating_sub(2),
        })
    }

    #[expect(clippy::zombie_processes, reason = "nobody is waited for: that is the point")]
    pub(super) fn run(case: &str, arguments: &[String]) {
        let argument = |at: usize| arguments.get(at).map_or("", String::as_str);
        match case {
            "attack" => {
                let mut result = good();
                result["agentInfo"] = attack(argument(1));
                serve(&result);
            }
            // For grandchildren.
            "sleep" => forever(),
            "setsid" => {
                let _ = setsid();
                forever();
            }
            // An orphan outside the session, without the environment.
            "hide" => {
                let _ = setsid();
                start(&["sleep", argument(1)]).env_clear().spawn().unwrap();
            }
            // Continually replaces itself with a new process.
            "hop" => {
                let _ = setsid();
                start(&["hop"]).spawn().unwrap();
            }

            // Leaves a process in its own session, as browsers do. Before, it would end with this one's group.
            "leave" => {
                let child = start(&["setsid"]).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
                let child = Pid::from_raw(child.id().cast_signed());
                while getsid(Some(child)) != Ok(child) {
                    sleep(Duration::from_millis(1));
                }
            }

            // Starts another process, then answers.
            "parent" => {
                start(&words(&arguments[1..])).spawn().unwrap();
                serve(&good());
            }
            // Answers after the other process has ended.
            "parent-of-dead" => {
                start(&words(&arguments[1..])).status().unwrap();
                serve(&good());
            }
            // Exits immediately, while the other process keeps the pipes open.
            "orphan" => {
                start(&words(&arguments[1..])).spawn().unwrap();
            }
            // Leaves the other processes running when its stdin closes.
            "crowd" => {
                for number in 0..argument(1).parse().unwrap() {
                    start(&[if number % 2 == 0 { "sleep" } else { "setsid" }]).spawn().unwrap();
                }
                serve(&good());
            }
            "ignores-term" => {
                ignore_term();
                forever();
            }
            "closes-stdout" => {
                dup2_stdout(fs::File::open("/dev/null").unwrap()).unwrap();
                forever();
            }
            other => panic!("no such case: {other}"),
        }
    }

    /// A blocked signal needs no handler, and stays blocked in child processes.
    fn ignore_term() {
        SigSet::from(Signal::SIGTERM).thread_block().unwrap();
    }
}

//! A user's account at the fake agent: signing in and out.

use std::io::{self, BufRead as _};
use std::process::exit;
use std::{env, fs};

use serde_json::{Value, json};

use super::{receive, send, write};

/// The file that exists if the user has signed in.
fn token() -> std::path::PathBuf {
    env::home_dir().unwrap().join(".fake-agent")
}

/// Lets users sign in and out.
pub(super) fn account(how: &str, result: &Value) {
    let is_v2 = result["protocolVersion"] == 2;
    while let Some(message) = receive() {
        let Some(id) = message.get("id") else { continue };
        let ok = || json!({ "result": {} });
        let error = |code: i64, text: &str| json!({ "error": { "code": code, "message": text } });
        let method = message["method"].as_str().unwrap();
        let mut answer = match (method, how) {
            ("initialize", _) => json!({ "result": result }),
            ("session/new", "no-session") => error(-32603, "\u{1b}[31mno network"),
            ("session/new", _) if fs::exists(token()).unwrap() || env::var_os("FAKE_AGENT_KEY").is_some() => {
                json!({ "result": { "sessionId": "s" } })
            }
            ("session/new", "fragile") => exit(7),
            ("session/new", _) => error(-32000, "Authentication required"),
            (method, "missing") if method.starts_with("auth") => error(-32601, "Method not found"),
            ("authenticate" | "logout", _) if is_v2 => error(-32601, "Method not found"),
            ("auth/login" | "authenticate", how) => {
                eprintln!("open https://h.example/device\u{1b}[31m");
                match how {
                    "refuse" => error(-32603, "\u{1b}[31mno such person"),
                    "silent" => continue,
                    "exit" => exit(7),
                    "ask" => {
                        write("Visit https://h.example/code\u{1b}[31m\n");
                        eprint!("code? ");
                        let mut line = String::new();
                        io::stdin().lock().read_line(&mut line).unwrap();
                        if line != "open sesame\n" {
                            exit(7);
                        }
                        fs::write(token(), "").unwrap();
                        ok()
                    }
                    _ => {
                        assert_eq!(message["params"]["methodId"], "login");
                        #[cfg(unix)]
                        if how == "browser" {
                            super::family::run("leave", &[]);
                        }
                        fs::write(token(), "").unwrap();
                        ok()
                    }
                }
            }
            ("auth/logout" | "logout", "refuse") => error(-32603, "not now"),
            ("auth/logout" | "logout", _) => {
                let _ = fs::remove_file(token());
                ok()
            }
            _ => error(-32601, "Method not found"),
        };
        answer["jsonrpc"] = "2.0".into();
        answer["id"] = id.clone();
        send(&answer);
    }
}

/// Signs in a user who types the right word.
pub(super) fn sign_in_here(how: &str) {
    write(&format!(
        "{} EXAMPLE={}\nword? ",
        env::args().skip(4).collect::<Vec<_>>().join(" "),
        env::var("EXAMPLE").unwrap()
    ));
    let mut line = String::new();
    io::stdin().lock().read_line(&mut line).unwrap();
    if how == "raw" {
        let _ = std::process::Command::new("stty").args(["raw", "-echo"]).status();
        exit(3);
    }
    if how == "fail" || line.trim() != "please" {
        exit(3);
    }
    if how == "interrupt" {
        exit(130);
    }
    if how != "nothing" {
        fs::write(token(), "").unwrap();
    }
}

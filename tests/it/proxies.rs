//! Requests through the proxies of the environment.
#![cfg(unix)]

use std::process::Command;

use crate::people::People;
use crate::server::{Server, not_found};
use crate::support::Run;

fn through(people: &People, variable: &str, proxy: &str, index: &str) -> Run {
    let mut command: Command = people.command(&["list", "--index", index]);
    command.env(variable, proxy);
    Run::of(&mut command)
}

#[test]
fn what_can_only_be_private_is_not_sent_to_a_proxy() {
    let people = People::new();
    let proxy = Server::answering(|_| not_found());
    for host in [
        "localhost", "localhost.", "a.localhost", "metadata.google.internal", "metadata.google.internal.", "printer",
        "nas.local", "x.home.arpa", "127.0.0.1", "169.254.169.254", "10.1.2.3", "[::1]", "[fe80::1]", "2130706433",
    ] {
        for variable in ["HTTPS_PROXY", "ALL_PROXY"] {
            let run = through(&people, variable, &proxy.url("/"), &format!("https://{host}/registry.json"));
            assert_eq!(run.code, 3, "{host}: {}", run.stderr);
            assert!(run.stderr.contains("is refused") && run.stderr.contains("--allow-host"), "{host}: {}", run.stderr);
        }
    }
    assert_eq!(proxy.asked(), [] as [&str; 0]);
    // The proxy is used, though.
    assert_eq!(through(&people, "HTTPS_PROXY", &proxy.url("/"), "https://h.example/registry.json").code, 3);
    assert_ne!(proxy.asked(), [] as [&str; 0]);
}

#[test]
fn a_proxy_that_cannot_be_used_is_named() {
    let people = People::new();
    let index = "https://h.example/registry.json";
    for (variable, value) in [
        ("HTTPS_PROXY", "nonsense"),
        ("https_proxy", "socks5://127.0.0.1:1"),
        ("ALL_PROXY", "ftp://user:secret@h.example"),
    ] {
        let run = through(&people, variable, value, index);
        assert_eq!(run.code, 3, "{}", run.stderr);
        let named = format!("the environment variable {variable} is not the address of an HTTP proxy");
        assert!(run.stderr.contains(&named) && !run.stderr.contains("secret"), "{}", run.stderr);
    }
    let run = through(&people, "HTTPS_PROXY", "http://user:secret@127.0.0.1:1", index);
    assert_eq!(run.code, 3, "{}", run.stderr);
    assert!(run.stderr.contains("cannot be reached through the proxy http://127.0.0.1:1: "), "{}", run.stderr);
    assert!(!run.stderr.contains("secret"), "{}", run.stderr);
}

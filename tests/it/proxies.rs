//! Requests through proxies from the environment.

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
        (if cfg!(windows) { "HTTPS_PROXY" } else { "https_proxy" }, "socks5://127.0.0.1:1"),
        ("ALL_PROXY", "ftp://user:secret@h.example"),
    ] {
        let run = through(&people, variable, value, index);
        assert_eq!(run.code, 3, "{}", run.stderr);
        let shown = value.replace("user:secret", "…");
        let named =
            format!("the environment variable {variable} is `{shown}`, which is not the address of an HTTP proxy");
        assert!(run.stderr.starts_with(&format!("error: {named}")), "{}", run.stderr);
        assert!(run.stderr.ends_with("\nhelp: correct or unset it\n"), "{}", run.stderr);
        assert!(run.stderr.contains(&named) && !run.stderr.contains("secret"), "{}", run.stderr);
        let run = Run::of(people.command(&["doctor"]).env(variable, value));
        assert_eq!(run.code, 1, "{}", run.stdout);
        let told = run.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(told.contains(&named) && told.contains("help: correct or unset it"), "{told}");
        assert!(!told.contains("secret"), "{told}");
    }
    people.publish(&[people.agent("a", "1.0.0")]);
    let run = Run::of(people.command(&["doctor"]).env("HTTPS_PROXY", "http://user:secret@127.0.0.1:1"));
    assert!(run.code == 0 && run.stdout.contains("HTTPS_PROXY names a proxy on 127.0.0.1\n"), "{}", run.stdout);
    let run = through(&people, "HTTPS_PROXY", "http://user:secret@127.0.0.1:1", index);
    assert_eq!(run.code, 3, "{}", run.stderr);
    assert!(
        run.stderr.contains("cannot be reached through the proxy http://127.0.0.1:1 (HTTPS_PROXY): "),
        "{}",
        run.stderr
    );
    assert!(!run.stderr.contains("secret"), "{}", run.stderr);
    assert!(run.stderr.contains("\nhelp: check that proxy, or correct or unset the variable"), "{}", run.stderr);
}

#[test]
fn what_a_proxy_answers_is_not_said_of_the_host() {
    let people = People::new();
    for (status, expected) in [
        (403, "it refuses to connect to that host"),
        (407, "it wants a name and a password (407)"),
        (502, "it refuses to connect to that host"),
    ] {
        let proxy = Server::answering(move |_| crate::server::status(status));
        let run = through(&people, "HTTPS_PROXY", &proxy.url("/"), "https://h.example/registry.json");
        let told = format!(
            "cannot be reached through the proxy {} (HTTPS_PROXY): {expected}\n",
            proxy.url("").trim_end_matches('/')
        );
        assert!(run.code == 3 && run.stderr.contains(&told), "{status}: {}", run.stderr);
    }
    // With plain http, the proxy's response cannot be told from the host's.
    let proxy = Server::answering(|_| crate::server::status(407));
    let mut command = people.command(&["list", "--index", "http://h.example/r.json", "--allow-host", "h.example"]);
    let run = Run::of(command.env("http_proxy", proxy.url("/")));
    assert!(
        run.code == 3 && run.stderr.contains("through the proxy") && run.stderr.contains("(407)"),
        "{}",
        run.stderr
    );
}

#[test]
fn hosts_in_no_proxy_are_asked_directly() {
    let people = People::new();
    people.publish(&[people.agent("a", "1.0.0")]);
    let proxy = Server::answering(|_| not_found());
    let list = |excluded: &str| {
        let mut command = people.command(&["list", "--refresh"]);
        let run = Run::of(command.env("http_proxy", proxy.url("/")).env("NO_PROXY", excluded));
        (run.code, proxy.asked().len())
    };
    assert_eq!(list("other.example"), (3, 1));
    assert_eq!(list("other.example,127.0.0.1"), (0, 1));
    assert_eq!(list("127.0.0.0/8"), (0, 1));
}

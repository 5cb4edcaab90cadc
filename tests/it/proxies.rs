//! Requests through proxies from the environment.

use std::io::{self, Read as _, Write as _};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::process::Command;
use std::sync::{Arc, Mutex};
use std::thread;

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
        (if cfg!(windows) { "HTTPS_PROXY" } else { "https_proxy" }, "socks6://127.0.0.1:1"),
        ("ALL_PROXY", "ftp://user:secret@h.example"),
    ] {
        let run = through(&people, variable, value, index);
        assert_eq!(run.code, 3, "{}", run.stderr);
        let shown = value.replace("user:secret", "…");
        let named = format!("the environment variable {variable} is `{shown}`, which is not the address of a proxy");
        assert!(run.stderr.contains(&format!(": {named}")), "{}", run.stderr);
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
    assert_eq!(list("127.0.0.1:1"), (3, 2));
    assert_eq!(list("other.example,127.0.0.1"), (0, 2));
    let own = people.server.host.clone();
    for excluded in ["127.0.0.0/8", "*", "other.example 127.0.0.1", &own, "127.0.0.1\r\n"] {
        assert_eq!(list(excluded), (0, 2), "{excluded:?}");
    }
}

fn listed(people: &People, set: &[(&str, &str)]) -> Run {
    let mut command = people.command(&["list", "--refresh"]);
    Run::of(command.envs(set.iter().copied()))
}

#[test]
fn a_variable_that_does_not_apply_stops_nothing() {
    let people = People::new();
    people.publish(&[]);
    let proxy = Server::answering(|_| crate::server::ok(r#"{ "version": "1.0.0", "agents": [] }"#));
    let good = proxy.url("/");
    for (set, asks_proxy) in [
        (&[("ALL_PROXY", "nonsense"), ("HTTP_PROXY", &good)][..], true),
        (&[("HTTPS_PROXY", "nonsense"), ("http_proxy", &good)], true),
        (&[("HTTP_PROXY", &format!("{good}\r\n"))], true),
        (&[("HTTP_PROXY", " "), ("ALL_PROXY", &format!(" {good} "))], true),
        (&[("HTTPS_PROXY", "nonsense")], false),
        (&[("ALL_PROXY", "nonsense"), ("NO_PROXY", "127.0.0.1")], false),
    ] {
        let before = (proxy.asked().len(), people.server.asked().len());
        let run = listed(&people, set);
        assert_eq!(run.code, 0, "{set:?}: {}", run.stderr);
        let asked = (proxy.asked().len() - before.0, people.server.asked().len() - before.1);
        assert_eq!(asked, if asks_proxy { (1, 0) } else { (0, 1) }, "{set:?}");
    }
    let run = Run::of(people.command(&["list", "--offline"]).env("ALL_PROXY", "nonsense"));
    assert_eq!(run.code, 0, "{}", run.stderr);
    // It is not reported either.
    let run = Run::of(people.command(&["doctor"]).envs([
        ("ALL_PROXY", "nonsense"),
        ("HTTPS_PROXY", &good),
        ("HTTP_PROXY", &good),
    ]));
    assert_eq!(run.code, 0, "{}", run.stdout);
    assert!(!run.stdout.contains("ALL_PROXY"), "{}", run.stdout);
}

/// A SOCKS proxy that connects all clients to one host, and records the version and the address that each asked for.
fn socks(host: &str) -> (String, Arc<Mutex<Vec<String>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let place = listener.local_addr().unwrap().to_string();
    let (asked, host) = (Arc::new(Mutex::new(Vec::new())), host.to_owned());
    let log = asked.clone();
    // Ends with the test.
    thread::spawn(move || {
        for client in listener.incoming().flatten() {
            let (log, host) = (log.clone(), host.clone());
            thread::spawn(move || relay(client, &host, &log));
        }
    });
    (place, asked)
}

fn take(mut stream: &TcpStream, count: usize) -> io::Result<Vec<u8>> {
    let mut bytes = vec![0; count];
    stream.read_exact(&mut bytes).map(|()| bytes)
}

fn relay(mut client: TcpStream, host: &str, log: &Mutex<Vec<String>>) -> io::Result<()> {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let ip = |bytes: &[u8]| bytes.iter().map(ToString::to_string).collect::<Vec<_>>().join(".");
    let asked = if take(&client, 1)? == [4] {
        let head = take(&client, 7)?;
        let word = || {
            let mut word = Vec::new();
            loop {
                match take(&client, 1)?[0] {
                    0 => return Ok::<_, io::Error>(text(&word)),
                    byte => word.push(byte),
                }
            }
        };
        word()?;
        let asked = if head[3..6] == [0; 3] { format!("4a {}", word()?) } else { format!("4 {}", ip(&head[3..])) };
        client.write_all(&[0, 90, 0, 0, 0, 0, 0, 0])?;
        asked
    } else {
        let count = take(&client, 1)?[0];
        let wants_password = take(&client, count.into())?.contains(&2);
        client.write_all(&[5, if wants_password { 2 } else { 0 }])?;
        let mut who = String::new();
        if wants_password {
            let length = take(&client, 2)?[1];
            let name = take(&client, length.into())?;
            let length = take(&client, 1)?[0];
            who = format!(" as {}:{}", text(&name), text(&take(&client, length.into())?));
            client.write_all(&[1, 0])?;
        }
        let asked = if take(&client, 4)?[3] == 1 {
            ip(&take(&client, 4)?)
        } else {
            let length = take(&client, 1)?[0];
            text(&take(&client, length.into())?)
        };
        take(&client, 2)?;
        client.write_all(&[5, 0, 0, 1, 0, 0, 0, 0, 0, 0])?;
        format!("5 {asked}{who}")
    };
    log.lock().unwrap().push(asked);
    let mut server = TcpStream::connect(host)?;
    let (mut from, mut to) = (client.try_clone()?, server.try_clone()?);
    let up = thread::spawn(move || {
        let _ = io::copy(&mut from, &mut to);
        to.shutdown(Shutdown::Write)
    });
    io::copy(&mut server, &mut client)?;
    client.shutdown(Shutdown::Both)?;
    let _ = up.join();
    Ok(())
}

#[test]
fn every_version_of_socks_is_spoken() {
    let people = People::new();
    people.publish(&[]);
    let (place, asked) = socks(&people.server.host);
    let port = people.server.host.rsplit_once(':').unwrap().1;
    for (scheme, user, expected) in [
        ("socks4", "", "4 127.0.0.1"),
        ("socks", "", "4 127.0.0.1"),
        ("socks4a", "", "4a localhost"),
        ("socks5", "", "5 127.0.0.1"),
        ("socks5h", "", "5 localhost"),
        ("SOCKS5H", "", "5 localhost"),
        ("socks5h", "me:secr%40t@", "5 localhost as me:secr@t"),
    ] {
        let proxy = format!("{scheme}://{user}{place}");
        let index = format!("http://localhost:{port}/registry.json");
        let mut command = people.command(&["list", "--refresh", "--index", &index, "--allow-host", "localhost"]);
        let run = Run::of(command.env("ALL_PROXY", &proxy));
        assert_eq!(run.code, 0, "{proxy}: {}", run.stderr);
        // Of the addresses of this name, the first counts, which may be that of IPv6.
        let asked = std::mem::take(&mut *asked.lock().unwrap());
        let is_expected = |asked: &String| asked == expected || (scheme == "socks5" && asked.starts_with("5 "));
        assert!(asked.len() == 1 && asked.iter().all(is_expected), "{proxy}: {asked:?}");
    }
    // Private addresses are refused where this program resolves the name; other proxies get no private names.
    for scheme in ["socks4", "socks5", "socks4a", "socks5h"] {
        let run = through(&people, "ALL_PROXY", &format!("{scheme}://{place}"), "https://localhost/registry.json");
        assert!(run.code == 3 && run.stderr.contains("is refused"), "{scheme}: {}", run.stderr);
    }
    assert_eq!(*asked.lock().unwrap(), [] as [&str; 0]);
    let run = through(&people, "ALL_PROXY", "socks5h://me:secret@127.0.0.1:1", "https://h.example/registry.json");
    let told = "cannot be reached through the proxy socks5h://127.0.0.1:1 (ALL_PROXY): ";
    assert!(run.code == 3 && run.stderr.contains(told) && !run.stderr.contains("secret"), "{}", run.stderr);
}

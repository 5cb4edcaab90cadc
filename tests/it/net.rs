//! The HTTP client with servers that misbehave like real ones.

use std::io;
use std::net::TcpListener;
use std::time::Duration;

use acp_registry::http::{
    AllowedHosts, Cache, Client, Credentials, Downloaded, FetchError, FetchedDocument, HostLimits, Problem, Secret,
    Settings, Sink,
};
use url::Url;

use crate::server::{Answer, Asked, Server, ok, redirect, serve_tls, status, write};

/// Settings with short waits, and limits that a busy machine keeps.
pub(crate) fn settings(servers: &[&Server]) -> Settings {
    Settings {
        allowed: AllowedHosts::parse(servers.iter().map(|server| &server.host)).unwrap(),
        host_limits: HostLimits { patience: Duration::from_secs(2), ..HostLimits::default() },
        backoff: Duration::from_millis(10),
        ..Settings::default()
    }
}

pub(crate) fn client(servers: &[&Server]) -> Client {
    Client::new(settings(servers))
}

pub(crate) fn run<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(future)
}

pub(crate) fn url(text: &str) -> Url {
    Url::parse(text).unwrap()
}

pub(crate) fn get(client: &Client, address: &str) -> Result<Option<Vec<u8>>, FetchError> {
    run(client.get(&url(address), 1000))
}

fn problem_of(answer: impl Fn(&Asked) -> Answer + Send + Sync + 'static) -> Problem {
    let server = Server::answering(answer);
    get(&client(&[&server]), &server.url("/")).unwrap_err().problem
}

/// A sink in memory.
#[derive(Default)]
pub(crate) struct Memory {
    pub(crate) announced: Option<u64>,
    pub(crate) bytes: Vec<u8>,
}

impl Sink for Memory {
    fn begin(&mut self, length: Option<u64>) {
        self.announced = length;
    }

    fn take(&mut self, piece: &[u8]) -> io::Result<()> {
        self.bytes.extend_from_slice(piece);
        Ok(())
    }
}

pub(crate) fn download(server: &Server, limit: u64) -> (Result<Downloaded, FetchError>, Memory) {
    let mut memory = Memory::default();
    let result = run(client(&[server]).download(&url(&server.url("/")), limit, &mut memory));
    (result, memory)
}

#[test]
fn statuses_are_told_apart() {
    let server = Server::answering(|asked| match asked.path.as_str() {
        "/200" => ok("body"),
        path => status(path[1..].parse().unwrap()),
    });
    let client = client(&[&server]);
    assert_eq!(get(&client, &server.url("/200")).unwrap().unwrap(), b"body");
    for gone in ["/404", "/410"] {
        assert_eq!(get(&client, &server.url(gone)), Ok(None));
    }
    for (path, expected) in [("/401", 401), ("/403", 403), ("/418", 418), ("/500", 500), ("/503", 503), ("/204", 204)] {
        let error = get(&client, &server.url(path)).unwrap_err();
        assert_eq!(error.problem, Problem::Status(expected));
        assert_eq!(error.problem.may_pass(), expected >= 500);
    }
    // Only temporary errors are retried.
    let count = |path: &str| server.asked().iter().filter(|asked| *asked == path).count();
    assert_eq!((count("/403"), count("/500"), count("/503")), (1, 3, 3));
}

#[test]
fn a_server_that_recovers_is_asked_again() {
    let server = Server::answering(|asked| if asked.before < 2 { status(502) } else { ok("at last") });
    assert_eq!(get(&client(&[&server]), &server.url("/")).unwrap().unwrap(), b"at last");
}

#[test]
fn retry_after_is_obeyed_up_to_a_limit() {
    let limited = |seconds: &str| (429, vec![("Retry-After", seconds.to_owned())], Vec::new());
    let server = Server::answering(move |asked| if asked.before == 0 { limited("1") } else { ok("later") });
    let before = std::time::Instant::now();
    assert_eq!(get(&client(&[&server]), &server.url("/")).unwrap().unwrap(), b"later");
    assert!(before.elapsed() >= Duration::from_secs(1));

    let server = Server::answering(move |_| limited("3600"));
    let client = client(&[&server]);
    for path in ["/a", "/b", "/c", "/d"] {
        let error = get(&client, &server.url(path)).unwrap_err();
        assert!(matches!(error.problem, Problem::RateLimited { wait } if wait.as_secs() > 3000), "{error}");
    }
    // After several refused connections, the next URL is not requested any more.
    assert_eq!(server.asked(), ["/a", "/b", "/c"]);
}

#[test]
fn one_refused_request_does_not_fail_the_others() {
    let server = Server::answering(|asked| match asked.path.as_str() {
        "/refused" => (429, vec![("Retry-After", "3600".to_owned())], Vec::new()),
        _ => ok("x"),
    });
    let client = client(&[&server]);
    for _ in 0..5 {
        let error = get(&client, &server.url("/refused")).unwrap_err();
        assert!(matches!(error.problem, Problem::RateLimited { .. }), "{error}");
        assert_eq!(get(&client, &server.url("/other")).unwrap().unwrap(), b"x");
    }
}

#[test]
fn an_exhausted_rate_limit_is_no_refusal() {
    let problem = problem_of(|_| {
        let headers = vec![("x-ratelimit-remaining", "0".to_owned()), ("x-ratelimit-reset", "99999999999".to_owned())];
        (403, headers, Vec::new())
    });
    assert!(matches!(problem, Problem::RateLimited { .. }) && problem.may_pass());
}

#[test]
fn redirects_are_followed_to_their_end() {
    let server = Server::answering(|asked| match asked.path[1..].parse::<usize>() {
        Ok(0) => ok("end"),
        Ok(left) => {
            let (_, headers, body) = redirect(format!("/{}", left - 1));
            // All statuses for redirects.
            ([301, 302, 303, 307, 308][left % 5], headers, body)
        }
        Err(_) => redirect("/loop"),
    });
    let client = client(&[&server]);
    assert_eq!(get(&client, &server.url("/10")).unwrap().unwrap(), b"end");
    for path in ["/11", "/loop"] {
        assert_eq!(get(&client, &server.url(path)).unwrap_err().problem, Problem::TooManyRedirects(10));
    }
    let answer = run(client.probe(&url(&server.url("/2")))).unwrap();
    assert_eq!(answer.hops, [server.url("/2"), server.url("/1")]);
    assert_eq!(problem_of(|_| status(302)), Problem::BadRedirect(302));
    assert_eq!(problem_of(|_| redirect("http://[")), Problem::BadRedirect(302));
}

#[test]
fn redirects_to_plain_http_and_to_private_addresses_are_refused() {
    for target in
        ["http://example.com/", "https://10.0.0.1/", "https://localhost/", "file:///etc/passwd", "https://[::1]/"]
    {
        let server = Server::answering(move |_| redirect(target));
        let error = get(&client(&[&server]), &server.url("/")).unwrap_err();
        assert!(matches!(error.problem, Problem::Refused(_)), "{target}: {error}");
        assert_eq!(error.hops, [server.url("/")]);
    }
}

#[test]
fn a_token_is_sent_to_its_host_and_not_behind_a_redirect() {
    let target = Server::answering(|_| ok("x"));
    let elsewhere = target.url("/stolen");
    let server = Server::answering(move |asked| match asked.path.as_str() {
        "/elsewhere" => redirect(elsewhere.clone()),
        "/self" => redirect("/x"),
        _ => ok("x"),
    });
    let mut settings = settings(&[&server, &target]);
    settings.credentials.add(&url(&server.url("/")), &Secret::Bearer("secret".into()));
    let client = Client::new(settings);
    for path in ["/elsewhere", "/self", "/direct"] {
        run(client.document(&url(&server.url(path)), "*/*", 100)).unwrap();
    }
    // URLs from manifests get no credentials, even below the URL of a source.
    get(&client, &server.url("/manifest")).unwrap();
    run(client.probe(&url(&server.url("/probe")))).unwrap();
    run(client.download(&url(&server.url("/download")), 100, &mut Memory::default())).unwrap();
    // User info in a URL is not sent.
    get(&client, &format!("http://user:password@{}/user", target.host)).unwrap();
    let sent = |server: &Server| -> Vec<(String, String)> {
        server.requests().iter().map(|asked| (asked.path.clone(), asked.header("authorization").to_owned())).collect()
    };
    let bearer = |path: &str| (path.to_owned(), "Bearer secret".to_owned());
    let none = |path: &str| (path.to_owned(), String::new());
    let expected = [
        bearer("/elsewhere"),
        bearer("/self"),
        none("/x"),
        bearer("/direct"),
        none("/manifest"),
        none("/probe"),
        none("/download"),
    ];
    assert_eq!(sent(&server), expected);
    assert_eq!(sent(&target), [none("/stolen"), none("/user")]);
}

#[test]
fn a_configured_source_is_open_to_questions_but_not_to_manifests() {
    let server = Server::answering(|_| ok("x"));
    let sources = AllowedHosts::parse([&server.host]).unwrap();
    let client = Client::new(Settings { sources, ..settings(&[]) });
    let address = url(&server.url("/"));
    assert!(run(client.document(&address, "*/*", 100)).is_ok());
    assert!(!client.may_ask(&address));
    assert!(matches!(run(client.probe(&address)).unwrap_err().problem, Problem::Refused(_)));
    assert_eq!(server.asked().len(), 1);
}

#[test]
fn head_is_followed_by_a_get_of_one_byte_where_it_is_refused() {
    for refusal in [400, 401, 403, 404, 405, 410, 501] {
        for success in [200, 206, 416] {
            let server = Server::answering(move |asked| status(if asked.method == "HEAD" { refusal } else { success }));
            assert!(run(client(&[&server]).probe(&url(&server.url("/")))).is_ok(), "{refusal} {success}");
            let requests = server.requests();
            assert_eq!(requests.len(), 2);
            assert_eq!((requests[1].method.as_str(), requests[1].header("range")), ("GET", "bytes=0-0"));
        }
    }
    let server = Server::answering(|_| status(410));
    let error = run(client(&[&server]).probe(&url(&server.url("/")))).unwrap_err();
    assert_eq!(error.problem, Problem::Status(410));
}

#[test]
fn tls_that_proves_nothing_is_told_from_a_host_that_is_down() {
    // A server without TLS.
    let plain = Server::answering(|_| ok("x"));
    let error = get(&client(&[&plain]), &format!("https://{}/", plain.host)).unwrap_err();
    assert!(matches!(error.problem, Problem::Tls(_) | Problem::Connection(_)), "{error}");

    // A certificate that no authority has signed.
    let host = self_signed();
    let allowed = AllowedHosts::parse([&host]).unwrap();
    let client = Client::new(Settings { allowed, ..Settings::default() });
    let error = get(&client, &format!("https://{host}/")).unwrap_err();
    assert!(matches!(error.problem, Problem::Untrusted(_)), "{error}");
    assert!(!error.problem.may_pass());
}

/// A server with a self-signed certificate.
fn self_signed() -> String {
    let certificate = rcgen::generate_simple_self_signed(["127.0.0.1".to_owned()]).unwrap();
    serve_tls(&certificate.cert, &certificate.signing_key, |tls| {
        // The client closes the connection.
        let _ = tls.conn.complete_io(tls.sock);
    })
}

#[test]
fn ipv6_and_names_work() {
    let server = Server::listen("[::1]:0", |asked, stream| write(stream, asked, &ok("six")));
    assert_eq!(get(&client(&[&server]), &server.url("/")).unwrap().unwrap(), b"six");
    let server = Server::answering(|_| ok("name"));
    let host = server.host.replace("127.0.0.1", "localhost");
    let allowed = AllowedHosts::parse([&host]).unwrap();
    let client = Client::new(Settings { allowed, ..settings(&[]) });
    assert_eq!(get(&client, &format!("http://{host}/")).unwrap().unwrap(), b"name");
}

#[test]
fn a_name_that_nobody_has_is_told_from_a_host_that_is_down() {
    let client = client(&[]);
    let error = get(&client, "https://no-such-host.invalid/").unwrap_err();
    assert!(matches!(error.problem, Problem::NoSuchHost | Problem::Connection(_)), "{error}");
    assert_eq!(client.answers(), 0);
}

#[test]
fn a_host_that_is_down_costs_its_time_once() {
    // A port that was free just now.
    let host = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string();
    let allowed = AllowedHosts::parse([&host]).unwrap();
    let backoff = Duration::from_millis(300);
    let client = Client::new(Settings { allowed, backoff, ..settings(&[]) });
    let before = std::time::Instant::now();
    for path in 0..500 {
        let error = get(&client, &format!("http://{host}/{path}")).unwrap_err();
        assert!(matches!(error.problem, Problem::Connection(_)), "{error}");
    }
    // One series of attempts waits at least 0.5 s; all of them would wait more than four minutes.
    assert!(before.elapsed() < Duration::from_mins(2));
}

#[test]
fn a_document_is_read_once_a_run() {
    let server = Server::answering(|asked| if asked.path == "/none" { status(404) } else { ok("x") });
    let client = client(&[&server]);
    let (address, none) = (url(&server.url("/")), url(&server.url("/none")));
    let readings = std::sync::atomic::AtomicUsize::new(0);
    let read = |document: FetchedDocument| {
        readings.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        if document.body == b"x" { Ok(document.body.len()) } else { Err("odd".to_owned()) }
    };
    run(async {
        let all = futures_util::future::join_all((0..20).map(|_| client.understand(&address, "*/*", 100, read))).await;
        assert!(all.iter().all(|one| *one.as_ref().unwrap().as_ref().unwrap().as_deref().unwrap() == 1));
        assert!(client.understand(&none, "*/*", 100, read).await.unwrap().is_none());
    });
    assert_eq!((server.asked().len(), readings.into_inner()), (2, 1));
    // The same URL, read as another type, is another request.
    let wrong = run(client.understand(&address, "*/*", 100, |_| Err::<String, _>("no text".to_owned())));
    assert_eq!(wrong.unwrap().unwrap().unwrap_err(), "no text");
    assert_eq!(server.asked().len(), 3);
}

#[test]
fn the_cache_asks_only_whether_something_has_changed() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::answering(|asked| {
        let headers = vec![("ETag", "\"1\"".to_owned()), ("Content-Type", "text/plain; charset=utf-8".to_owned())];
        if asked.header("if-none-match") == "\"1\"" {
            (304, Vec::new(), Vec::new())
        } else {
            (200, headers, b"x".into())
        }
    });
    let fetch = |secret: Option<&str>| {
        let mut credentials = Credentials::default();
        if let Some(secret) = secret {
            credentials.add(&url(&server.url("/")), &Secret::Bearer(secret.to_owned()));
        }
        let cache = Some(Cache::open(folder.path(), 1 << 20).unwrap());
        let client = Client::new(Settings { cache, credentials, ..settings(&[&server]) });
        let document = run(client.document(&url(&server.url("/")), "text/plain", 100)).unwrap().unwrap();
        assert_eq!((document.body.as_slice(), document.media_type.as_str()), (&b"x"[..], "text/plain"));
        server.requests().last().unwrap().header("if-none-match").to_owned()
    };
    assert_eq!(fetch(None), "");
    assert_eq!(fetch(None), "\"1\"");
    // A response for one user is not shown to another.
    assert_eq!(fetch(Some("me")), "");
    assert_eq!(fetch(Some("me")), "\"1\"");
    assert_eq!(fetch(Some("you")), "");
}

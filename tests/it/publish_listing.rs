//! Hostile listings of objects: a store is not trusted.

use std::io::Write as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::server::{Answer, Asked, Server, not_found, ok, write};
use crate::support::{Env, Run};

const STATE: &str = r#"{"schema":1,"latest":null,"files":{},"snapshots":{}}"#;

/// A published bucket, except for its listings.
fn object(asked: &Asked) -> Answer {
    if asked.path.ends_with("/.acp-registry/state.json") {
        let time = "Thu, 01 Jan 2026 00:00:00 GMT".to_owned();
        return (200, vec![("ETag", "\"x\"".to_owned()), ("Last-Modified", time)], STATE.into());
    }
    not_found()
}

fn prune(server: &Server) -> Run {
    let env = Env::empty();
    let mut command = env.command(&["publish", "prune", "--to", "s3://bucket/reg", "--dry-run"]);
    command.env("AWS_ACCESS_KEY_ID", "key").env("AWS_SECRET_ACCESS_KEY", "secret");
    Run::of(command.env("AWS_ENDPOINT_URL", format!("http://{}", server.host)))
}

fn refused(server: &Server, why: &[&str]) {
    let run = prune(server);
    assert_eq!((run.code, run.stdout.as_str()), (3, ""), "{}", run.stderr);
    assert!(why.iter().all(|why| run.stderr.contains(why)), "{why:?}: {}", run.stderr);
}

fn is_list(asked: &Asked) -> bool {
    asked.path.contains("list-type=2")
}

/// A bucket whose listings come from a function, which gets the number of earlier ones.
fn listing(page: impl Fn(usize) -> String + Send + Sync + 'static) -> Server {
    let count = AtomicUsize::new(0);
    Server::answering(move |asked| {
        if !is_list(asked) {
            return object(asked);
        }
        ok(format!("<ListBucketResult>{}</ListBucketResult>", page(count.fetch_add(1, Ordering::Relaxed))))
    })
}

fn lists(server: &Server) -> usize {
    server.requests().iter().filter(|asked| is_list(asked)).count()
}

#[test]
fn a_page_without_end_is_not_read_on() {
    let sent = Arc::new(AtomicUsize::new(0));
    let count = sent.clone();
    let server = Server::raw(move |asked, stream| {
        if !is_list(asked) {
            return write(stream, asked, &object(asked));
        }
        stream.write_all(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")?;
        // More than can be read, if reading does not stop.
        for _ in 0..1000 {
            stream.write_all(format!("100000\r\n{}\r\n", " ".repeat(1 << 20)).as_bytes())?;
            count.fetch_add(1, Ordering::Relaxed);
        }
        stream.write_all(b"0\r\n\r\n")
    });
    refused(&server, &["s3://bucket/reg/", "its response is larger than 16777216 bytes"]);
    assert!(sent.load(Ordering::Relaxed) < 100, "{sent:?} MiB");
    // Nor is the body of an error.
    let server =
        Server::answering(|asked| if is_list(asked) { (403, vec![], vec![b'x'; 3 << 20]) } else { object(asked) });
    let run = prune(&server);
    assert!(run.code == 3 && run.stderr.len() < 2000, "{}", run.stderr.len());
}

#[test]
fn pages_without_end_are_not_asked_for() {
    let more =
        |token: &str| format!("<IsTruncated>true</IsTruncated><NextContinuationToken>{token}</NextContinuationToken>");
    let circle = listing(move |_| more("again"));
    refused(&circle, &["s3://bucket/reg/", "repeats a NextContinuationToken"]);
    assert_eq!(lists(&circle), 2);
    let endless = listing(move |number| more(&number.to_string()));
    refused(&endless, &["s3://bucket/reg/", "has more than 2000 pages"]);
    assert_eq!(lists(&endless), 2000);
    let half = listing(|_| "<IsTruncated>true</IsTruncated>".to_owned());
    refused(&half, &["its list is truncated"]);
    assert_eq!(lists(&half), 1);
    // A listing that ends is read to its end.
    let fine = listing(move |number| {
        let folder = |name: &str| format!("<CommonPrefixes><Prefix>reg/{name}/</Prefix></CommonPrefixes>");
        if number == 0 { more("next") + &folder("other") } else { folder("another") }
    });
    let run = prune(&fine);
    assert_eq!((run.code, run.stdout.as_str(), run.stderr.as_str()), (0, "0 snapshots would be removed, 0 kept\n", ""));
    // Those of the top level, and one for each folder of contents.
    assert_eq!(lists(&fine), 2 + 256);
}

#[test]
fn an_object_without_a_name_is_named() {
    for (key, shown) in [("reg/../x", "`reg/../x`"), ("reg//x", "`reg//x`")] {
        let server = listing(move |_| {
            let rest = "<Size>1</Size><LastModified>2026-01-01T00:00:00Z</LastModified><ETag>x</ETag>";
            format!("<Contents><Key>{key}</Key>{rest}</Contents>")
        });
        refused(&server, &[&format!("it holds {shown}"), "remove it there"]);
    }
}

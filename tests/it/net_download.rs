//! Downloads: their limits, and how they go on after a connection breaks.

use std::io::Write;
use std::net::{Shutdown, TcpStream};

use std::thread;
use std::time::Duration;

use acp_registry::http::{Client, Problem, Settings};

use crate::net::{Memory, client, download, get, run, settings, url};
use crate::server::{Asked, Server, ok};

#[test]
fn a_download_drop_by_drop_is_given_up() {
    let server = Server::raw(|_, stream| {
        stream.write_all(b"HTTP/1.1 200 X\r\nETag: \"1\"\r\nContent-Length: 100000000\r\n\r\n")?;
        loop {
            stream.write_all(b"x")?;
            thread::sleep(Duration::from_millis(20));
        }
    });
    // However long the client waits for the next byte, one byte is too little for that time.
    let settings = Settings { slow_timeout: Duration::from_millis(1), ..settings(&[&server]) };
    let client = Client::new(settings);
    let error = run(client.download(&url(&server.url("/")), 1 << 30, &mut Memory::default())).unwrap_err();
    assert_eq!(error.problem, Problem::TooSlow);
    assert_eq!(server.asked().len(), 1);
}

#[test]
fn a_host_that_breaks_off_or_falls_silent_is_given_up_in_time() {
    let reset = Server::raw(|_, stream| stream.shutdown(Shutdown::Both));
    let problem = get(&client(&[&reset]), &reset.url("/")).unwrap_err().problem;
    assert!(matches!(problem, Problem::Connection(_)), "{problem}");
    assert_eq!(reset.asked().len(), 3);
    let cut = Server::raw(|_, stream| {
        stream.write_all(b"HTTP/1.1 200 X\r\nContent-Length: 100\r\n\r\nx")?;
        stream.shutdown(Shutdown::Both)
    });
    let problem = get(&client(&[&cut]), &cut.url("/")).unwrap_err().problem;
    assert!(problem.to_string().starts_with("breaks off: ") && problem.remedy().is_some(), "{problem}");

    let silent = Server::raw(|_, _| {
        thread::sleep(Duration::from_mins(1));
        Ok(())
    });
    let impatient = |server: &Server| {
        let idle_timeout = Duration::from_millis(300);
        Client::new(Settings { idle_timeout, ..settings(&[server]) })
    };
    assert_eq!(get(&impatient(&silent), &silent.url("/")).unwrap_err().problem, Problem::Timeout);

    let stalling = Server::raw(|_, stream| {
        stream.write_all(b"HTTP/1.1 200 X\r\nContent-Length: 100\r\n\r\nbegin")?;
        thread::sleep(Duration::from_mins(1));
        Ok(())
    });
    assert_eq!(get(&impatient(&stalling), &stalling.url("/")).unwrap_err().problem, Problem::Timeout);
}

#[test]
fn bodies_are_bounded_whatever_is_announced() {
    let server = Server::answering(|_| ok(vec![0; 2000]));
    let error = get(&client(&[&server]), &server.url("/")).unwrap_err();
    assert_eq!(error.problem, Problem::TooLarge { limit: 1000 });
    assert_eq!(download(&server, 1000).0.unwrap_err().problem, Problem::TooLarge { limit: 1000 });
    assert_eq!(download(&server, 2000).0.unwrap().length, 2000);

    // Without a length, and without an end.
    let endless = Server::raw(|_, stream| {
        stream.write_all(b"HTTP/1.1 200 X\r\nConnection: close\r\n\r\n")?;
        loop {
            stream.write_all(&[0; 4096])?;
        }
    });
    assert_eq!(get(&client(&[&endless]), &endless.url("/")).unwrap_err().problem, Problem::TooLarge { limit: 1000 });
    assert_eq!(download(&endless, 100_000).0.unwrap_err().problem, Problem::TooLarge { limit: 100_000 });

    // Bytes beyond the announced length are ignored.
    let generous = Server::raw(|_, stream| stream.write_all(b"HTTP/1.1 200 X\r\nContent-Length: 2\r\n\r\nbody"));
    let (result, memory) = download(&generous, 1000);
    assert_eq!((result.unwrap().length, memory.bytes.as_slice()), (2, &b"bo"[..]));
}

#[test]
fn a_compressed_bomb_is_bounded_and_a_download_is_not_decoded() {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    encoder.write_all(&vec![0; 10 << 20]).unwrap();
    let packed = encoder.finish().unwrap();
    let length = packed.len() as u64;
    let server = Server::answering(move |_| (200, vec![("Content-Encoding", "gzip".to_owned())], packed.clone()));
    let error = get(&client(&[&server]), &server.url("/")).unwrap_err();
    assert_eq!(error.problem, Problem::TooLarge { limit: 1000 });
    let (result, memory) = download(&server, 1 << 20);
    assert_eq!((result.unwrap().length, memory.announced), (length, Some(length)));
}

#[test]
fn a_download_goes_on_where_it_broke_off() {
    let body: Vec<u8> = (0..200_000u32).map(|at| at.to_le_bytes()[0]).collect();
    let expected = body.clone();
    let flaky = move |validator: &'static str, asked: &Asked, stream: &mut TcpStream| {
        let start: usize =
            asked.header("range").trim_start_matches("bytes=").trim_end_matches('-').parse().unwrap_or(0);
        let rest = &body[start..];
        let head = if start > 0 {
            let (last, all) = (body.len() - 1, body.len());
            format!("HTTP/1.1 206 X\r\nContent-Range: bytes {start}-{last}/{all}\r\n")
        } else {
            "HTTP/1.1 200 X\r\n".to_owned()
        };
        stream.write_all(format!("{head}{validator}Content-Length: {}\r\n\r\n", rest.len()).as_bytes())?;
        stream.write_all(&rest[..rest.len().min(80_000)])
    };
    let resumable = flaky.clone();
    let server = Server::raw(move |asked, stream| resumable("ETag: \"1\"\r\n", asked, stream));
    let (result, memory) = download(&server, 1 << 20);
    assert_eq!(result.unwrap().length, 200_000);
    assert!(memory.bytes == expected);
    assert!(server.requests()[1..].iter().all(|asked| asked.header("if-range") == "\"1\""));

    // Without proof that the file is unchanged, it is fetched again; a host that breaks off each time is given up.
    let server = Server::raw(move |asked, stream| flaky("", asked, stream));
    let problem = download(&server, 1 << 20).0.unwrap_err().problem;
    assert!(problem.may_pass(), "{problem}");
    assert_eq!(server.requests().iter().map(|asked| asked.header("range")).collect::<Vec<_>>(), ["", "", ""]);
}

#[test]
fn a_download_starts_again_where_it_cannot_go_on() {
    for validator in ["", "ETag: W/\"1\"\r\n", "ETag: \"1\"\r\n"] {
        for breaks in [[10, 50], [50, 10], [0, 99]] {
            let server = Server::raw(move |asked, stream| {
                let body: Vec<u8> = (0..100).collect();
                stream.write_all(format!("HTTP/1.1 200 X\r\n{validator}Content-Length: 100\r\n\r\n").as_bytes())?;
                stream.write_all(&body[..breaks.get(asked.before).copied().unwrap_or(100)])
            });
            let (result, memory) = download(&server, 1000);
            assert_eq!(result.unwrap().length, 100, "{validator} {breaks:?}");
            assert_eq!(memory.bytes, (0..100).collect::<Vec<u8>>());
            assert_eq!(server.asked().len(), 3);
        }
    }
}

#[test]
fn an_answer_that_a_proxy_has_changed_is_one() {
    let server = Server::answering(|_| (203, Vec::new(), b"body".to_vec()));
    assert_eq!(get(&client(&[&server]), &server.url("/")).unwrap().unwrap(), b"body");
    assert_eq!(download(&server, 1000).0.unwrap().length, 4);
}

#[test]
fn a_file_that_has_changed_is_not_put_together_with_the_old_one() {
    let server = Server::raw(|asked, stream| {
        let etag = if asked.before == 0 { "1" } else { "2" };
        let body = if asked.before == 0 { "begin" } else { "another" };
        stream.write_all(format!("HTTP/1.1 200 X\r\nETag: \"{etag}\"\r\nContent-Length: 10\r\n\r\n{body}").as_bytes())
    });
    assert_eq!(download(&server, 1000).0.unwrap_err().problem, Problem::Changed);
    assert_eq!(server.asked().len(), 2);
}

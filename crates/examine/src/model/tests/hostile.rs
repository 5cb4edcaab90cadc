//! Requests that are wrong, large or endless.

use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::http::{APIS, answer, ask, model, request, send, send_raw};
use crate::model::{Api, Script, Step, ToolCall};

#[tokio::test]
async fn bad_bodies_are_refused() {
    let model = model();
    let deep = "[".repeat(100_000);
    for path in [
        "/v1/messages", "/v1/chat/completions", "/v1/responses", "/v1beta/models/m:generateContent",
        "/v1/messages/count_tokens",
    ] {
        for body in ["", "{", "[]", "7", "null", "\"x\"", "{\"a\":", &deep, "{\"a\":\"\\ud800\"}"] {
            let response = send(model.address(), "POST", path, body).await;
            assert_eq!(response.status, 400, "{path} {body:.20}");
            assert!(response.json()["error"]["message"].is_string(), "{response:?}");
        }
        let head =
            format!("POST {path} HTTP/1.1\r\nhost: x\r\ncontent-encoding: gzip\r\ncontent-length: 2\r\n\r\n{{}}");
        assert_eq!(send_raw(model.address(), &head).await.status, 415);
    }
}

/// Whatever a body contains, there is an answer.
#[tokio::test]
async fn odd_bodies_are_answered() {
    let model = model();
    for (path, body) in [
        ("/v1/messages", r#"{"messages":{},"tools":7,"stream":"yes","system":[[]]}"#),
        (
            "/v1/messages",
            r#"{"messages":[null,7,[],{"role":7,"content":[null,{"type":"tool_result","content":7}]}],"tools":[null,{}]}"#,
        ),
        ("/v1/messages", r#"{"tool_choice":{"type":"tool"},"output_format":7}"#),
        (
            "/v1/chat/completions",
            r#"{"messages":[7,{"role":"user","content":[7,{"type":"text"}]},{"role":"user"}],"tools":[{"function":7},{"custom":7}]}"#,
        ),
        ("/v1/chat/completions", r#"{"response_format":{"type":"json_schema"},"tool_choice":"none"}"#),
        (
            "/v1/responses",
            r#"{"input":[7,{"type":7},{"type":"message","content":7},{"type":"_call"},{"type":"_call_output","output":{}}]}"#,
        ),
        (
            "/v1/responses",
            r#"{"tools":[{"type":"namespace","tools":[7,{"type":"namespace"}]},{"type":"function"}],"tool_choice":[]}"#,
        ),
        (
            "/v1beta/models/m:generateContent",
            r#"{"contents":[7,{"parts":[7,{"inlineData":7},{"functionResponse":7}]}],"tools":[7,{"functionDeclarations":7}],"generationConfig":7}"#,
        ),
        ("/v1beta/models/m:streamGenerateContent", "{}"),
    ] {
        let response = send(model.address(), "POST", path, body).await;
        assert_eq!((response.status, response.is_complete), (200, true), "{path} {body}: {response:?}");
        response.json();
    }
}

#[tokio::test]
async fn unknown_paths_and_methods_are_refused() {
    let model = model();
    for (method, path, status) in [
        ("GET", "/v1/messages", 405),
        ("DELETE", "/v1/models", 405),
        ("POST", "/", 405),
        ("GET", "/v1/unknown", 404),
        ("POST", "/v1/embeddings", 404),
        ("GET", "/../etc/passwd", 404),
        ("OPTIONS", "*", 404),
    ] {
        let response = send(model.address(), method, path, "").await;
        assert_eq!(response.status, status, "{method} {path}");
        assert_eq!(response.headers.contains("allow: "), status == 405, "{response:?}");
    }
    for text in
        ["\r\n\r\n", "hello\r\n\r\n", "\u{16}\u{3}\u{1}", "POST /v1/messages HTTP/1.1\r\ncontent-length: x\r\n\r\n"]
    {
        let mut socket = TcpStream::connect(model.address()).await.unwrap();
        socket.write_all(text.as_bytes()).await.unwrap();
        socket.shutdown().await.unwrap();
        let mut bytes = Vec::new();
        let _ = socket.read_to_end(&mut bytes).await;
        assert!(!String::from_utf8_lossy(&bytes).contains(" 200 "), "{text:?}");
    }
    assert_eq!(send(model.address(), "GET", "/v1/models", "").await.status, 200);
}

#[tokio::test]
async fn large_bodies_are_refused_and_prompts_of_a_megabyte_are_not() {
    let model = model();
    let head = "POST /v1/messages HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n";
    let chunk = format!("100000\r\n{}\r\n", " ".repeat(1 << 20));
    let mut socket = TcpStream::connect(model.address()).await.unwrap();
    socket.write_all(head.as_bytes()).await.unwrap();
    let mut sent = 0;
    while sent < 200 && socket.write_all(chunk.as_bytes()).await.is_ok() {
        sent += 1;
    }
    assert!(sent < 60, "the server has read {sent} MiB");

    let play = model.play(Script::new(vec![Step::say("fine")]));
    let prompt = format!("{}{}", "x".repeat(1 << 20), play.marker());
    for api in APIS {
        let response = ask(&model, api, &prompt, &[], &[], true).await;
        assert_eq!(answer(api, &response, true).0, "fine");
    }
    assert!(play.requests().iter().all(|request| request.texts[0] == prompt));
}

#[tokio::test]
async fn bodies_of_many_values_are_refused() {
    let model = model();
    for (piece, status) in [("[],", 400), ("0,", 400), ("{},", 400), ("[[0]],", 400), ("{\"\":0},", 200)] {
        let body = format!("{{\"messages\":[{}0]}}", piece.repeat(100_000 / piece.len()));
        let response = send(model.address(), "POST", "/v1/chat/completions", &body).await;
        assert_eq!(response.status, status, "{piece}");
    }
}

/// Many bodies at once are received one after the other, and those that never arrive keep no other one from it.
#[tokio::test]
async fn bodies_beyond_the_room_wait_for_each_other() {
    let model = model();
    let play = model.play(Script::new(vec![Step::say("fine")]));
    let mut stalled = Vec::new();
    for _ in 0..40 {
        let mut socket = TcpStream::connect(model.address()).await.unwrap();
        let head = "POST /v1/messages HTTP/1.1\r\nhost: x\r\ncontent-length: 4000000\r\n\r\n";
        socket.write_all(head.as_bytes()).await.unwrap();
        socket.write_all(&vec![b' '; 400_000]).await.unwrap();
        stalled.push(socket);
    }
    let prompt = format!("{}{}", "x".repeat(3 << 20), play.marker());
    let asks = APIS.map(|api| ask(&model, api, &prompt, &[], &[], true));
    stalled.clear();
    for (api, response) in APIS.into_iter().zip(futures_util::future::join_all(asks).await) {
        assert_eq!(answer(api, &response, true).0, "fine");
    }
}

#[tokio::test]
async fn answers_repeat_no_long_names_and_no_large_schemas() {
    const MOST: usize = 400_000;
    let model = model();
    let long = "x".repeat(1 << 20);
    let name = format!("read_{long}");
    let path = serde_json::json!({ "properties": { "path": { "type": "string" } } });
    let wide = serde_json::json!({ "properties": { format!("{}path", "_".repeat(1 << 20)): { "type": "string" } } });
    let large = serde_json::json!({ "properties": { "path": { "type": "string" } }, "required": ["a", "path"],
        "$defs": { "a": { "const": long } }, "type": "object" });
    for api in APIS {
        for (tool, schema) in [(name.as_str(), &path), ("read", &wide), ("read", &large)] {
            let read = ToolCall::Read { path: "/a".to_owned() };
            let play = model.play(Script::new(vec![Step::Call(vec![read])]));
            for is_streamed in [true, false] {
                let response = ask(&model, api, &play.marker(), &[], &[(tool, schema.clone())], is_streamed).await;
                assert!(response.status == 200 && response.body.len() < MOST, "{api}: {}", response.body.len());
            }
        }
    }
    let body = serde_json::json!({ "model": long, "messages": [{ "role": "user", "content": "hi" }], "stream": true });
    for path in ["/v1/chat/completions", "/v1/messages", "/v1/responses"] {
        let response = send(model.address(), "POST", path, &body.to_string()).await;
        assert!(response.status == 200 && response.body.len() < MOST, "{path}: {}", response.body.len());
    }
}

/// Connections beyond the limit wait until another one closes.
#[tokio::test]
async fn idle_connections_are_bounded() {
    let model = model();
    let mut idle = Vec::new();
    for _ in 0..100 {
        idle.push(TcpStream::connect(model.address()).await.unwrap());
    }
    let address = model.address();
    let waiting = tokio::spawn(async move { send(address, "GET", "/v1/models", "").await.status });
    tokio::time::sleep(Duration::from_millis(200)).await;
    assert!(!waiting.is_finished());
    idle.clear();
    assert_eq!(tokio::time::timeout(Duration::from_secs(10), waiting).await.unwrap().unwrap(), 200);
}

/// Several requests on one connection.
#[tokio::test]
async fn connections_are_reused() {
    let model = model();
    let play = model.play(Script::new(vec![Step::say("fine")]));
    let (path, body) = request(Api::Chat, &play.marker(), &[], &[], false);
    let text = format!("POST {path} HTTP/1.1\r\nhost: x\r\ncontent-length: {}\r\n\r\n{body}", body.len());
    let mut socket = TcpStream::connect(model.address()).await.unwrap();
    for count in 1..=3 {
        socket.write_all(text.as_bytes()).await.unwrap();
        let mut seen = String::new();
        while !seen.ends_with("}}") {
            let mut bytes = [0; 4000];
            let size = socket.read(&mut bytes).await.unwrap();
            assert!(size > 0, "{seen}");
            seen += std::str::from_utf8(&bytes[..size]).unwrap();
        }
        assert!(seen.contains("\"fine\""));
        assert_eq!(play.requests().len(), count);
    }
}

//! Stalls, broken streams, parallel turns, and what is recorded.

use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::http::{APIS, answer, ask, model, request, send, send_raw};
use crate::model::{Api, Script, Step, ToolCall};

const SOON: Duration = Duration::from_secs(10);

#[tokio::test]
async fn a_stall_goes_on_until_the_client_hangs_up() {
    for api in APIS {
        for is_streamed in [true, false] {
            let model = model();
            let play = model.play(Script::new(vec![Step::Stall]));
            let (path, body) = request(api, &play.marker(), &[], &[], is_streamed);
            let mut socket = TcpStream::connect(model.address()).await.unwrap();
            let head = format!("POST {path} HTTP/1.1\r\nhost: x\r\ncontent-length: {}\r\n\r\n", body.len());
            socket.write_all(format!("{head}{body}").as_bytes()).await.unwrap();
            assert!(play.wait(SOON, |requests| requests.len() == 1).await);
            if is_streamed {
                let mut seen = String::new();
                while seen.matches("\".\"").count() < 2 {
                    let mut bytes = [0; 1000];
                    let size = tokio::time::timeout(SOON, socket.read(&mut bytes)).await.unwrap().unwrap();
                    assert!(size > 0, "{api}: {seen}");
                    seen += std::str::from_utf8(&bytes[..size]).unwrap();
                }
                assert!(seen.contains("\"Waiting\""), "{seen}");
            }
            assert!(!play.requests()[0].is_aborted);
            drop(socket);
            assert!(play.wait(SOON, |requests| requests[0].is_aborted).await, "{api} {is_streamed}");
        }
    }
}

#[tokio::test]
async fn a_held_answer_goes_on_until_it_is_released() {
    for api in APIS {
        let model = model();
        let play = model.play(Script::new(vec![Step::Hold]));
        let whole = ask(&model, api, &play.marker(), &[], &[], false).await;
        assert_eq!(answer(api, &whole, false).0, "Stream line 0.\n\n", "{api}");
        let (path, body) = request(api, &play.marker(), &[], &[], true);
        let mut socket = TcpStream::connect(model.address()).await.unwrap();
        let head =
            format!("POST {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-length: {}\r\n\r\n", body.len());
        socket.write_all(format!("{head}{body}").as_bytes()).await.unwrap();
        let mut seen = String::new();
        while !seen.contains("Stream line 2.") {
            let mut bytes = [0; 1000];
            let size = tokio::time::timeout(SOON, socket.read(&mut bytes)).await.unwrap().unwrap();
            assert!(size > 0, "{api}: {seen}");
            seen += std::str::from_utf8(&bytes[..size]).unwrap();
        }
        play.release();
        tokio::time::timeout(SOON, socket.read_to_string(&mut seen)).await.unwrap().unwrap();
        assert!(!play.requests()[1].is_aborted, "{api}: {seen}");
    }
}

#[tokio::test]
async fn an_mcp_server_answers_over_http_and_records() {
    let model = model();
    let (number, path) = model.serve_mcp();
    let call = r#"{"jsonrpc":"2.0","id":"a","method":"tools/call","params":{"name":"acp_registry_echo","arguments":{"text":"x"}}}"#;
    let initialize = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}"#;
    let head = format!("POST {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\nAcp-Registry-Mcp: a=b 'c'\r\n");
    let text = format!("{head}content-length: {}\r\n\r\n{initialize}", initialize.len());
    assert_eq!(send_raw(model.address(), &text).await.json()["result"]["serverInfo"]["name"], "acp-registry");
    let note = send(model.address(), "POST", &path, r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#).await;
    assert_eq!((note.status, note.body.as_str()), (202, ""));
    let answer = send(model.address(), "POST", &path, call).await.json();
    assert_eq!(
        (&answer["id"], &answer["result"]["content"][0]["text"]),
        (&"a".into(), &"acp-registry echoes: x".into())
    );
    // A server that sends nothing by itself refuses the stream for that.
    assert_eq!(send(model.address(), "GET", &path, "").await.status, 405);
    assert_eq!(send(model.address(), "POST", "/mcp/9", call).await.status, 200);
    let record = model.mcp_record(number);
    let methods: Vec<&str> = record.requested.iter().map(|requested| requested.method.as_str()).collect();
    assert_eq!(methods, ["initialize", "notifications/initialized", "tools/call"]);
    assert_eq!((record.started.len(), record.started[0].variable.as_deref()), (1, Some("a=b 'c'")));
    assert_ne!(model.serve_mcp().0, number);
}

#[tokio::test]
async fn a_broken_answer_ends_in_its_middle() {
    for api in APIS {
        for is_streamed in [true, false] {
            let model = model();
            let play = model.play(Script::new(vec![Step::Break("half a".to_owned())]));
            let response = ask(&model, api, &play.marker(), &[], &[], is_streamed).await;
            assert_eq!((response.status, response.is_complete), (200, false), "{api} {is_streamed}: {response:?}");
            assert!(!response.body.is_empty() && (!is_streamed || response.body.contains("half a")), "{api}");
            assert!(!play.requests()[0].is_aborted);
        }
    }
}

#[tokio::test]
async fn an_answer_of_a_megabyte_arrives() {
    let model = model();
    let chunks: Vec<String> = (0..64).map(|number| format!("{number:04}{}", "x".repeat(16_380))).collect();
    let whole = chunks.concat();
    let play = model.play(Script::new(vec![Step::Say { chunks, pause: Duration::ZERO }]));
    for api in APIS {
        let response = ask(&model, api, &play.marker(), &[], &[], true).await;
        assert!(answer(api, &response, true).0 == whole, "{api}");
    }
}

#[tokio::test]
async fn parallel_turns_and_retries_stay_apart() {
    let model = model();
    let plays: Vec<_> = (0..20)
        .map(|number| {
            let shell = ToolCall::Shell { command: format!("echo {number}") };
            model.play(Script::new(vec![Step::Call(vec![shell]), Step::say(format!("turn {number}"))]))
        })
        .collect();
    let tools = [("bash", serde_json::json!({ "properties": { "command": { "type": "string" } } }))];
    let (model, tools) = (&model, &tools);
    let turns = plays.iter().enumerate().map(|(number, play)| async move {
        let marker = play.marker();
        for _ in 0..2 {
            let response = ask(model, Api::Chat, &marker, &[], tools, true).await;
            let calls = answer(Api::Chat, &response, true).1;
            assert_eq!(calls[0].1["command"], format!("echo {number}"));
        }
        let response = ask(model, Api::Chat, &marker, &["r"], tools, true).await;
        assert_eq!(answer(Api::Chat, &response, true).0, format!("turn {number}"));
        assert_eq!(play.requests().len(), 3);
    });
    futures_util::future::join_all(turns).await;
}

#[tokio::test]
async fn a_tool_that_is_not_offered_is_reported() {
    let model = model();
    let read = ToolCall::Read { path: "/a".to_owned() };
    let play = model.play(Script::new(vec![Step::Call(vec![read])]));
    let tools = [("bash", serde_json::json!({ "properties": { "command": { "type": "string" } } }))];
    let response = ask(&model, Api::Chat, &play.marker(), &[], &tools, true).await;
    assert_eq!(answer(Api::Chat, &response, true), ("Examination".to_owned(), vec![], "stop".to_owned()));
    assert_eq!(play.missing(), ["a tool that reads a file"]);
    // A later request of the same turn may offer it.
    let tools = [("read", serde_json::json!({ "properties": { "path": { "type": "string" } } }))];
    ask(&model, Api::Chat, &play.marker(), &[], &tools, true).await;
    assert_eq!(play.missing(), [] as [&str; 0]);
}

#[tokio::test]
async fn what_is_kept_is_bounded() {
    let model = model();
    let play = model.play(Script::default());
    let long = format!("{} {}", play.marker(), "x".repeat(1 << 20));
    for _ in 0..20 {
        assert_eq!(ask(&model, Api::Chat, &long, &[], &[], false).await.status, 200);
    }
    let requests = play.requests();
    let kept: usize = requests.iter().flat_map(|request| &request.texts).map(String::len).sum();
    assert!((7 << 20..=8 << 20).contains(&kept), "{kept}");
    // The newest are those that a check looks at.
    assert!(requests[0].texts.is_empty() && requests[19].texts == [long]);
    for _ in 0..100 {
        ask(&model, Api::Chat, &play.marker(), &[], &[], false).await;
    }
    assert_eq!(play.requests().len(), 100);
}

#[tokio::test]
async fn dropping_the_model_closes_connections() {
    let model = model();
    let play = model.play(Script::new(vec![Step::Stall]));
    let (path, body) = request(Api::Chat, &play.marker(), &[], &[], true);
    let address = model.address();
    let stalled = tokio::spawn(async move { send(address, "POST", &path, &body).await });
    assert!(play.wait(SOON, |requests| requests.len() == 1).await);
    drop(model);
    let response = tokio::time::timeout(SOON, stalled).await.unwrap().unwrap();
    assert!(!response.is_complete);
    assert!(play.wait(SOON, |requests| requests[0].is_aborted).await);
    assert!(TcpStream::connect(address).await.is_err());
}

/// An agent that repeats a failed request gets an answer then; one that does not repeat it has seen the failure.
#[tokio::test]
async fn a_step_can_fail_once() {
    let model = model();
    let play = model.play(Script::new(vec![Step::Fail(500).once("recovered")]));
    assert_eq!(ask(&model, Api::Chat, &play.marker(), &[], &[], true).await.status, 500);
    let response = ask(&model, Api::Chat, &play.marker(), &[], &[], true).await;
    assert_eq!(answer(Api::Chat, &response, true).0, "recovered");
}

#[tokio::test]
async fn a_tool_is_searched_for_once() {
    let model = model();
    let note = ToolCall::Named { name: "note".to_owned(), arguments: serde_json::json!({}) };
    let play = model.play(Script::new(vec![Step::Call(vec![note])]));
    let tools = serde_json::json!([{ "name": "ToolSearch", "input_schema": { "properties": { "query": {} } } }]);
    let mut messages = vec![serde_json::json!({ "role": "user", "content": play.marker() })];
    for expected in [Some("ToolSearch"), None] {
        let body = serde_json::json!({ "messages": messages, "tools": tools }).to_string();
        let response = send(model.address(), "POST", "/v1/messages", &body).await;
        let calls = answer(Api::Anthropic, &response, false).1;
        assert_eq!(calls.first().map(|(name, _)| name.as_str()), expected);
        let content = serde_json::json!([{ "type": "tool_use", "name": "ToolSearch", "id": "t", "input": {} }]);
        messages.push(serde_json::json!({ "role": "assistant", "content": content }));
        let content = serde_json::json!([{ "type": "tool_result", "tool_use_id": "t", "content": "nothing" }]);
        messages.push(serde_json::json!({ "role": "user", "content": content }));
    }
    assert_eq!(play.missing(), ["the tool `note`"]);
}

//! Each API, streamed and not.

use serde_json::json;

use super::http::{APIS, answer, ask, model, request, send};
use crate::model::{Api, Script, Step, ToolCall};

fn tools() -> Vec<(&'static str, serde_json::Value)> {
    vec![(
        "run_shell_command",
        json!({ "type": "object", "required": ["command", "is_background"], "properties": {
        "command": { "type": "string" }, "is_background": { "type": "boolean" } } }),
    )]
}

#[tokio::test]
async fn a_turn_with_a_tool_call_is_played() {
    for api in APIS {
        for is_streamed in [true, false] {
            let model = model();
            let chunks = vec!["one ".to_owned(), "two".to_owned()];
            let say = Step::Say { chunks, pause: std::time::Duration::from_millis(1) };
            let wanted = ToolCall::Shell { command: "echo \"a\"".to_owned() };
            let play = model.play(Script::new(vec![Step::Call(vec![wanted.clone(), wanted]), say]));
            let prompt = format!("Please, {}.", play.marker());

            let first = ask(&model, api, &prompt, &[], &tools(), is_streamed).await;
            let (text, calls, stop) = answer(api, &first, is_streamed);
            let call = ("run_shell_command".to_owned(), json!({ "command": "echo \"a\"", "is_background": false }));
            assert_eq!((text.as_str(), calls), ("", vec![call.clone(), call]), "{api}");
            let stops = ["tool_use", "tool_calls", "completed", "STOP"];
            assert!(stops.contains(&stop.as_str()), "{api}: {stop}");

            let second = ask(&model, api, &prompt, &["a\n"], &tools(), is_streamed).await;
            let (text, calls, stop) = answer(api, &second, is_streamed);
            assert_eq!((text.as_str(), calls), ("one two", vec![]), "{api}");
            assert!(["end_turn", "stop", "completed", "STOP"].contains(&stop.as_str()), "{api}: {stop}");

            let third = ask(&model, api, &prompt, &["a\n", "b"], &tools(), is_streamed).await;
            assert_eq!(answer(api, &third, is_streamed).0, "Done.");

            let requests = play.requests();
            assert_eq!(requests.iter().map(|request| request.step).collect::<Vec<_>>(), [Some(0), Some(1), Some(2)]);
            assert_eq!(requests[0].called, ["run_shell_command", "run_shell_command"]);
            assert_eq!(
                (requests[2].results.as_slice(), requests[2].new_results),
                (&["a\n".to_owned(), "b".into()][..], 2)
            );
            assert!(requests.iter().all(|request| request.is_streamed == is_streamed && request.api == api));
            assert!(requests.iter().all(|request| request.texts == [prompt.clone()] && !request.is_aborted));
            assert!(model.others().is_empty() && play.missing().is_empty());
        }
    }
}

#[tokio::test]
async fn refusals_and_cut_offs_have_the_form_of_the_api() {
    for (api, refusal, limit) in [
        (Api::Anthropic, "refusal", "max_tokens"),
        (Api::Chat, "content_filter", "length"),
        (Api::Responses, "completed", "incompletemax_output_tokens"),
        (Api::Gemini, "SAFETY", "MAX_TOKENS"),
    ] {
        for is_streamed in [true, false] {
            let model = model();
            let refuses = model.play(Script::new(vec![Step::Refuse]));
            let response = ask(&model, api, &refuses.marker(), &[], &[], is_streamed).await;
            let (text, _, stop) = answer(api, &response, is_streamed);
            assert_eq!((text.as_str(), stop.as_str()), ("I cannot help with that.", refusal), "{api}");
            if [Api::Chat, Api::Responses].contains(&api) {
                assert!(response.body.contains("\"refusal\":\"I cannot"), "{api}: {}", response.body);
                assert!(!response.body.contains("output_text"), "{api}: {}", response.body);
            }
            let cut = model.play(Script::repeating(vec![Step::CutOff("half a".to_owned())]));
            for results in [&[][..], &["a"]] {
                let response = ask(&model, api, &cut.marker(), results, &[], is_streamed).await;
                let (text, _, stop) = answer(api, &response, is_streamed);
                assert_eq!((text.as_str(), stop.as_str()), ("half a", limit), "{api}");
            }
        }
    }
}

#[tokio::test]
async fn errors_have_the_form_of_the_api() {
    for api in APIS {
        for (status, name) in
            [(429, "RESOURCE_EXHAUSTED rate_limit_error rate_limit_exceeded"), (500, "INTERNAL api_error server_error")]
        {
            let model = model();
            let play = model.play(Script::new(vec![Step::Fail(status)]));
            let response = ask(&model, api, &play.marker(), &[], &[], true).await;
            assert_eq!(response.status, status);
            let error = &response.json()["error"];
            let kind = ["status", "type"].iter().find_map(|member| error[member].as_str()).unwrap();
            assert!(name.split(' ').any(|name| name == kind) && error["message"].is_string(), "{error}");
            assert!(response.headers.contains("x-should-retry: false") && response.headers.contains("retry-after: 0"));
        }
    }
}

/// Requests that agents send beside their turns.
#[tokio::test]
async fn auxiliary_requests_get_harmless_answers() {
    let model = model();
    let play = model.play(Script::new(vec![Step::Fail(500)]));
    let schema = json!({ "type": "object", "required": ["a"], "properties": { "a": { "enum": ["x", "y"] } } });
    let marker = play.marker();
    for (api, member, value) in [
        (Api::Anthropic, "output_config", json!({ "format": { "type": "json_schema", "schema": schema } })),
        (
            Api::Chat,
            "response_format",
            json!({ "type": "json_schema", "json_schema": { "name": "n", "schema": schema } }),
        ),
        (Api::Responses, "text", json!({ "format": { "type": "json_schema", "name": "n", "schema": schema } })),
        (Api::Gemini, "generationConfig", json!({ "responseJsonSchema": schema })),
    ] {
        let (path, body) = request(api, &marker, &[], &tools(), false);
        let mut body: serde_json::Value = serde_json::from_str(&body).unwrap();
        body[member] = value;
        let response = send(model.address(), "POST", &path, &body.to_string()).await;
        assert_eq!(answer(api, &response, false).0, r#"{"a":"x"}"#, "{api}");
    }
    // Forced to call a tool, to get an answer in its form.
    let (path, body) = request(Api::Anthropic, &marker, &[], &[("note", schema)], false);
    let body = body.replacen('{', r#"{"tool_choice":{"type":"tool","name":"note"},"#, 1);
    let response = send(model.address(), "POST", &path, &body).await;
    assert_eq!(answer(Api::Anthropic, &response, false).1, [("note".to_owned(), json!({ "a": "x" }))]);
    // A title.
    let response = ask(&model, Api::Chat, &format!("Summarize: {marker}"), &[], &[], true).await;
    assert_eq!(answer(Api::Chat, &response, true).0, "Examination");
    assert!(play.requests().iter().all(|request| request.step.is_none()));
    assert_eq!(play.requests().len(), 6);
    // Without a known marker.
    let response = ask(&model, Api::Gemini, "acp-registry-turn-0999", &[], &tools(), false).await;
    assert_eq!(answer(Api::Gemini, &response, false).0, "Examination");
    assert_eq!(model.others().len(), 1);
}

#[tokio::test]
async fn a_title_is_no_turn_once_tools_were_offered() {
    let model = model();
    let play = model.play(Script::new(vec![Step::say("turn")]));
    for (tools, expected) in [(vec![], "turn"), (tools(), "turn"), (vec![], "Examination")] {
        let response = ask(&model, Api::Responses, &play.marker(), &[], &tools, true).await;
        assert_eq!(answer(Api::Responses, &response, true).0, expected);
    }
}

#[tokio::test]
async fn lists_and_counts_are_answered() {
    let model = model();
    let get = async |path: &str| send(model.address(), "GET", path, "").await.json();
    assert_eq!(get("/v1/models").await["data"][0]["id"], "gpt-4.1");
    assert_eq!(get("/models").await["data"][0]["type"], "model");
    assert_eq!(get("/v1beta/models").await["models"][0]["name"], "models/gpt-4.1");
    assert_eq!(get("/v1beta/models/a%2Fb").await["name"], "models/a/b");
    assert_eq!(get("/v1/models/a/b").await["id"], "a/b");
    assert_eq!(get("/").await, json!({}));
    let body = json!({ "messages": [{ "role": "user", "content": "x".repeat(4000) }] }).to_string();
    for (path, member) in [
        ("/v1/messages/count_tokens", "input_tokens"),
        ("/v1beta/models/m:countTokens", "totalTokens"),
        ("/v1/responses/input_tokens", "input_tokens"),
    ] {
        let count = send(model.address(), "POST", path, &body).await.json()[member].as_u64().unwrap();
        assert!((900..1200).contains(&count), "{path}: {count}");
    }
    assert!(model.others().is_empty());
}

/// Images arrive, and so do custom tools and tools in namespaces, which only one API has.
#[tokio::test]
async fn images_and_special_tools_are_read() {
    let model = model();
    let bodies = [
        (
            "/v1/messages",
            json!({ "messages": [{ "role": "user", "content": [{ "type": "text", "text": "$" },
            { "type": "image", "source": {} }] }] }),
        ),
        (
            "/v1/chat/completions",
            json!({ "messages": [{ "role": "user", "content": [{ "type": "text", "text": "$" },
            { "type": "image_url", "image_url": {} }] }] }),
        ),
        (
            "/v1/responses",
            json!({ "input": [{ "role": "user", "content": [{ "type": "input_text", "text": "$" },
            { "type": "input_image", "image_url": "data:" }] }] }),
        ),
        (
            "/v1beta/models/m:generateContent",
            json!({ "contents": [{ "role": "user", "parts": [{ "text": "$" },
            { "inlineData": { "mimeType": "image/png", "data": "" } }] }] }),
        ),
    ];
    for (path, body) in bodies {
        let play = model.play(Script::default());
        let response = send(model.address(), "POST", path, &body.to_string().replace('$', &play.marker())).await;
        assert_eq!((response.status, play.requests()[0].images), (200, 1), "{path}");
    }
    let call = ToolCall::Named { name: "note".to_owned(), arguments: json!({ "a": 1 }) };
    let write = ToolCall::Write { path: "/a".to_owned(), before: None, text: "x\ny".to_owned() };
    let play = model.play(Script::new(vec![Step::Call(vec![call, write])]));
    let body = json!({ "input": play.marker(), "tools": [
        { "type": "web_search" }, { "type": "custom", "name": "apply_patch" },
        { "type": "namespace", "name": "mcp__ours", "tools": [{ "type": "function", "name": "note", "parameters": {} }] },
    ] });
    let output = send(model.address(), "POST", "/v1/responses", &body.to_string()).await.json()["output"].clone();
    assert_eq!(output[0]["namespace"], "mcp__ours");
    assert_eq!((&output[1]["type"], &output[1]["name"]), (&json!("custom_tool_call"), &json!("apply_patch")));
    assert_eq!(output[1]["input"], "*** Begin Patch\n*** Add File: /a\n+x\n+y\n*** End Patch\n");
}

//! Examinations at the level `turns`: an agent that carries out turns as the protocol says, and agents that deviate.

use std::time::Duration;

use acp_registry::examination::{CHECKS, Check, CheckVerdict, Examination, ExaminationPlan, Level};

use crate::examined::{for_each, not_passed, planned, with};

fn examined_within(case: &[&str], patience: Duration) -> Examination {
    let mut plan = ExaminationPlan::up_to(Level::Turns);
    plan.only = |check| check.level() == Level::Turns;
    planned(case, patience, &plan)
}

fn examined(case: &[&str]) -> Examination {
    examined_within(case, Duration::from_secs(4))
}

fn checks() -> Vec<&'static Check> {
    CHECKS.iter().copied().filter(|check| check.level() == Level::Turns).collect()
}

fn is_alone(examination: &Examination, id: &str, text: &str) -> Result<(), String> {
    let found = not_passed(examination);
    let is_right = found.len() == 1 && found[0].0 == id && found[0].1.contains(text) && !found[0].1.is_empty();
    let others = || with(examination, &[CheckVerdict::NotExercised]);
    if is_right { Ok(()) } else { Err(format!("{id}: {found:?}, not exercised: {:?}", others())) }
}

#[test]
fn the_failing_exchange_of_each_check_fails_that_check_and_no_other() {
    for_each(&checks(), |check| is_alone(&examined(&["turns", "", &check.failing_exchange()]), check.id, ""));
}

#[test]
fn the_passing_exchange_of_each_check_passes_all() {
    for_each(&checks(), |check| {
        let examination = examined(&["turns", "", &check.passing_exchange()]);
        let found = with(&examination, &[CheckVerdict::Fail, CheckVerdict::Warning, CheckVerdict::NotExercised]);
        if found.is_empty() { Ok(()) } else { Err(format!("{}: {found:?}", check.id)) }
    });
}

/// An agent that answers prompts without a model says nothing about turns with one.
#[test]
fn an_agent_that_does_not_reach_the_model_is_not_exercised() {
    let prompt = r#"client {"id":3,"method":"session/prompt","params":{}}"#;
    for (answer, reason) in [
        (r#"{"jsonrpc":"2.0","id":3,"result":{"stopReason":"end_turn"}}"#, "ends a turn without a request to the"),
        (r#"{"jsonrpc":"2.0","id":3,"error":{"code":-32603,"message":"No key\u001b"}}"#, "with error -32603: `No key"),
    ] {
        let exchange = format!("{}\nagent {answer}", prompt.replace("{}}", "{\"sessionId\":\"$ANY\"}}"));
        let examination = examined(&["sessions", "", &exchange]);
        assert_eq!(examination.reached, Some(Level::Handshake));
        let reasons = with(&examination, &[CheckVerdict::NotExercised]);
        let other = reasons.iter().filter(|(_, text)| !text.contains(reason) && !text.contains("not advertise"));
        assert_eq!((reasons.len(), other.count()), (checks().len(), 0), "{reasons:?}");
    }
}

/// The mode of a recipe is set before each turn.
#[test]
fn turns_are_carried_out_in_the_mode_of_the_recipe() {
    let mut plan = ExaminationPlan::up_to(Level::Turns);
    plan.only = |check| check.id == "turns/text";
    let mut verdict_in = |mode: Option<&str>| {
        plan.recipe.mode = mode.map(str::to_owned);
        planned(&["turns", "needs-mode", ""], Duration::from_secs(4), &plan).checks[0].verdict
    };
    assert_eq!(verdict_in(None), CheckVerdict::NotExercised);
    assert_eq!(verdict_in(Some("another")), CheckVerdict::NotExercised);
    assert_eq!(verdict_in(Some("of-recipe")), CheckVerdict::Pass);
}

/// Deviations of the fake agent's behavior: the check that notices, the deviation, and a part of the message.
const BREAKS: &[(&str, &str, &str)] = &[
    ("approval", "drops-result@calls shell approved/allow", "does not send the result of a tool to the model"),
    ("approval", "makes-up-output@calls shell approved/allow", "does not pass the output of a command to the model"),
    ("approval", "elsewhere@calls shell approved/allow", "does not run a command that was approved"),
    ("approval", "exits@sends Approved", "ends (exit code 7) instead of answering `session/prompt`"),
    ("cancel-permission", "runs-cancelled@calls shell cancelled", "runs a command after the turn was cancelled"),
    ("cancel-permission", "runs-at-once@calls shell cancelled", "runs a command after the turn was cancelled"),
    ("cancel-streaming", "exits@sends Waiting/cancel", "ends (exit code 7) instead of answering"),
    ("cancel-updates", "talks-on@sends Waiting/cancel", "sends an update of the kind `agent_message_chunk` after"),
    ("embedded-context", "drops-resource", "does not pass the text of a resource"),
    ("embedded-context", "exits@sends Embedded", "ends (exit code 7)"),
    ("file-reads", "reads-saved", "which gets `acp-registry-saved"),
    ("file-reads", "names-another-session@calls read unsaved", "sends `fs/read_text_file` with another `sessionId`"),
    ("file-writes", "names-another-session@calls write written/allow", "sends `fs/write_text_file` with another"),
    ("history", "forgets-answers", "does not tell the model what the model itself said"),
    (
        "permission-options",
        "names-another-session@calls shell options",
        "sends `session/request_permission` with another",
    ),
    ("file-writes", "writes-elsewhere", "writes another file than the model wants"),
    (
        "mcp-tools",
        "drops-result@calls acp_registry_echo Echo/allow",
        "does not pass the result of an MCP server's tool to the model",
    ),
    ("mcp-tools", "makes-up-results@calls acp_registry_echo Echo/allow", "does not call a tool of an MCP server"),
    ("mcp-tools", "drops-arguments@calls acp_registry_echo Echo/allow", "with other arguments than those of the model"),
    ("mcp-http", "makes-up-results@calls acp_registry_echo Http/allow", "does not call a tool of an MCP server"),
    ("mcp-http", "drops-headers", "does not send the `headers` of an HTTP MCP server"),
    ("mcp-http", "cuts-headers", "sends `a=b` instead of `a=b 'c' $HOME` in the `headers` of an HTTP MCP server"),
    (
        "mcp-http",
        "refuses-http",
        "answers `session/new` with error -32603: `No such transport` if it has an HTTP MCP server",
    ),
    ("mcp-http", "ignores-http", "does not send `initialize` to the HTTP MCP server"),
    ("cancel-idle", "exits@sends Idle", "ends (exit code 7) instead of answering"),
    ("after-cancel", "exits@sends After-cancel", "ends (exit code 7) instead of answering"),
    ("cancel-request", "exits@sends Waiting/cancel_request", "ends (exit code 7) instead of answering"),
    ("elicitation", "drops-answers", "does not pass the answer to a question to the model"),
    ("elicitation", "exits@sends Asked", "instead of answering `session/prompt` after the action `accept`"),
    ("cancel-other", "freezes-others", "stops sending the text of another session when one is cancelled"),
    ("close", "closes-all", "in the turn after `session/close` of another session"),
    ("close", "ignores-close", "does not answer `session/prompt` after `session/close`"),
    ("load", "forgets session/load", "does not tell the model what was said before `session/load`"),
    ("resume", "forgets session/resume", "does not tell the model what was said before `session/resume`"),
    ("load", "replays-nothing", "does not replay the message of the person"),
    ("load", "replays-backwards", "replays the message of the agent before that of the person"),
    ("resume", "replays-late", "replays messages after it answers `session/resume`"),
    ("load", "answers-first", "answers `session/load` before it replays the message of the person"),
    ("load", "refuses session/load", "after a turn with error -32602: `$SESSION is not there`"),
    ("resume", "refuses session/resume", "answers `session/resume` after a turn with error -32602"),
    ("resume", "exits@sends Resumed", "ends (exit code 7) instead of answering `session/prompt`, in the turn after"),
    ("images", "drops-image", "does not pass an image to the model"),
    ("images", "exits@sends Image", "ends (exit code 7)"),
    ("long-answer", "exits@sends Answer", "ends (exit code 7)"),
    ("long-answer", "loses-middle@sends Answer", "sends 10560 of 33792 lines of an answer of "),
    ("long-prompt", "truncates", "of 200000 bytes of a prompt"),
    ("model-breaks-off", "dies@breaks off", "in the turn after the model broke off"),
    (
        "model-breaks-off",
        "exits@breaks off",
        "ends (exit code 7) instead of answering `session/prompt` after the model broke",
    ),
    ("model-error", "dies@fails with 500", "in the turn after the model answered with the status 500"),
    ("model-error", "exits@fails with 500", "ends (exit code 7)"),
    ("model-rate-limit", "dies@fails with 429", "in the turn after the model answered with the status 429"),
    ("model-rate-limit", "exits@fails with 429", "ends (exit code 7)"),
    ("parallel-sessions", "mixes-sessions", "of another"),
    ("refusal", "exits@refuses", "ends (exit code 7)"),
    ("rejection", "runs-at-once@calls shell rejected", "runs a command after the permission was rejected"),
    ("resource-links", "exits@sends Linked", "ends (exit code 7)"),
    ("streaming", "holds-text@sends Stream", "sends text only when the model has finished"),
    ("streaming", "holds-the-rest@sends Stream", "sends further text only when the model has finished"),
    (
        "terminals",
        "names-another-session@calls shell terminal/allow",
        "sends `terminal/create` with another `sessionId`",
    ),
    ("terminals", "terminal-elsewhere@calls shell terminal/allow", "creates a terminal in `/` instead of the `cwd`"),
    ("terminals", "keeps-terminals", "creates 1 terminals, and releases 0 of them"),
    ("text", "says-twice@sends Text", "sends the text of the model 2 times"),
    ("text", "no-response@sends Text", "does not answer `session/prompt`"),
    ("text", "exits@sends Text", "ends (exit code 7) instead of answering `session/prompt`"),
    ("tool-call-status", "goes-back@calls shell status/allow", "back to the status `in_progress`"),
    (
        "tool-call-status",
        "repeats-ids@calls shell status;repeats-ids@calls shell status/allow",
        "sets the tool call `call-1` back to the status `pending`",
    ),
    ("token-limit", "exits@reaches its limit", "ends (exit code 7)"),
    (
        "tool-calls",
        "unreported@calls shell reported;unreported@calls shell reported/allow",
        "does not report a tool call",
    ),
];

#[test]
fn every_break_fails_its_check_and_no_other() {
    for_each(BREAKS, |(name, deviation, text)| {
        let result = is_alone(&examined(&["turns", deviation, ""]), &format!("turns/{name}"), text);
        result.map_err(|error| format!("{deviation}: {error}"))
    });
}

/// More exchanges that break a check: its name, the exchange, and a part of the message.
fn exchanges() -> Vec<(&'static str, String, &'static str)> {
    let response = |event: &str, rest: &str| format!("model {event}\nagent {{\"jsonrpc\":\"2.0\",\"id\":3,{rest}}}");
    let stops = |event: &str, reason: &str| response(event, &format!("\"result\":{{\"stopReason\":\"{reason}\"}}"));
    let error = |event: &str| response(event, "\"error\":{\"code\":-32603,\"message\":\"No\\u001b\"}");
    let cancelled = |event: &str, line: &str| {
        format!("model {event}\nclient {{\"method\":\"session/cancel\",\"params\":{{}}}}\n{line}")
    };
    let reason = |reason: &str| format!("agent {{\"result\":{{\"stopReason\":\"{reason}\"}}}}");
    let update = |event: &str, update: &str| {
        format!("model {event}\nagent {{\"method\":\"session/update\",\"params\":{{\"update\":{{{update}}}}}}}")
    };
    let chunk = |event: &str, text: &str| {
        update(event, &format!("\"sessionUpdate\":\"agent_message_chunk\",\"content\":{{\"text\":\"{text}\"}}"))
    };
    let options = |options: &str| {
        let method = "\"method\":\"session/request_permission\"";
        format!("model calls shell options\nagent {{{method},\"params\":{{\"options\":[{options}]}}}}")
    };
    vec![
        ("approval", error("sends Approved"), "answers `session/prompt` with error -32603: `No\\u{1b}`"),
        (
            "cancel-permission",
            cancelled("calls shell cancelled", &reason("end_turn")),
            "`end_turn` instead of `cancelled`",
        ),
        (
            "cancel-permission",
            cancelled("calls shell cancelled", &reason("refusal")),
            "`refusal` instead of `cancelled`",
        ),
        ("cancel-streaming", cancelled("sends Waiting", &reason("end_turn")), "`end_turn` instead of `cancelled`"),
        ("embedded-context", error("sends Embedded"), "with error -32603"),
        ("images", error("sends Image"), "with error -32603"),
        ("long-answer", error("sends Answer"), "with error -32603"),
        ("long-prompt", error("sends Long"), "with error -32603"),
        ("model-breaks-off", chunk("sends After-break", ""), "does not send the text of the model in the turn after"),
        ("model-error", chunk("sends After-500", ""), "does not send the text of the model in the turn after"),
        ("model-rate-limit", chunk("sends After-429", ""), "does not send the text of the model in the turn after"),
        ("after-cancel", chunk("sends After-cancel", ""), "does not send the text of the model in the turn after"),
        ("cancel-idle", stops("sends Idle", "max_tokens"), "instead of `end_turn`"),
        (
            "tool-calls",
            "model calls shell reported\n\
                agent {\"method\":\"session/update\",\"params\":{\"update\":{\"sessionUpdate\":\"tool_call\",\"toolCallId\":\"other\",\"status\":\"completed\"}}}".to_string(),
            "which it has not reported",
        ),
        ("parallel-sessions", error("sends Parallel"), "with error -32603"),
        ("permission-options", options(""), "without options"),
        ("permission-options", options(r#"{"optionId":"a","name":" ","kind":"allow_once"}"#), "`a`, which has no name"),
        (
            "permission-options",
            options(r#"{"optionId":"a","name":"A","kind":"yes\u001b"}"#),
            "unknown kind `yes\\u{1b}`",
        ),
        ("refusal", error("refuses"), "with error -32603: `No\\u{1b}` to a refusal"),
        ("rejection", error("sends Rejected"), "with error -32603"),
        ("resource-links", error("sends Linked"), "with error -32603"),
        ("text", chunk("sends Text", "Text part 0 of 19. "), "does not send the text of the model in order"),
        ("text", chunk("sends Text", "\\u001b[2J"), "`\\u{1b}[2J"),
        ("text", stops("sends Text", "max_tokens"), "`max_tokens` instead of `end_turn`"),
        ("text", stops("sends Text", "cancelled"), "`cancelled` instead of `end_turn`"),
        ("text", error("sends Text"), "with error -32603"),
        ("token-limit", stops("reaches its limit", "refusal"), "stops with `refusal`"),
        ("token-limit", error("reaches its limit"), "with error -32603"),
        (
            "tool-calls",
            "model calls shell reported\nclient {\"id\":9,\"result\":{\"outcome\":{\"optionId\":\"allow\"}}}\n\
                agent {\"method\":\"session/update\",\"params\":{\"update\":{\"sessionUpdate\":\"tool_call_update\"}}}\n\
                agent {\"method\":\"session/update\",\"params\":{\"update\":{\"sessionUpdate\":\"tool_call_update\",\"status\":\"pending\"}}}".to_string(),
            "with the status `pending` at the end of the turn",
        ),
    ]
}

#[test]
fn more_exchanges_fail_their_check_and_no_other() {
    for_each(&exchanges(), |(name, exchange, text)| {
        let result = is_alone(&examined(&["turns", "", exchange]), &format!("turns/{name}"), text);
        result.map_err(|error| format!("{error}\n  {exchange}"))
    });
}

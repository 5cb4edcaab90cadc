//! The forms of messages in version 1 of the protocol, by its published schema.

use super::kind::ValueKind::{
    self, Bool, Count, Either, List, Lists, Maybe, Note, Null, Number, Object, OneOf, Size, Tagged, Text, Version,
};
use super::kind::{ObjectMember, optional, wanted};

const CAPABILITIES: ValueKind = Object(&[
    optional("loadSession", Bool),
    optional(
        "promptCapabilities",
        Object(&[optional("image", Bool), optional("audio", Bool), optional("embeddedContext", Bool)]),
    ),
    optional("mcpCapabilities", Object(&[optional("http", Bool), optional("sse", Bool)])),
    optional(
        "sessionCapabilities",
        Object(&[
            optional("list", Maybe(&[])),
            optional("delete", Maybe(&[])),
            optional("additionalDirectories", Maybe(&[])),
            optional("resume", Maybe(&[])),
            optional("close", Maybe(&[])),
        ]),
    ),
    optional("auth", Object(&[optional("logout", Maybe(&[]))])),
]);

const AUTH_METHOD: ValueKind = Object(&[wanted("id", Text), wanted("name", Text), optional("description", Note)]);

/// The result of `initialize`.
pub(super) const INITIALIZE: ValueKind = Object(&[
    wanted("protocolVersion", Version),
    optional("agentCapabilities", CAPABILITIES),
    optional("authMethods", List(&AUTH_METHOD)),
    optional("agentInfo", Maybe(&[wanted("name", Text), wanted("version", Text), optional("title", Note)])),
]);

const MODES: &[ObjectMember] = &[
    wanted("currentModeId", Text),
    wanted("availableModes", List(&Object(&[wanted("id", Text), wanted("name", Text), optional("description", Note)]))),
];

const VALUE: ValueKind = Object(&[wanted("value", Text), wanted("name", Text), optional("description", Note)]);

const GROUP: ValueKind = Object(&[wanted("group", Text), wanted("name", Text), wanted("options", List(&VALUE))]);

const OPTION_ID: ObjectMember = wanted("id", Text);
const OPTION_NAME: ObjectMember = wanted("name", Text);
const DESCRIPTION: ObjectMember = optional("description", Note);
const CATEGORY: ObjectMember = optional("category", Note);

const OPTION: ValueKind = Tagged(
    "type",
    &[
        (
            "select",
            &[
                OPTION_ID,
                OPTION_NAME,
                DESCRIPTION,
                CATEGORY,
                wanted("currentValue", Text),
                wanted("options", Either(&[List(&VALUE), List(&GROUP)])),
            ],
        ),
        ("boolean", &[OPTION_ID, OPTION_NAME, DESCRIPTION, CATEGORY, wanted("currentValue", Bool)]),
    ],
);

/// What responses that open a session may have.
const OPENED: &[ObjectMember] = &[optional("modes", Maybe(MODES)), optional("configOptions", Lists(&OPTION))];

const NEW: &[ObjectMember] = &[SESSION, optional("modes", Maybe(MODES)), optional("configOptions", Lists(&OPTION))];

const LISTED: ValueKind = Object(&[
    SESSION,
    wanted("cwd", Text),
    optional("additionalDirectories", List(&Text)),
    optional("title", Note),
    optional("updatedAt", Note),
]);

const STOP_REASON: ValueKind = OneOf(&["end_turn", "max_tokens", "max_turn_requests", "refusal", "cancelled"]);

/// The results of requests, by method. Where the schema has an object without required members, `null` is allowed too,
/// as in the examples of several pages.
pub(super) const RESULTS: &[(&str, ValueKind)] = &[
    ("session/new", Object(NEW)),
    ("session/fork", Object(NEW)),
    ("session/load", Maybe(OPENED)),
    ("session/resume", Maybe(OPENED)),
    ("session/list", Object(&[wanted("sessions", List(&LISTED)), optional("nextCursor", Note)])),
    ("session/close", Maybe(&[])),
    ("session/delete", Maybe(&[])),
    ("session/set_mode", Maybe(&[])),
    ("session/set_config_option", Object(&[wanted("configOptions", List(&OPTION))])),
    ("session/prompt", Object(&[wanted("stopReason", STOP_REASON)])),
    ("authenticate", Maybe(&[])),
];

const SESSION: ObjectMember = wanted("sessionId", Text);

const BLOCK: ValueKind = Tagged(
    "type",
    &[
        ("text", &[wanted("text", Text)]),
        ("image", &[wanted("data", Text), wanted("mimeType", Text), optional("uri", Note)]),
        ("audio", &[wanted("data", Text), wanted("mimeType", Text)]),
        ("resource_link", &[wanted("name", Text), wanted("uri", Text), optional("size", Size)]),
        ("resource", &[wanted("resource", Either(&[TEXT_RESOURCE, BLOB_RESOURCE]))]),
    ],
);

const TEXT_RESOURCE: ValueKind = Object(&[wanted("uri", Text), wanted("text", Text), optional("mimeType", Note)]);
const BLOB_RESOURCE: ValueKind = Object(&[wanted("uri", Text), wanted("blob", Text), optional("mimeType", Note)]);

const CHUNK: &[ObjectMember] = &[wanted("content", BLOCK), optional("messageId", Note)];

const TOOL_CONTENT: ValueKind = Tagged(
    "type",
    &[
        ("content", &[wanted("content", BLOCK)]),
        ("diff", &[wanted("path", Text), wanted("newText", Text), optional("oldText", Note)]),
        ("terminal", &[wanted("terminalId", Text)]),
    ],
);

const LOCATION: ValueKind = Object(&[wanted("path", Text), optional("line", Size)]);

const TOOL_KIND: ValueKind =
    OneOf(&["read", "edit", "delete", "move", "search", "execute", "think", "fetch", "switch_mode", "other"]);

const TOOL_STATUS: ValueKind = OneOf(&["pending", "in_progress", "completed", "failed"]);

const TOOL_CALL: &[ObjectMember] = &[
    wanted("toolCallId", Text),
    wanted("title", Text),
    optional("kind", TOOL_KIND),
    optional("status", TOOL_STATUS),
    optional("content", List(&TOOL_CONTENT)),
    optional("locations", List(&LOCATION)),
];

/// A change of a tool call, in which `null` means that a member is unchanged.
const TOOL_CALL_UPDATE: &[ObjectMember] = &[
    wanted("toolCallId", Text),
    optional("title", Note),
    optional("kind", Either(&[TOOL_KIND, Null])),
    optional("status", Either(&[TOOL_STATUS, Null])),
    optional("content", Lists(&TOOL_CONTENT)),
    optional("locations", Lists(&LOCATION)),
];

const PLAN_ENTRY: ValueKind = Object(&[
    wanted("content", Text),
    wanted("priority", OneOf(&["high", "medium", "low"])),
    wanted("status", OneOf(&["pending", "in_progress", "completed"])),
]);

const COMMAND: ValueKind =
    Object(&[wanted("name", Text), wanted("description", Text), optional("input", Maybe(&[wanted("hint", Text)]))]);

const UPDATE: ValueKind = Tagged(
    "sessionUpdate",
    &[
        ("user_message_chunk", CHUNK),
        ("agent_message_chunk", CHUNK),
        ("agent_thought_chunk", CHUNK),
        ("tool_call", TOOL_CALL),
        ("tool_call_update", TOOL_CALL_UPDATE),
        ("plan", &[wanted("entries", List(&PLAN_ENTRY))]),
        ("available_commands_update", &[wanted("availableCommands", List(&COMMAND))]),
        // An example names the member `modeId`, so that neither is required.
        ("current_mode_update", &[optional("currentModeId", Text), optional("modeId", Text)]),
        ("config_option_update", &[wanted("configOptions", List(&OPTION))]),
        ("session_info_update", &[optional("title", Note), optional("updatedAt", Note)]),
        (
            "usage_update",
            &[
                wanted("used", Count),
                wanted("size", Count),
                optional("cost", Maybe(&[wanted("amount", Number), wanted("currency", Text)])),
            ],
        ),
    ],
);

const PERMISSION: ValueKind = Object(&[
    wanted("optionId", Text),
    wanted("name", Text),
    wanted("kind", OneOf(&["allow_once", "allow_always", "reject_once", "reject_always"])),
]);

const VARIABLE: ValueKind = Object(&[wanted("name", Text), wanted("value", Text)]);

const TERMINAL: ValueKind = Object(&[SESSION, wanted("terminalId", Text)]);

/// The parameters of agents' requests and notifications, by method.
pub(super) const PARAMS: &[(&str, ValueKind)] = &[
    ("session/update", Object(&[SESSION, wanted("update", UPDATE)])),
    (
        "session/request_permission",
        Object(&[SESSION, wanted("toolCall", Object(TOOL_CALL_UPDATE)), wanted("options", List(&PERMISSION))]),
    ),
    ("fs/read_text_file", Object(&[SESSION, wanted("path", Text), optional("line", Size), optional("limit", Size)])),
    ("fs/write_text_file", Object(&[SESSION, wanted("path", Text), wanted("content", Text)])),
    (
        "terminal/create",
        Object(&[
            SESSION,
            wanted("command", Text),
            optional("args", List(&Text)),
            optional("env", List(&VARIABLE)),
            optional("cwd", Note),
            optional("outputByteLimit", Size),
        ]),
    ),
    ("terminal/output", TERMINAL),
    ("terminal/release", TERMINAL),
    ("terminal/wait_for_exit", TERMINAL),
    ("terminal/kill", TERMINAL),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::examination::kind::problem;
    use serde_json::{Value, json};

    fn updated(update: &Value) -> Option<String> {
        problem(update, UPDATE, "update")
    }

    #[test]
    fn updates_of_sessions_have_the_members_that_clients_need() {
        let text = json!({ "type": "text", "text": "a" });
        for (update, expected) in [
            (json!({ "sessionUpdate": "agent_message_chunk" }), "`update` has no `content`"),
            (json!({ "sessionUpdate": "agent_message_chunk", "content": [] }), "`update.content` is not an object"),
            (
                json!({ "sessionUpdate": "agent_thought_chunk", "content": { "type": "text" } }),
                "`update.content` has no `text`",
            ),
            (json!({ "sessionUpdate": "tool_call", "toolCallId": "1" }), "`update` has no `title`"),
            (
                json!({ "sessionUpdate": "tool_call", "toolCallId": "1", "title": "", "kind": "run" }),
                "`update.kind` is none of read, edit, delete, move, search, execute, think, fetch, switch_mode, other",
            ),
            (
                json!({ "sessionUpdate": "tool_call_update", "toolCallId": "1", "status": "done" }),
                "`update.status` is none of pending, in_progress, completed, failed",
            ),
            (json!({ "sessionUpdate": "tool_call_update", "toolCallId": "1", "content": [text] }), ""),
            (
                json!({ "sessionUpdate": "tool_call_update", "toolCallId": "1", "content": [{ "type": "diff", "path": "/a" }] }),
                "`update.content[0]` has no `newText`",
            ),
            (
                json!({ "sessionUpdate": "plan", "entries": [{ "content": "a", "priority": "top", "status": "pending" }] }),
                "`update.entries[0].priority` is none of high, medium, low",
            ),
            (
                json!({ "sessionUpdate": "usage_update", "used": -1, "size": 2 }),
                "`update.used` is not a natural number",
            ),
            (
                json!({ "sessionUpdate": "config_option_update", "configOptions": [{ "id": "a", "name": "A", "type": "select",
                        "currentValue": "b", "options": [{ "group": "g", "name": "G", "options": [{ "value": "b" }] }] }] }),
                "`update.configOptions[0].options[0]` has no `value`",
            ),
            (json!({ "sessionUpdate": 1 }), "`update` has no string `sessionUpdate`"),
        ] {
            assert_eq!(updated(&update).unwrap_or_default(), expected, "{update}");
        }
    }

    #[test]
    fn what_the_schema_allows_is_allowed() {
        for update in [
            json!({ "sessionUpdate": "_vendor_update", "content": 1 }),
            json!({ "sessionUpdate": "user_message_chunk", "content": { "type": "video" }, "messageId": null }),
            json!({ "sessionUpdate": "user_message_chunk",
                    "content": { "type": "resource", "resource": { "uri": "a:", "blob": "" } } }),
            json!({ "sessionUpdate": "tool_call_update", "toolCallId": "1", "kind": null, "status": null, "content": null,
                    "rawInput": [1], "locations": [{ "path": "/a", "line": 0 }] }),
            json!({ "sessionUpdate": "usage_update", "used": 1, "size": 2, "cost": { "amount": 0.5, "currency": "USD" } }),
            json!({ "sessionUpdate": "current_mode_update", "modeId": "a" }),
            json!({ "sessionUpdate": "config_option_update", "configOptions": [
                { "id": "a", "name": "A", "type": "select", "currentValue": "b", "category": null,
                  "options": [{ "group": "g", "name": "G", "options": [{ "value": "b", "name": "B" }] }] },
                { "id": "c", "name": "C", "type": "boolean", "currentValue": false }, { "type": "slider" },
            ] }),
            json!({ "sessionUpdate": "available_commands_update",
                    "availableCommands": [{ "name": "a", "description": "", "input": null, "_meta": {} }] }),
        ] {
            assert_eq!(updated(&update), None, "{update}");
        }
    }
}

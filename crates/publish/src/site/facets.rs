//! The filters of the catalog. A filter value is a set of bits in a column; an agent has one set of bits per column.

use super::capabilities::{Opening, Support};
use acp_registry_client::index::LicenseKind;
use acp_registry_examine::examination::{Judgement, Level};
use acp_registry_gate::verify::{EarlierExamination, LastAnswer, OfferedMethod, Unanswered};
use acp_registry_plan::manifest::{Agent, Platform};

/// The number of columns.
pub(super) const COLUMNS: usize = 8;

pub(super) const PLATFORM: usize = 0;
pub(super) const DIST: usize = 1;
pub(super) const LICENSE: usize = 2;
pub(super) const AUTH: usize = 3;
const CAPABILITY: usize = 4;
const PROTOCOL: usize = 5;
const STARTED: usize = 6;
/// The last column, which is left out of the catalog if no agent was examined.
pub(super) const EXAMINED: usize = 7;

/// Bit of agents with packages, which state no systems: they run wherever Node.js or uv does.
pub(super) const NO_PLATFORM: u32 = 1 << 6;
/// Bits of agents with a licence that is open source, and with another one.
pub(super) const OPEN: u32 = 1;
pub(super) const PROPRIETARY: u32 = 1 << 1;
pub(super) const UNLICENSED: u32 = 1 << 2;
/// Bits of sign-in.
pub(super) const NO_KEY: u32 = 1;
pub(super) const API_KEY: u32 = 1 << 1;
pub(super) const OPENS: u32 = 1 << 2;
/// Bits of the kinds of distributions.
pub(super) const BINARY: u32 = 1;
pub(super) const NPX: u32 = 1 << 1;
pub(super) const UVX: u32 = 1 << 2;
/// Bits of agents that fail a requirement of the level that was asked for, and of those that were not examined.
pub(super) const FAILED: u32 = 1 << 4;
pub(super) const UNEXAMINED: u32 = 1 << 5;

/// The names of the columns in the catalog.
pub(super) const COLUMN_NAMES: [&str; COLUMNS] =
    ["platform", "dist", "license", "auth", "cap", "protocol", "started", "tested"];

/// A group of filter values. Chosen values are alternatives, except capabilities, which are all required.
pub(super) struct FacetGroup {
    /// Name in URLs.
    pub(super) key: &'static str,
    /// Heading.
    pub(super) title: &'static str,
    /// What the values mean, where their labels do not say it; may be empty.
    pub(super) hint: &'static str,
    /// Index of the column.
    pub(super) column: usize,
    /// Whether an agent must have all chosen values, instead of any.
    pub(super) is_all: bool,
    /// The values of the group.
    pub(super) values: &'static [Value],
}

/// A value of a group.
pub(super) struct Value {
    /// Name in URLs.
    pub(super) slug: &'static str,
    /// Label on pages.
    pub(super) label: &'static str,
    /// An agent has this value if it has any of these bits.
    pub(super) bits: u32,
}

const fn value(slug: &'static str, label: &'static str, bits: u32) -> Value {
    Value { slug, label, bits }
}

const fn group(key: &'static str, title: &'static str, column: usize, values: &'static [Value]) -> FacetGroup {
    FacetGroup { key, title, hint: "", column, is_all: false, values }
}

/// All groups, those that people use most first. Systems and processors share the platform column, with the bits of [`Platform::ALL`], so that a system
/// and a processor chosen together match a single platform.
pub(super) const GROUPS: &[FacetGroup] = &[
    FacetGroup {
        hint: "Agents by npx or uvx run on any.",
        ..group(
            "os",
            "System",
            PLATFORM,
            &[
                value("windows", "Windows", 0b11_0000 | NO_PLATFORM),
                value("macos", "macOS", 0b11 | NO_PLATFORM),
                value("linux", "Linux", 0b1100 | NO_PLATFORM),
                value("unstated", "Any, by npx or uvx", NO_PLATFORM),
            ],
        )
    },
    FacetGroup {
        hint: "As stated by the publisher.",
        ..group(
            "license",
            "Licence",
            LICENSE,
            &[
                value("open", "Open source", OPEN),
                value("proprietary", "Proprietary", PROPRIETARY),
                value("none", "Not stated", UNLICENSED),
            ],
        )
    },
    group(
        "auth",
        "Sign-in",
        AUTH,
        &[
            value("no-key", "Without an API key", NO_KEY),
            value("api-key", "With an API key", API_KEY),
            value("not-needed", "Opens a session unsigned", OPENS),
            value("none", "None offered", 1 << 3),
            value("untested", "Not known", 1 << 4),
        ],
    ),
    group(
        "dist",
        "Runs as",
        DIST,
        &[
            value("binary", "Local binary", BINARY),
            value("npx", "npx (needs Node.js)", NPX),
            value("uvx", "uvx (needs uv)", UVX),
        ],
    ),
    group(
        "started",
        "Last start",
        STARTED,
        &[
            value("answered", "Answered", 1),
            value("silent", "Did not answer", 1 << 1),
            value("failed", "Could not be started", 1 << 2),
            value("untested", "Not tried yet", 1 << 3),
        ],
    ),
    group(
        "tested",
        "Examined",
        EXAMINED,
        &[
            value("protocol", "Keeps the protocol", 1),
            value("sessions", "And in sessions", 1 << 1),
            value("turns", "And in turns", 1 << 2),
            value("drafts", "And in drafts", 1 << 3),
            value("failed", "Fails a requirement", FAILED),
            value("incomplete", "Incomplete", 1 << 6),
            value("untested", "Not examined", UNEXAMINED),
        ],
    ),
    FacetGroup {
        is_all: true,
        ..group(
            "cap",
            "Capabilities",
            CAPABILITY,
            &[
                value("session-load", "Load sessions", 1),
                value("session-list", "List sessions", 1 << 1),
                value("session-resume", "Resume sessions", 1 << 2),
                value("session-close", "Close sessions", 1 << 3),
                value("session-delete", "Delete sessions", 1 << 4),
                value("session-fork", "Fork sessions", 1 << 5),
                value("session-inject", "Session inject", 1 << 6),
                value("prompt-image", "Images in prompts", 1 << 7),
                value("prompt-audio", "Audio in prompts", 1 << 8),
                value("prompt-embedded-context", "Embedded context", 1 << 9),
                value("mcp-http", "MCP over HTTP", 1 << 10),
                value("mcp-sse", "MCP over SSE", 1 << 11),
                value("mcp-acp", "MCP over ACP", 1 << 12),
                value("auth-logout", "Sign out", 1 << 13),
                value("providers", "Choice of provider", 1 << 14),
                value("elicitation", "Elicitation", 1 << 15),
                value("fs-hitl-editing", "HITL editing", 1 << 16),
                value("nes", "Next edit suggestions (NES)", 1 << 17),
            ],
        )
    },
    group(
        "arch",
        "Processor",
        PLATFORM,
        &[
            value("aarch64", "Arm (aarch64)", 0b01_0101 | NO_PLATFORM),
            value("x86-64", "Intel, AMD (x86_64)", 0b10_1010 | NO_PLATFORM),
        ],
    ),
    group(
        "protocol",
        "Protocol",
        PROTOCOL,
        &[value("v1", "Version 1", 1), value("v2", "Version 2", 2), value("untested", "Not known", 4)],
    ),
];

/// The feature name and the filter value of each capability that pages show.
pub(super) fn capabilities() -> impl Iterator<Item = (String, &'static Value)> {
    let values = GROUPS.iter().filter(|group| group.column == CAPABILITY).flat_map(|group| group.values);
    values.map(|value| (value.slug.replacen('-', "/", 1), value))
}

/// Returns the bits of an agent in each column.
pub(super) fn bits(agent: &Agent, answer: Option<&LastAnswer>, unanswered: Option<&Unanswered>) -> [u32; COLUMNS] {
    let mut bits = [0; COLUMNS];
    let distribution = &agent.distribution;
    for (at, platform) in Platform::ALL.iter().enumerate() {
        if distribution.binary.iter().any(|target| target.platform == platform.as_str()) {
            bits[PLATFORM] |= 1 << at;
        }
    }
    if distribution.packages().next().is_some() {
        bits[PLATFORM] |= NO_PLATFORM;
    }
    let kinds = [!distribution.binary.is_empty(), distribution.npx.is_some(), distribution.uvx.is_some()];
    bits[DIST] = kinds.iter().zip([BINARY, NPX, UVX]).filter(|(is_there, _)| **is_there).map(|(_, bit)| bit).sum();
    bits[LICENSE] = match LicenseKind::of(agent.license.as_deref().unwrap_or_default()) {
        LicenseKind::OpenSource => OPEN,
        LicenseKind::Proprietary => PROPRIETARY,
        LicenseKind::Unstated => UNLICENSED,
    };
    bits[EXAMINED] = examination(answer, unanswered).map_or(UNEXAMINED, examined);
    bits[STARTED] = match (answer, unanswered) {
        (Some(_), _) => 1,
        (None, Some(Unanswered { day: Some(_), .. })) => 1 << 1,
        (None, Some(_)) => 1 << 2,
        (None, None) => 1 << 3,
    };
    let Some(answer) = answer else {
        bits[AUTH] = 1 << 4;
        bits[PROTOCOL] = 4;
        return bits;
    };
    bits[AUTH] = sign_in(answer);
    for (feature, value) in capabilities() {
        if Support::of(answer, &feature).is_offered() {
            bits[CAPABILITY] |= value.bits;
        }
    }
    bits[PROTOCOL] = match answer.protocol {
        Some(1) => 1,
        Some(2) => 2,
        _ => 4,
    };
    bits
}

/// The last examination of an agent, whether it answered or not.
pub(super) fn examination<'a>(
    answer: Option<&'a LastAnswer>,
    unanswered: Option<&'a Unanswered>,
) -> Option<&'a EarlierExamination> {
    let unanswered = unanswered.and_then(|unanswered| unanswered.examined.as_ref());
    answer.map_or(unanswered, |answer| answer.examined.as_ref())
}

/// The levels whose requirements an agent keeps, and why it does not keep those of the level that was asked for.
fn examined(examined: &EarlierExamination) -> u32 {
    let record = &examined.record;
    let above = Level::OF_COMMANDS.into_iter().filter(|level| *level > Level::Handshake);
    let levels = above.enumerate().filter(|(_, level)| record.meets(*level)).map(|(at, _)| 1 << at);
    let unmet = match record.judgement(record.level) {
        Judgement::Passed => 0,
        Judgement::Failed => FAILED,
        Judgement::Incomplete => 1 << 6,
    };
    levels.fold(unmet, |bits: u32, bit: u32| bits | bit)
}

/// How users sign in.
fn sign_in(answer: &LastAnswer) -> u32 {
    let of_methods = answer.auth_methods.iter().map(|method| match method.kind.as_str() {
        _ if wants_key(method) => API_KEY,
        "agent" | "terminal" => NO_KEY,
        _ => 0,
    });
    let opens = Opening::of(answer) == Opening::Opens;
    match (of_methods.fold(0, |bits, bit| bits | bit), opens) {
        (0, true) => NO_KEY | OPENS,
        (0, false) => 1 << 3,
        (methods, true) => methods | OPENS,
        (methods, false) => methods,
    }
}

/// Whether a way to sign in wants an API key: by its type, which asks for variables, or by its id or name, because most agents ask
/// for a key in a terminal or by themselves.
fn wants_key(method: &OfferedMethod) -> bool {
    let names_key = |text: &String| {
        let words = text.to_lowercase().replace(|c: char| !c.is_alphanumeric(), " ");
        let before = words.split_once("api key").or_else(|| words.split_once("apikey")).map(|(before, _)| before);
        before.is_some_and(|before| !before.split(' ').any(|word| ["no", "not", "without"].contains(&word)))
    };
    method.kind == "env_var" || names_key(&method.id) || names_key(&method.name)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn agent(value: &serde_json::Value) -> Agent {
        Agent::from_json(value)
    }

    fn group(key: &str) -> &'static FacetGroup {
        GROUPS.iter().find(|group| group.key == key).unwrap()
    }

    #[test]
    fn a_system_and_an_architecture_mean_one_platform() {
        let agent = agent(&json!({ "distribution": { "binary": { "windows-x86_64": {}, "linux-aarch64": {} } } }));
        let bits = bits(&agent, None, None)[PLATFORM];
        let of = |key: &str, slug: &str| group(key).values.iter().find(|value| value.slug == slug).unwrap().bits;
        let has = |system: &str, processor: &str| bits & of("os", system) & of("arch", processor) != 0;
        assert!(has("windows", "x86-64") && has("linux", "aarch64"));
        assert!(!has("windows", "aarch64") && !has("linux", "x86-64") && !has("macos", "aarch64"));
        for (at, platform) in Platform::ALL.iter().enumerate() {
            let system = if platform.os() == "darwin" { "macos" } else { platform.os() };
            let processor = if platform.as_str().ends_with("x86_64") { "x86-64" } else { "aarch64" };
            assert!(of("os", system) & of("arch", processor) & 1 << at != 0, "{platform}");
        }
    }

    #[test]
    fn packages_state_no_system() {
        let of = |distribution: serde_json::Value| {
            bits(&agent(&json!({ "distribution": distribution })), None, None)[PLATFORM]
        };
        assert_eq!(of(json!({ "npx": { "package": "a@1.0.0" } })), NO_PLATFORM);
        assert_eq!(of(json!({ "uvx": { "package": "a" }, "binary": { "linux-x86_64": {} } })), 1 << 3 | NO_PLATFORM);
        assert_eq!(of(json!({})), 0);
    }

    #[test]
    fn sign_in_is_by_key_if_the_type_or_the_name_of_the_method_says_so() {
        let of = |methods: &[(&str, &str)], outcome: &str| {
            let own = |(name, kind): &(&str, &str)| OfferedMethod {
                id: (*name).to_owned(),
                name: (*name).to_owned(),
                kind: (*kind).to_owned(),
            };
            sign_in(&LastAnswer {
                auth_methods: methods.iter().map(own).collect(),
                probes: [("session/new".to_owned(), outcome.to_owned())].into(),
                ..LastAnswer::default()
            })
        };
        assert_eq!(of(&[("Gemini API key", "env_var"), ("Vertex AI", "agent")], "auth_required"), API_KEY | NO_KEY);
        assert_eq!(of(&[("Token", "agent"), ("Other", "magic")], "auth_required"), NO_KEY);
        assert_eq!(of(&[("Login", "env_var")], "error"), API_KEY);
        assert_eq!(of(&[("Use OpenAI API key", "terminal")], "auth_required"), API_KEY);
        assert_eq!(of(&[("factory-api-key", "agent"), ("OPENAI_API_KEY", "other")], "auth_required"), API_KEY);
        assert_eq!(of(&[("ApiKey", "agent"), ("ChatGPT", "agent")], "auth_required"), API_KEY | NO_KEY);
        assert_eq!(of(&[("No API key required", "agent"), ("AI API Gateway", "agent")], "auth_required"), NO_KEY);
        assert_eq!(of(&[("Passkey", "agent")], "ok"), NO_KEY | OPENS);
        assert_eq!(of(&[], "ok"), NO_KEY | OPENS);
        assert_eq!(of(&[], "error"), 1 << 3);
    }

    #[test]
    fn a_start_without_an_answer_differs_from_none() {
        let unanswered = |day: Option<&str>| Unanswered {
            version: None,
            distribution: None,
            day: day.map(Into::into),
            reason: "x".into(),
            exit_code: None,
            examined: None,
            past: Vec::new(),
        };
        let of = |answer: Option<&LastAnswer>, found: Option<Unanswered>| {
            bits(&agent(&json!({})), answer, found.as_ref())[STARTED]
        };
        assert_eq!(of(Some(&LastAnswer::default()), None), 1);
        assert_eq!(of(None, Some(unanswered(Some("2026-11-21")))), 2);
        assert_eq!(of(None, Some(unanswered(None))), 4);
        assert_eq!(of(None, None), 8);
    }

    #[test]
    fn licences_fall_into_three_classes() {
        let class = |license: &serde_json::Value| bits(&agent(&json!({ "license": license })), None, None)[LICENSE];
        assert_eq!(class(&json!("MIT")), 1);
        assert_eq!(class(&json!("MIT OR Apache-2.0")), 1);
        assert_eq!(class(&json!("GPL-3.0-only WITH Classpath-exception-2.0")), 1);
        assert_eq!(class(&json!("MIT AND LicenseRef-x")), 2);
        assert_eq!(class(&json!("proprietary")), 2);
        assert_eq!(class(&json!("NOASSERTION")), 4);
        assert_eq!(class(&json!(null)), 4);
    }

    #[test]
    fn values_have_names_and_bits_of_their_own() {
        for group in GROUPS {
            let mut seen = 0;
            for value in group.values {
                // Packages run on all systems.
                let bits = if group.column == PLATFORM { value.bits & !NO_PLATFORM } else { value.bits };
                assert_eq!(seen & bits, 0, "{}", value.slug);
                seen |= bits;
                assert!(value.slug.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-'));
            }
        }
    }
}

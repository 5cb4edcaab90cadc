//! The filters of the catalog. A filter value is a set of bits in a column; an agent has one set of bits per column.

use super::capabilities::State;
use acp_registry_core::manifest::{Agent, Platform};
use acp_registry_examine::examination::Level;
use acp_registry_gate::verify::{Answer, Examined};

/// The number of columns.
pub(super) const COLUMNS: usize = 7;

const PLATFORM: usize = 0;
const DIST: usize = 1;
const LICENSE: usize = 2;
const AUTH: usize = 3;
const CAPABILITY: usize = 4;
const PROTOCOL: usize = 5;
/// The last column, which is left out of the catalog if no agent was examined.
pub(super) const EXAMINED: usize = 6;

/// Bit of agents that were not examined.
pub(super) const UNEXAMINED: u32 = 1 << 5;

/// The names of the columns in the catalog.
pub(super) const COLUMN_NAMES: [&str; COLUMNS] = ["platform", "dist", "license", "auth", "cap", "protocol", "tested"];

/// A group of filter values. Chosen values are alternatives, except capabilities, which are all required.
pub(super) struct Group {
    /// Name in URLs.
    pub(super) key: &'static str,
    /// Heading.
    pub(super) title: &'static str,
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

/// All groups. Systems and processors share the platform column, with the bits of [`Platform::ALL`], so that a system
/// and a processor chosen together match a single platform.
pub(super) const GROUPS: &[Group] = &[
    Group {
        key: "os",
        title: "System",
        column: PLATFORM,
        is_all: false,
        values: &[
            value("macos", "macOS", 0b11),
            value("linux", "Linux", 0b1100),
            value("windows", "Windows", 0b11_0000),
        ],
    },
    Group {
        key: "arch",
        title: "Processor",
        column: PLATFORM,
        is_all: false,
        values: &[value("aarch64", "Arm (aarch64)", 0b01_0101), value("x86-64", "Intel, AMD (x86_64)", 0b10_1010)],
    },
    Group {
        key: "dist",
        title: "Runs as",
        column: DIST,
        is_all: false,
        values: &[
            value("binary", "Local binary", 1),
            value("npx", "npx (needs Node.js)", 2),
            value("uvx", "uvx (needs uv)", 4),
        ],
    },
    Group {
        key: "license",
        title: "Licence",
        column: LICENSE,
        is_all: false,
        values: &[
            value("open", "Open source", 1),
            value("proprietary", "Proprietary", 2),
            value("none", "Not stated", 4),
        ],
    },
    Group {
        key: "auth",
        title: "Sign-in",
        column: AUTH,
        is_all: false,
        values: &[
            value("agent", "By the agent", 1),
            value("terminal", "In a terminal", 2),
            value("env-var", "Key in a variable", 4),
            value("other", "Another way", 8),
            value("none", "None offered", 16),
            value("untested", "Not tested", 32),
        ],
    },
    Group {
        key: "tested",
        title: "Tested",
        column: EXAMINED,
        is_all: false,
        values: &[
            value("protocol", "Protocol", 1),
            value("sessions", "Sessions", 1 << 1),
            value("turns", "Turns", 1 << 2),
            value("drafts", "Drafts", 1 << 3),
            value("failed", "Fails a check", 1 << 4),
            value("untested", "Not tested", UNEXAMINED),
        ],
    },
    Group {
        key: "cap",
        title: "Capabilities",
        column: CAPABILITY,
        is_all: true,
        values: &[
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
    },
    Group {
        key: "protocol",
        title: "Protocol",
        column: PROTOCOL,
        is_all: false,
        values: &[value("v1", "Version 1", 1), value("v2", "Version 2", 2), value("untested", "Not tested", 4)],
    },
];

/// The feature name and the filter value of each capability that pages show.
pub(super) fn capabilities() -> impl Iterator<Item = (String, &'static Value)> {
    let values = GROUPS.iter().filter(|group| group.column == CAPABILITY).flat_map(|group| group.values);
    values.map(|value| (value.slug.replacen('-', "/", 1), value))
}

/// Returns the bits of an agent in each column.
pub(super) fn bits(agent: &Agent, answer: Option<&Answer>) -> [u32; COLUMNS] {
    let mut bits = [0; COLUMNS];
    let distribution = &agent.distribution;
    let is_packaged = distribution.packages().next().is_some();
    for (at, platform) in Platform::ALL.iter().enumerate() {
        // Package runners exist on every platform. Requirements of the package itself are not known.
        if is_packaged || distribution.binary.iter().any(|target| target.platform == platform.as_str()) {
            bits[PLATFORM] |= 1 << at;
        }
    }
    let kinds = [!distribution.binary.is_empty(), distribution.npx.is_some(), distribution.uvx.is_some()];
    bits[DIST] = kinds.iter().zip([1, 2, 4]).filter(|(is_there, _)| **is_there).map(|(_, bit)| bit).sum();
    bits[LICENSE] = match agent.license.as_deref() {
        None | Some("") => 4,
        Some(license) if is_open(license) => 1,
        Some(_) => 2,
    };
    bits[EXAMINED] = answer.and_then(|answer| answer.examined.as_ref()).map_or(UNEXAMINED, examined);
    let Some(answer) = answer else {
        bits[AUTH] = 32;
        bits[PROTOCOL] = 4;
        return bits;
    };
    bits[AUTH] = answer.auth_methods.iter().fold(0, |bits, (_, kind)| {
        bits | match kind.as_str() {
            "agent" => 1,
            "terminal" => 2,
            "env_var" => 4,
            _ => 8,
        }
    });
    if answer.auth_methods.is_empty() {
        bits[AUTH] = 16;
    }
    for (feature, value) in capabilities() {
        if State::of(answer, &feature).is_offered() {
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

/// The levels whose requirements an agent keeps, and whether it fails a check.
fn examined(examined: &Examined) -> u32 {
    let above = Level::ALL.into_iter().filter(|level| *level > Level::Handshake);
    let levels = above.enumerate().filter(|(_, level)| examined.record.meets(*level)).map(|(at, _)| 1 << at);
    let failed = if examined.record.summary().failed > 0 { 1 << 4 } else { 0 };
    levels.fold(failed, |bits: u32, bit: u32| bits | bit)
}

/// Whether the licence is open source: approved by the OSI or free according to the FSF.
fn is_open(license: &str) -> bool {
    spdx::Expression::parse_mode(license, spdx::ParseMode::LAX).is_ok_and(|expression| {
        expression.evaluate(|requirement| {
            requirement.license.id().is_some_and(|id| id.is_osi_approved() || id.is_fsf_free_libre())
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn agent(value: &serde_json::Value) -> Agent {
        Agent::from_json(value)
    }

    #[test]
    fn a_system_and_an_architecture_mean_one_platform() {
        let agent = agent(&json!({ "distribution": { "binary": { "windows-x86_64": {}, "linux-aarch64": {} } } }));
        let bits = bits(&agent, None)[0];
        let [os, arch] = [&GROUPS[0], &GROUPS[1]];
        let has = |system: usize, processor: usize| bits & os.values[system].bits & arch.values[processor].bits != 0;
        assert!(has(2, 1) && has(1, 0));
        assert!(!has(2, 0) && !has(1, 1) && !has(0, 0));
        for (at, platform) in Platform::ALL.iter().enumerate() {
            let system = ["darwin", "linux", "windows"].iter().position(|os| *os == platform.os()).unwrap();
            assert!(os.values[system].bits & 1 << at != 0, "{platform}");
            let processor = usize::from(platform.as_str().ends_with("x86_64"));
            assert!(arch.values[processor].bits & 1 << at != 0, "{platform}");
        }
    }

    #[test]
    fn licences_fall_into_three_classes() {
        let class = |license: &serde_json::Value| bits(&agent(&json!({ "license": license })), None)[LICENSE];
        assert_eq!(class(&json!("MIT")), 1);
        assert_eq!(class(&json!("MIT OR Apache-2.0")), 1);
        assert_eq!(class(&json!("GPL-3.0-only WITH Classpath-exception-2.0")), 1);
        assert_eq!(class(&json!("MIT AND LicenseRef-x")), 2);
        assert_eq!(class(&json!("proprietary")), 2);
        assert_eq!(class(&json!(null)), 4);
    }

    #[test]
    fn values_have_names_and_bits_of_their_own() {
        for group in GROUPS {
            let mut seen = 0;
            for value in group.values {
                assert_eq!(seen & value.bits, 0, "{}", value.slug);
                seen |= value.bits;
                assert!(value.slug.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-'));
            }
        }
    }
}

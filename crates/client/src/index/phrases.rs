//! What phrases of a query mean, for the command `search` and for the catalog.

use super::Entry;
use acp_registry_plan::manifest::Platform;

/// What a phrase means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Meaning {
    /// Nothing: the word is skipped.
    Filler,
    /// The same as another word.
    Word(&'static str),
    /// Itself, and less so what else a family of models and its maker are called.
    Family(&'static [&'static str]),
    /// The agents of a class.
    Class(Class),
    /// The agents with a value of a filter of the catalog, by the names of both: what the index does not tell.
    Fact(&'static str, &'static str),
    /// An editor, by its name and the id of the client with which it starts agents. Every agent works in it.
    Editor(&'static str, &'static str),
}

/// A class of agents that the index tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Class {
    /// The licence is open source.
    OpenSource,
    /// There is a licence, and it is not open source.
    Proprietary,
    /// There is no licence, or a text that names none.
    Unlicensed,
    /// There is an archive for one of these platforms, by their places in [`Platform::ALL`] as bits. Packages do not state
    /// their systems.
    Platforms(u32),
    /// There is a package, which runs wherever its runner does.
    AnySystem,
    /// There is an archive.
    Binary,
    /// There is a package for npx.
    Npx,
    /// There is a package for uvx.
    Uvx,
    /// There is something else than a package for npx.
    WithoutNpx,
    /// There is something else than a package for uvx.
    WithoutUvx,
}

impl Class {
    /// Whether an agent is of the class; `None` if that is not known.
    pub(super) fn holds(self, entry: &Entry) -> Option<bool> {
        Some(match self {
            Self::OpenSource => LicenseKind::of(&entry.license) == LicenseKind::OpenSource,
            Self::Proprietary => LicenseKind::of(&entry.license) == LicenseKind::Proprietary,
            Self::Unlicensed => LicenseKind::of(&entry.license) == LicenseKind::Unstated,
            Self::Platforms(bits) => {
                let mut wanted = Platform::ALL.iter().enumerate().filter(|(at, _)| bits & 1 << at != 0);
                let is_stated = wanted.any(|(_, wanted)| entry.platforms.iter().any(|own| own == wanted.as_str()));
                if !is_stated && (entry.has_npx || entry.has_uvx) {
                    return None;
                }
                is_stated
            }
            Self::AnySystem => entry.has_npx || entry.has_uvx,
            Self::Binary => !entry.platforms.is_empty(),
            Self::Npx => entry.has_npx,
            Self::Uvx => entry.has_uvx,
            Self::WithoutNpx => !entry.platforms.is_empty() || entry.has_uvx,
            Self::WithoutUvx => !entry.platforms.is_empty() || entry.has_npx,
        })
    }

    /// Both classes in one: `windows` and `arm` mean one platform. `None` if no platform is in both.
    pub(super) fn merged(self, other: Self) -> Option<Self> {
        match (self, other) {
            (Self::Platforms(a), Self::Platforms(b)) if a & b != 0 => Some(Self::Platforms(a & b)),
            _ => None,
        }
    }
}

/// The number of words in the longest phrase.
pub(super) const LONGEST: usize = 4;

const CLAUDE: Meaning = Meaning::Family(&["claude", "anthropic"]);
const GPT: Meaning = Meaning::Family(&["gpt", "openai", "chatgpt", "codex"]);
const GEMINI: Meaning = Meaning::Family(&["gemini", "google"]);
const GROK: Meaning = Meaning::Family(&["grok", "xai"]);
const KIMI: Meaning = Meaning::Family(&["kimi", "moonshot"]);
const QWEN: Meaning = Meaning::Family(&["qwen", "alibaba"]);
const MISTRAL: Meaning = Meaning::Family(&["mistral", "devstral", "codestral"]);

/// Phrases that mean the same, in lower case and with single spaces.
#[rustfmt::skip]
pub const PHRASES: &[(&[&str], Meaning)] = &[
    (&["a", "an", "and", "the", "that", "which", "who", "what", "is", "are", "it", "its"], Meaning::Filler),
    (&["for", "from", "in", "of", "on", "to", "with", "via", "by", "as", "my", "me", "i"], Meaning::Filler),
    (&["best", "good", "top", "most", "popular", "new", "newest", "latest", "show", "find", "list", "only"], Meaning::Filler),
    (&["plugin", "plugins", "extension", "extensions", "editor", "ide"], Meaning::Filler),
    (&["can", "could", "does", "do", "has", "have", "want", "need", "needs", "please", "any"], Meaning::Filler),
    (&["work", "works", "working", "run", "runs", "running", "use", "uses", "using", "read", "reads"], Meaning::Filler),
    (&["support", "supports", "supporting", "supported"], Meaning::Filler),
    (&["agent", "agents", "acp"], Meaning::Filler),
    // The adapter of this program has another name.
    (&["claude code", "claude-code"], Meaning::Word("claude")),
    (&["claude", "anthropic", "sonnet", "opus", "haiku"], CLAUDE),
    (&["gpt", "chatgpt", "openai"], GPT),
    (&["gemini", "google"], GEMINI),
    (&["grok", "xai"], GROK),
    (&["kimi", "moonshot"], KIMI),
    (&["qwen", "alibaba"], QWEN),
    (&["mistral", "devstral", "codestral"], MISTRAL),

    (&["open source", "open-source", "opensource", "oss", "foss", "free", "free software", "libre", "not proprietary"], Meaning::Class(Class::OpenSource)),
    (&["proprietary", "closed source", "closed-source", "commercial", "not open source"], Meaning::Class(Class::Proprietary)),
    (&["no licence", "no license", "without licence", "without license", "unlicensed", "licence not stated"], Meaning::Class(Class::Unlicensed)),
    (&["windows", "win", "windows 11"], Meaning::Class(Class::Platforms(0b11_0000))),
    (&["mac", "macos", "osx", "os x", "darwin"], Meaning::Class(Class::Platforms(0b00_0011))),
    (&["apple silicon", "m1", "m2", "m3", "m4"], Meaning::Class(Class::Platforms(0b00_0001))),
    (&["linux", "ubuntu", "debian", "fedora"], Meaning::Class(Class::Platforms(0b00_1100))),
    (&["arm", "arm64", "aarch64"], Meaning::Class(Class::Platforms(0b01_0101))),
    (&["intel", "amd", "amd64", "x64", "x86", "x86_64", "x86-64"], Meaning::Class(Class::Platforms(0b10_1010))),
    (&["any system", "every system", "any platform", "all platforms", "cross-platform", "cross platform"], Meaning::Class(Class::AnySystem)),
    (&["binary", "local binary", "binaries", "standalone", "native"], Meaning::Class(Class::Binary)),
    (&["no node", "no node.js", "no nodejs", "no npm", "no npx", "without node", "without node.js", "without nodejs", "without npm", "without npx", "not npm"], Meaning::Class(Class::WithoutNpx)),
    (&["no python", "no uv", "without python", "without uv"], Meaning::Class(Class::WithoutUvx)),
    (&["npx", "npm", "node", "node.js", "nodejs"], Meaning::Class(Class::Npx)),
    (&["uvx", "uv", "python", "pip", "pypi"], Meaning::Class(Class::Uvx)),

    (&["no api key", "without api key", "no key", "no-key", "no-api-key", "without key", "keyless", "login", "log-in", "log in", "sign-in", "sign in", "signin", "oauth", "subscription", "account"], Meaning::Fact("auth", "no-key")),
    (&["api key", "api-key", "apikey", "with api key", "byok", "own key"], Meaning::Fact("auth", "api-key")),
    (&["no sign-in", "no sign in", "no login", "without login", "without sign-in", "without account", "no account", "unsigned", "opens unsigned"], Meaning::Fact("auth", "not-needed")),
    (&["no sign-in offered", "offers no sign-in"], Meaning::Fact("auth", "none")),
    (&["sign-in not known", "unknown sign-in"], Meaning::Fact("auth", "untested")),
    (&["answers", "answered", "starts", "responds"], Meaning::Fact("started", "answered")),
    (&["did not answer", "does not answer", "no answer", "silent"], Meaning::Fact("started", "silent")),
    (&["could not be started", "not started", "does not start", "broken"], Meaning::Fact("started", "failed")),
    (&["not tried", "untried", "not tried yet"], Meaning::Fact("started", "untested")),
    (&["tested", "examined", "verified", "proven", "conformant", "compliant", "keeps protocol"], Meaning::Fact("tested", "protocol")),
    (&["passes sessions", "tested sessions", "sessions tested"], Meaning::Fact("tested", "sessions")),
    (&["passes turns", "tested turns", "turns tested", "turns"], Meaning::Fact("tested", "turns")),
    (&["passes drafts", "tested drafts", "drafts tested", "drafts"], Meaning::Fact("tested", "drafts")),
    (&["failed", "failing", "fails", "fails requirement", "failed requirement"], Meaning::Fact("tested", "failed")),
    (&["incomplete", "incomplete examination"], Meaning::Fact("tested", "incomplete")),
    (&["untested", "not tested", "not examined", "unexamined", "unverified"], Meaning::Fact("tested", "untested")),
    (&["load session", "load sessions", "session load", "session/load", "loadsession", "reload"], Meaning::Fact("cap", "session-load")),
    (&["list sessions", "session list", "session/list", "session history"], Meaning::Fact("cap", "session-list")),
    (&["resume", "resume session", "resume sessions", "session resume", "session/resume", "continue session"], Meaning::Fact("cap", "session-resume")),
    (&["close session", "close sessions", "session close", "session/close"], Meaning::Fact("cap", "session-close")),
    (&["delete session", "delete sessions", "session delete", "session/delete"], Meaning::Fact("cap", "session-delete")),
    (&["fork", "fork session", "fork sessions", "session fork", "session/fork"], Meaning::Fact("cap", "session-fork")),
    (&["inject", "session inject", "session/inject", "steer", "steering"], Meaning::Fact("cap", "session-inject")),
    (&["image", "images", "screenshot", "screenshots", "vision", "image prompts", "images in prompts", "prompt image"], Meaning::Fact("cap", "prompt-image")),
    (&["audio", "voice", "audio prompts", "audio in prompts", "prompt audio"], Meaning::Fact("cap", "prompt-audio")),
    (&["embedded context", "embeddedcontext", "prompt embedded context"], Meaning::Fact("cap", "prompt-embedded-context")),
    (&["mcp", "mcp http", "mcp over http", "http mcp"], Meaning::Fact("cap", "mcp-http")),
    (&["sse", "mcp sse", "mcp over sse"], Meaning::Fact("cap", "mcp-sse")),
    (&["mcp acp", "mcp over acp"], Meaning::Fact("cap", "mcp-acp")),
    (&["logout", "log out", "sign out", "sign-out", "auth logout"], Meaning::Fact("cap", "auth-logout")),
    (&["provider", "providers", "choice of provider", "custom provider", "custom endpoint"], Meaning::Fact("cap", "providers")),
    (&["elicitation", "forms", "asks questions"], Meaning::Fact("cap", "elicitation")),
    (&["hitl", "hitl editing", "permission", "permissions", "fs hitl editing"], Meaning::Fact("cap", "fs-hitl-editing")),
    (&["nes", "next edit", "next edit suggestions", "edit prediction", "autocomplete"], Meaning::Fact("cap", "nes")),
    (&["v1", "version 1", "protocol 1", "protocol v1"], Meaning::Fact("protocol", "v1")),
    (&["v2", "version 2", "protocol 2", "protocol v2"], Meaning::Fact("protocol", "v2")),
    (&["unknown protocol", "protocol not known"], Meaning::Fact("protocol", "untested")),

    (&["zed"], Meaning::Editor("Zed", "zed")),
    (&["jetbrains"], Meaning::Editor("JetBrains", "jetbrains")),
    (&["intellij", "idea"], Meaning::Editor("IntelliJ", "jetbrains")),
    (&["pycharm"], Meaning::Editor("PyCharm", "jetbrains")),
    (&["webstorm"], Meaning::Editor("WebStorm", "jetbrains")),
    (&["neovim", "nvim", "vim"], Meaning::Editor("Neovim", "codecompanion")),
    (&["codecompanion"], Meaning::Editor("CodeCompanion", "codecompanion")),
    (&["avante"], Meaning::Editor("avante", "avante")),
    (&["emacs", "agent-shell"], Meaning::Editor("Emacs", "emacs")),
    (&["vscode", "vs code", "visual studio code"], Meaning::Editor("VS Code", "vscode")),
    (&["obsidian"], Meaning::Editor("Obsidian", "obsidian")),
    (&["qt creator", "qtcreator"], Meaning::Editor("Qt Creator", "qtcreator")),
    (&["jupyter", "jupyterlab", "jupyter ai"], Meaning::Editor("Jupyter AI", "jupyter")),
    (&["acpx"], Meaning::Editor("acpx", "acpx")),
];

/// What a phrase means, if it has a meaning of its own.
pub(super) fn meaning(phrase: &str) -> Option<Meaning> {
    PHRASES.iter().find(|(known, _)| known.contains(&phrase)).map(|(_, meaning)| *meaning)
}

/// What a licence is, as far as its text says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LicenseKind {
    /// Approved by the OSI or free according to the FSF.
    OpenSource,
    /// Another licence of the SPDX, one of the publisher's own, or none for anybody else.
    Proprietary,
    /// There is no licence, or its text names none.
    Unstated,
}

impl LicenseKind {
    /// Reads a licence.
    #[must_use]
    pub fn of(license: &str) -> Self {
        let parsed = [license.to_owned(), normalize(license)];
        let parsed = parsed.iter().find_map(|text| spdx::Expression::parse_mode(text, spdx::ParseMode::LAX).ok());
        let is_open = |expression: &spdx::Expression| {
            expression.evaluate(|requirement| {
                requirement.license.id().is_some_and(|id| id.is_osi_approved() || id.is_fsf_free_libre())
            })
        };
        let own = ["proprietary", "commercial", "all rights reserved", "unlicensed", "licenseref"];
        let text = license.to_lowercase();
        match parsed {
            // Words of the SPDX that are no licence.
            _ if ["noassertion", "none"].contains(&text.trim()) => Self::Unstated,
            Some(expression) if is_open(&expression) => Self::OpenSource,
            Some(_) => Self::Proprietary,
            None if own.iter().any(|words| text.contains(words)) => Self::Proprietary,
            None => Self::Unstated,
        }
    }
}

/// A licence with the names of the SPDX: people write them in any case, with spaces, or in full.
fn normalize(license: &str) -> String {
    let name = |text: &str| {
        let is = |name: &str| name.eq_ignore_ascii_case(text) || name.eq_ignore_ascii_case(&text.replace(' ', "-"));
        spdx::identifiers::LICENSES.iter().find(|one| is(one.name) || is(one.full_name)).map(|one| one.name)
    };
    let text = license.trim();
    let whole = name(text.strip_prefix("The ").unwrap_or(text)).map(ToOwned::to_owned);
    whole.unwrap_or_else(|| text.split(' ').map(|word| name(word).unwrap_or(word)).collect::<Vec<_>>().join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn phrases_are_as_queries_are_read() {
        let phrases = || PHRASES.iter().flat_map(|(phrases, _)| phrases.iter().copied());
        for phrase in phrases() {
            let words: Vec<&str> = phrase.split_whitespace().collect();
            assert!(words.join(" ") == phrase && words.len() <= LONGEST && phrase.to_lowercase() == phrase, "{phrase}");
        }
        let mut seen: Vec<&str> = phrases().collect();
        seen.sort_unstable();
        let count = seen.len();
        seen.dedup();
        assert_eq!(seen.len(), count);
    }

    #[test]
    fn bits_of_phrases_are_platforms() {
        for (phrase, expected) in [
            ("windows", vec!["windows-aarch64", "windows-x86_64"]),
            ("mac", vec!["darwin-aarch64", "darwin-x86_64"]),
            ("linux", vec!["linux-aarch64", "linux-x86_64"]),
            ("apple silicon", vec!["darwin-aarch64"]),
            ("arm", vec!["darwin-aarch64", "linux-aarch64", "windows-aarch64"]),
            ("intel", vec!["darwin-x86_64", "linux-x86_64", "windows-x86_64"]),
        ] {
            let Some(Meaning::Class(Class::Platforms(bits))) = meaning(phrase) else { panic!("{phrase}") };
            let named = Platform::ALL.iter().enumerate().filter(|(at, _)| bits & 1 << at != 0);
            assert_eq!(named.map(|(_, platform)| platform.as_str()).collect::<Vec<_>>(), expected, "{phrase}");
        }
    }

    #[test]
    fn licences_are_open_source_as_a_whole() {
        let of = |kind, licenses: &[&str]| {
            for license in licenses {
                assert_eq!(LicenseKind::of(license), kind, "{license}");
            }
        };
        let open = ["MIT", "MIT OR Apache-2.0", "GPL-3.0-only WITH Classpath-exception-2.0", "MIT OR LicenseRef-x"];
        of(LicenseKind::OpenSource, &open);
        let spelled =
            ["MIT License", "The MIT License", "apache-2.0", "mit OR apache-2.0", "Apache License 2.0", "MPL 2.0"];
        of(LicenseKind::OpenSource, &spelled);
        of(
            LicenseKind::Proprietary,
            &["proprietary", "Proprietary, see LICENSE", "MIT AND LicenseRef-x", "UNLICENSED"],
        );
        of(LicenseKind::Unstated, &["", "see LICENSE", "NOASSERTION", "Unknown"]);
    }
}

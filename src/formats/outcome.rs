//! The outcome of a handshake, for people.

use std::borrow::Cow;
use std::fmt::Write as _;

use acp_registry::examination::Examination;
use acp_registry::handshake::{AuthMethod, Outcome, TypeSource, Verdict};
use acp_registry::text::{printable, prose, quote};

use crate::formats::examination::{examination, shortcoming};
use crate::terminal::layout::{INDENT, Look, cut, stderr};

/// The verdict of an agent that passes.
const PASS: &str = "pass";

/// The most authentication methods and warnings that are shown.
const ITEMS: usize = 20;

/// Renders an outcome and its examination. Texts of the agent are made printable. `name` is in the heading, and identifies the
/// agent.
pub(crate) fn outcome(outcome: &Outcome, examined: Option<&Examination>, name: &str, look: Look) -> String {
    let (word, code) = (outcome.verdict.as_str(), if outcome.verdict == Verdict::Pass { "32" } else { "31" });
    let found = found(word, examined);
    let code = if found == word { code } else { "33" };
    let mut out = format!("{}: {}\n", look.paint(&format!("1;{code}"), &found), cut(name));
    let mut line = |key: &str, text: &str| {
        // Writing to a String cannot fail.
        let _ = writeln!(out, "  {key:9} {text}");
    };
    if let (Some(reason), Some(message)) = (outcome.reason, &outcome.message) {
        line("reason", reason.as_str());
        line("", &printable(message));
    }
    let handshake = &outcome.handshake;
    if let Some(version) = handshake.protocol_version {
        line("agent", &format!("{}, protocol version {version}", agent(outcome)));
    }
    let mut key = "sign in";
    for method in handshake.auth_methods.iter().take(ITEMS) {
        line(std::mem::take(&mut key), &describe(method));
    }
    let join = |words: &[String]| words.join(", ");
    if handshake.protocol_version.is_some() {
        line("features", &join(&handshake.features.present().map(ToOwned::to_owned).collect::<Vec<_>>()));
    }
    let probes: Vec<String> =
        handshake.probes.iter().map(|(method, probe)| format!("{method} {}", probe.as_str())).collect();
    if !probes.is_empty() {
        line("probes", &join(&probes));
    }
    if let Some(words) = &handshake.setup_required {
        line("setup", "it opens no session before it is set up, in its own words:");
        // Runners of CI take a line that begins with `::` for a command, also behind spaces.
        line("", &format!("| {}", printable(words)));
    }
    line("time", &times(outcome));
    line("isolation", isolation(outcome.isolation));
    for warning in handshake.warnings.iter().take(ITEMS) {
        line("warning", &printable(warning));
    }
    if outcome.verdict != Verdict::Pass && outcome.exit.is_some() {
        out.push_str(&stderr(&outcome.stderr_tail));
    }
    let examined = examined.map(|examined| examination(examined, look)).unwrap_or_default();
    out.lines().map(|line| look.wrap(line, INDENT)).collect::<String>() + &examined
}

/// Renders an outcome and its examination for a comment. Markdown shows lines indented by four spaces literally.
pub(crate) fn markdown(outcome: &Outcome, examined: Option<&Examination>, name: &str) -> String {
    let text = self::outcome(outcome, examined, name, Look::default());
    let lines: String = text.lines().map(|line| format!("    {line}\n")).collect();
    format!("### Agent: {}\n\n{lines}", prose(&found(outcome.verdict.as_str(), examined)))
}

/// The verdict, or what an agent that passes has not met of the level that it was examined up to.
pub(crate) fn found<'a>(verdict: &'a str, examined: Option<&Examination>) -> Cow<'a, str> {
    let missed = examined.filter(|_| verdict == PASS).and_then(shortcoming);
    missed.map_or(verdict.into(), |missed| format!("answers; {missed}").into())
}

fn agent(outcome: &Outcome) -> String {
    let info = |name: &str| outcome.handshake.agent_info.get(name).and_then(|value| value.as_str());
    let name = info("title").or_else(|| info("name")).map_or_else(|| "an agent without a name".to_owned(), quote);
    info("version").map_or_else(|| name.clone(), |version| format!("{name} {}", cut(version)))
}

fn describe(method: &AuthMethod) -> String {
    let source = match method.source {
        TypeSource::Type => "",
        TypeSource::Meta => ", as its _meta says",
        TypeSource::Default => ", as it names no type",
    };
    let counts = if method.is_interactive() { "" } else { "; does not count" };
    format!("{} ({}{source}{counts}): {}", quote(&method.id), cut(&method.kind), cut(&method.name))
}

fn times(outcome: &Outcome) -> String {
    let total = outcome.timing.total.as_secs_f64();
    let response = outcome
        .timing
        .start_to_response
        .map_or_else(String::new, |time| format!("{:.2} s to the response, ", time.as_secs_f64()));
    let end = outcome.exit.map_or_else(String::new, |exit| format!("; ended with {}", exit.describe()));
    format!("{response}{total:.2} s in all{end}")
}

/// The isolation of an agent on a network.
pub(crate) const UNKNOWN: &str = "unknown";

pub(crate) fn isolation(name: &str) -> &str {
    match name {
        UNKNOWN => "not known: the agent does not run on this machine",
        "bwrap" => "bwrap: the host's files and processes were hidden; the network was shared",
        "bwrap-no-network" => "bwrap: the host's files, processes and network were hidden",
        "user" => "own user, environment, home and session; what every user of the host can read was within reach",
        _ => "own environment, home and session; the host's files were within reach",
    }
}

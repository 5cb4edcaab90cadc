//! The result of `login` and `logout`, for people.

use std::fmt::Write as _;

use acp_registry::handshake::AuthMethod;
use acp_registry::login::{Needed, SignInResult, SignInStatus};
use acp_registry::text::quote;

use crate::terminal::excerpt::{INDENT, cut, stderr};
use crate::terminal::layout::Look;

/// Renders an attempt to sign in or out. Texts of the agent are made printable.
#[must_use]
pub(crate) fn login(attempt: &SignInResult, look: Look) -> String {
    let (word, code) = match (attempt.status, attempt.reason) {
        (SignInStatus::SignedIn, _) => ("signed in", "32"),
        (SignInStatus::Unconfirmed, _) => ("not confirmed", "33"),
        (SignInStatus::SignedOut, _) => ("signed out", "32"),
        (SignInStatus::Failed, _) => ("failed", "31"),
    };
    let head = look.paint(&format!("1;{code}"), word);
    let mut out = format!("{head}: {} {}: {}\n", cut(&attempt.id), cut(&attempt.version), attempt.message);
    let mut line = |key: &str, text: &str| {
        // Writing to a String cannot fail.
        let _ = writeln!(out, "  {key:9} {text}");
    };
    if let Some(method) = &attempt.method {
        line("method", &self::method(method));
    }
    for needed in &attempt.variables {
        line(if needed.is_set { "set" } else { "not set" }, &variable(needed));
    }
    if let Some(link) = &attempt.link {
        line("values at", link);
    }
    if let Some(help) = &attempt.help {
        line("help", &help.to_string());
    }
    if attempt.status == SignInStatus::Failed && !attempt.stderr_tail.trim().is_empty() {
        out.push_str(&stderr(&attempt.stderr_tail));
    }
    out.lines().map(|line| look.wrap(line, INDENT)).collect()
}

/// Describes an authentication method in one line.
#[must_use]
pub(crate) fn method(method: &AuthMethod) -> String {
    let description = method.description().filter(|text| !text.trim().is_empty());
    let description = description.map_or_else(String::new, |text| format!(": {}", cut(text)));
    format!("{} ({}): {}{description}", quote(&method.id), cut(&method.kind), cut(&method.name))
}

fn variable(needed: &Needed) -> String {
    let variable = &needed.variable;
    let notes = match (variable.is_secret, variable.is_optional) {
        (true, true) => " (secret, optional)",
        (true, false) => " (secret)",
        (false, true) => " (optional)",
        (false, false) => "",
    };
    let label = variable.label.as_deref().map_or_else(String::new, |label| format!(": {}", cut(label)));
    format!("{}{notes}{label}", cut(&variable.name))
}

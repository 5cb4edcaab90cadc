//! Remedies in the words of the command line.

use acp_registry::remedy::{Action, Remedy};
use acp_registry::text::quote;

/// Returns the text of a remedy, with the flag or the command for each of its actions.
pub(crate) fn remedy(remedy: &Remedy) -> String {
    remedy.words(words)
}

/// Returns the remedy as text, for documents.
pub(crate) fn in_words(given: &Remedy) -> Remedy {
    remedy(given).into()
}

fn words(action: &Action) -> String {
    let fixed = match action {
        Action::AllowBuild => " with --allow-build",
        Action::AllowEndpoint => "name the host with --allow-host HOST[:PORT]",
        Action::AllowHost(None) => "name that with --allow-host",
        Action::AllowHost(Some(host)) => return format!("run it again with `--allow-host {host}`"),
        Action::AllowScripts { id, forbidden_by, is_variable: true } => {
            return format!("unset {}, then run `acp-registry install {}`", quote(forbidden_by), word(id));
        }
        Action::AllowScripts { id, forbidden_by, is_variable: false } => {
            let install = format!("`acp-registry install {}`", word(id));
            return format!("run `npm config set {} false`, then {install}", word(forbidden_by));
        }
        Action::AllowRequests => "leave out --offline once",
        Action::ApplyFixes => "`--fix`",
        Action::Build => "`acp-registry build`",
        Action::Collect => "`acp-registry gc`",
        Action::Diagnosis => "`acp-registry doctor`",
        Action::Distribution(None) => ", with --dist",
        Action::Distribution(Some(kind)) => return format!(", with `--dist {kind}`"),
        Action::Index => " with --index",
        Action::InstallAs(kind) => return format!("`--dist {kind}` installs it as that"),
        Action::InstallPackage => "try `acp-registry install --dist npx` or uvx",
        Action::InstallTimeout { id: None, minutes } => {
            return format!("run it again with `--install-timeout {minutes}m`");
        }
        Action::InstallTimeout { id: Some(id), minutes } => {
            return format!("run `acp-registry install {} --install-timeout {minutes}m`", word(id));
        }
        Action::InstallVersion { id, version } => {
            return format!("run `acp-registry install {}@{}`", word(id), word(version));
        }
        Action::KeepRuntime => "`acp-registry doctor --fix` keeps that in its receipt",
        Action::Locked => ", with --locked",
        Action::LongerTimeout => "a longer --timeout",
        Action::Probe => "`acp-registry probe`",
        Action::Program { is_wrong: false } => " with --cmd",
        Action::Program { is_wrong: true } => " in --cmd",
        Action::Reinstall(id) => return format!("`acp-registry doctor --fix {}` installs it again", word(id)),
        Action::Repair(id) => return format!("`acp-registry doctor --fix {}` repairs it", word(id)),
        Action::Revision => "--revision",
        Action::Root { or_variable: false } => " with --root",
        Action::Root { or_variable: true } => " with --root or ACP_REGISTRY_ROOT",
        Action::Sandbox => "--sandbox",
        Action::ShowCommand => " with `acp-registry which`",
        Action::SignIn => "`acp-registry login`",
        Action::SignInTimeout => " with --timeout",
        Action::Target => "--to",
        Action::TargetDirectory => " with --to",
        Action::TrustRoot => "add --trust-root",
        Action::Uninstall(id) => return format!("run `acp-registry uninstall {}`", word(id)),
        Action::Uninstalling => "`acp-registry uninstall`",
        Action::Verify(id) => return format!("`acp-registry verify {}`", word(id)),
        Action::WriteLock(path) => return format!(" with `acp-registry install ID --lock {}`", path.display()),
        action => return action.to_string(),
    };
    fixed.to_owned()
}

/// Text inside a quoted command, printable.
fn word(text: &str) -> String {
    quote(text).trim_matches('`').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn actions_are_the_flags_and_commands_of_the_program() {
        let id = || "a".to_owned();
        let scripts = |forbidden_by: &str, is_variable| {
            let forbidden_by = forbidden_by.to_owned();
            Remedy::from(Action::AllowScripts { id: id(), forbidden_by, is_variable })
        };
        for (given, expected) in [
            (
                scripts("ignore-scripts", false),
                "run `npm config set ignore-scripts false`, then `acp-registry install a`",
            ),
            (scripts("npm_config_x", true), "unset `npm_config_x`, then run `acp-registry install a`"),
            (Remedy::from("name another").then(Action::Root { or_variable: false }), "name another with --root"),
            (
                Remedy::from("name another").then(Action::Root { or_variable: true }),
                "name another with --root or ACP_REGISTRY_ROOT",
            ),
            (
                Action::InstallTimeout { id: Some(id()), minutes: 10 }.into(),
                "run `acp-registry install a --install-timeout 10m`",
            ),
            (Action::InstallTimeout { id: None, minutes: 10 }.into(), "run it again with `--install-timeout 10m`"),
            (Action::AllowHost(Some("h.example".to_owned())).into(), "run it again with `--allow-host h.example`"),
            (Action::AllowHost(None).into(), "name that with --allow-host"),
            (Action::Repair("a\u{1b}`b".to_owned()).into(), "`acp-registry doctor --fix a\\u{1b}'b` repairs it"),
            (Remedy::from("take it").then(Action::Distribution(Some("npx"))), "take it, with `--dist npx`"),
            (Remedy::from("name one").then(Action::Program { is_wrong: false }), "name one with --cmd"),
        ] {
            assert_eq!(remedy(&given), expected);
            assert_eq!(in_words(&given).to_string(), expected);
            assert!(in_words(&given).actions().next().is_none());
            let neutral = given.to_string();
            assert!(!neutral.contains("--") && !neutral.contains("acp-registry"), "{neutral}");
        }
    }
}

//! The rules: one file per rule, one folder per group. A new rule is declared in its group, here or in the group's `mod.rs` if it
//! has one, and added to [`RULES`].

mod advisory;
mod archive;
/// Rules about what agents do to the machine while they are started.
mod behaviour {
    pub(super) mod reads_secrets;
}
/// Rules for the closures of packages beside manifests.
mod closure {
    pub(super) mod newer;
    pub(super) mod scripts;
    pub(super) mod unusable;
}
mod distribution;
/// Rules about GitHub releases.
mod github {
    pub(super) mod asset_not_found;
}
mod handshake;
/// Rules about `icon.svg`.
mod icon {
    pub(super) mod active_content;
    pub(super) mod comment;
    pub(super) mod external_reference;
    pub(super) mod hardcoded_color;
    pub(super) mod invisible;
    pub(super) mod mask_color;
    pub(super) mod missing;
    pub(super) mod no_current_color;
    pub(super) mod size;
    pub(super) mod syntax;
    pub(super) mod too_large;
    pub(super) mod viewbox;
}
mod looks;
/// Rules about `agent.json`: its syntax, its schema, and the agent's metadata.
mod manifest {
    pub(super) mod duplicate_id;
    pub(super) mod duplicate_key;
    pub(super) mod id_mismatch;
    pub(super) mod license;
    pub(super) mod misleading_name;
    pub(super) mod missing_authors;
    pub(super) mod missing_license;
    pub(super) mod missing_license_url;
    pub(super) mod placeholder;
    pub(super) mod prerelease_in_stable;
    pub(super) mod preview_version;
    pub(super) mod reserved_id;
    pub(super) mod schema;
    pub(super) mod syntax;
    pub(super) mod text_control_characters;
    pub(super) mod unknown_field;
    pub(super) mod unsafe_link;
    pub(super) mod version_format;
}
/// Rules about npm packages.
mod npm {
    use super::published::npm_example as example;

    pub(super) mod ambiguous_bin;
    pub(super) mod command_not_found;
    pub(super) mod deprecated;
    pub(super) mod missing_integrity;
    pub(super) mod version_not_found;
}
mod provenance;
mod published;
/// Rules about Python packages.
mod pypi {
    use super::published::pypi_example as example;

    pub(super) mod excluded_version;
    pub(super) mod missing_hash;
    pub(super) mod version_not_found;
    pub(super) mod yanked;
}
mod registry;
mod url;

pub use self::handshake::rule_of_runner;

use super::Rule;
use crate::verify::MALICIOUS;

/// What nearly every rule uses.
mod prelude {
    pub(super) use crate::check::CheckOptions;
    pub(super) use crate::check::reporter::{FindingFile, Reporter};
    pub(super) use crate::check::rule::{CheckFn, Example, Online, Rule, Subject};
    pub(super) use crate::finding::Level;
    pub(super) use crate::survey::Survey;
    pub(super) use acp_registry_client::registry::Registry;
    pub(super) use acp_registry_plan::text::quote;
}

/// All rules, sorted by name.
pub static RULES: &[&Rule] = &[
    &advisory::malicious::RULE,
    &advisory::unreadable::RULE,
    &archive::cmd_not_found::RULE,
    &archive::digest_mismatch::RULE,
    &archive::misleading_suffix::RULE,
    &archive::missing_digest::RULE,
    &archive::needs_libc::RULE,
    &archive::too_large::RULE,
    &archive::unreadable::RULE,
    &archive::unsafe_entry::RULE,
    &archive::wrong_platform::RULE,
    &behaviour::reads_secrets::RULE,
    &closure::newer::RULE,
    &closure::scripts::RULE,
    &closure::unusable::RULE,
    &distribution::archive_format::RULE,
    &distribution::cmd_style::RULE,
    &distribution::inconsistent_targets::RULE,
    &distribution::invalid_exclude_newer::RULE,
    &distribution::latest_reference::RULE,
    &distribution::missing_os::RULE,
    &distribution::reserved_env::RULE,
    &distribution::secret::RULE,
    &distribution::service_address::RULE,
    &distribution::unpinned_package::RULE,
    &distribution::unpublished_command::RULE,
    &distribution::unsafe_cmd::RULE,
    &distribution::unsafe_package_spec::RULE,
    &distribution::unsafe_url::RULE,
    &distribution::version_mismatch::RULE,
    &distribution::version_unverifiable::RULE,
    &github::asset_not_found::RULE,
    &handshake::broken_requirement::RULE,
    &handshake::install_failed::RULE,
    &handshake::invalid_answer::RULE,
    &handshake::missing_method::RULE,
    &handshake::missing_runtime::RULE,
    &handshake::no_answer::RULE,
    &handshake::no_supported_auth::RULE,
    &handshake::not_startable_by_npx::RULE,
    &handshake::not_startable_by_uvx::RULE,
    &handshake::protocol_version::RULE,
    &handshake::untidy::RULE,
    &icon::active_content::RULE,
    &icon::comment::RULE,
    &icon::external_reference::RULE,
    &icon::hardcoded_color::RULE,
    &icon::invisible::RULE,
    &icon::mask_color::RULE,
    &icon::missing::RULE,
    &icon::no_current_color::RULE,
    &icon::size::RULE,
    &icon::syntax::RULE,
    &icon::too_large::RULE,
    &icon::viewbox::RULE,
    &manifest::duplicate_id::RULE,
    &manifest::duplicate_key::RULE,
    &manifest::id_mismatch::RULE,
    &manifest::license::RULE,
    &manifest::misleading_name::RULE,
    &manifest::missing_authors::RULE,
    &manifest::missing_license::RULE,
    &manifest::missing_license_url::RULE,
    &manifest::placeholder::RULE,
    &manifest::prerelease_in_stable::RULE,
    &manifest::preview_version::RULE,
    &manifest::reserved_id::RULE,
    &manifest::schema::RULE,
    &manifest::syntax::RULE,
    &manifest::text_control_characters::RULE,
    &manifest::unknown_field::RULE,
    &manifest::unsafe_link::RULE,
    &manifest::version_format::RULE,
    &npm::ambiguous_bin::RULE,
    &npm::command_not_found::RULE,
    &npm::deprecated::RULE,
    &npm::missing_integrity::RULE,
    &npm::version_not_found::RULE,
    &provenance::lost::RULE,
    &provenance::mismatch::RULE,
    &provenance::unverifiable::RULE,
    &pypi::excluded_version::RULE,
    &pypi::missing_hash::RULE,
    &pypi::version_not_found::RULE,
    &pypi::yanked::RULE,
    &registry::config::RULE,
    &registry::git_files::RULE,
    &registry::history::RULE,
    &registry::quarantine::RULE,
    &registry::revoked::RULE,
    &registry::revoked_version::RULE,
    &registry::similar_name::RULE,
    &registry::snapshot::RULE,
    &registry::stray_entry::RULE,
    &registry::unreadable_file::RULE,
    &url::dead_link::RULE,
    &url::redirects_to_insecure::RULE,
    &url::server_error::RULE,
    &url::slow::RULE,
    &url::unreachable::RULE,
];

/// The rule that reports a reason of `verify`; `None` if the reason is no problem of an agent.
pub fn rule_of_reason(reason: &str) -> Option<&'static Rule> {
    match reason {
        MALICIOUS => Some(&advisory::malicious::RULE),
        "manifest" => Some(&manifest::syntax::RULE),
        _ if behaviour::reads_secrets::REASONS.contains(&reason) => Some(&behaviour::reads_secrets::RULE),
        _ => handshake::rule_of_reason(reason),
    }
}

/// Finds a rule by name.
pub fn find(name: &str) -> Option<&'static Rule> {
    RULES.binary_search_by(|rule| rule.name.cmp(name)).ok().map(|at| RULES[at])
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::fs;
    use std::path::Path;

    use super::*;
    use crate::advisories::Advisories;
    use crate::check::{CheckOptions, Example, Levels, Selection, check};
    use crate::config::Config;
    use crate::finding::{Finding, Level};
    use crate::survey::Survey;
    use acp_registry_client::registry::Registry;
    use acp_registry_http::AllowedHosts;

    const ICON: &str = "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"16\" height=\"16\">\n  \
                        <path fill=\"currentColor\" d=\"M2 2h12v12H2z\"/>\n</svg>\n";

    /// Adds members to an otherwise valid manifest.
    fn manifest(members: &str) -> String {
        let given: serde_json::Value = serde_json::from_str(&format!("{{{members}}}")).unwrap();
        let version = given.get("version").and_then(serde_json::Value::as_str).unwrap_or("1.0.0");
        let rest = [
            ("id", "\"example\"".to_owned()),
            ("name", "\"Example\"".to_owned()),
            ("version", format!("\"{version}\"")),
            ("description", "\"An agent that shows how a manifest looks.\"".to_owned()),
            ("authors", "[\"Example Team\"]".to_owned()),
            ("license", "\"MIT\"".to_owned()),
            ("distribution", format!("{{ \"npx\": {{ \"package\": \"example@{version}\" }} }}")),
        ];
        let rest: String = rest
            .iter()
            .filter(|(key, _)| given.get(key).is_none())
            .map(|(key, value)| format!(",\n  \"{key}\": {value}"))
            .collect();
        format!("{{\n  {members}{rest}\n}}\n")
    }

    /// Adds a Linux target to an otherwise valid binary distribution.
    fn binary(target: &str) -> String {
        let other = |os: &str, program: &str| {
            format!("{{ \"archive\": \"https://example.com/1.0.0/{os}.zip\", \"cmd\": \"./{program}\" }}")
        };
        let (darwin, windows) = (other("darwin", "agent"), other("windows", "agent.exe"));
        format!(
            "\"distribution\": {{ \"binary\": {{\n  \"darwin-aarch64\": {darwin},\n  \"linux-x86_64\": {target},\n  \
             \"windows-x86_64\": {windows}\n}} }}"
        )
    }

    fn files(example: Example) -> Vec<(String, String)> {
        match example {
            Example::Manifest(members) => {
                vec![("example/agent.json".into(), manifest(members)), ("example/icon.svg".into(), ICON.into())]
            }
            Example::Target(target) => files(Example::Icon(ICON))
                .into_iter()
                .map(
                    |(path, text)| {
                        if path == "example/agent.json" { (path, manifest(&binary(target))) } else { (path, text) }
                    },
                )
                .collect(),
            Example::Icon(icon) => vec![
                ("example/agent.json".into(), manifest("\"license\": \"MIT\"")),
                ("example/icon.svg".into(), icon.into()),
            ],
            Example::Online(online) => files(online.manifest),
            Example::Files(files) => files.iter().map(|(path, text)| ((*path).into(), (*text).into())).collect(),
        }
    }

    /// Runs all rules; returns their findings with the text that each underlines.
    fn run(example: Example, rule: &Rule) -> Vec<(Finding, String)> {
        let folder = tempfile::tempdir().unwrap();
        let files = files(example);
        for (path, text) in &files {
            let path = folder.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        let registry = Registry::load(folder.path()).unwrap();
        let config = files
            .iter()
            .find(|(path, _)| path == "registry.toml")
            .map_or_else(Config::default, |(path, text)| Config::parse(Path::new(path), text).unwrap());
        let mut levels = Levels::default();
        if rule.level == Level::Off {
            levels.set(rule.name, Level::Error).unwrap();
        }
        let allowed_hosts = AllowedHosts::default();
        let advisories = Advisories::read(&config, &registry.root);
        let mut survey = Survey::default();
        if let Example::Online(online) = example {
            (online.answers)(&mut survey);
        }
        let options = CheckOptions {
            levels: &levels,
            allowed_hosts: &allowed_hosts,
            config: &config,
            survey: Some(&survey),
            advisories: Some(&advisories),
        };
        let underlined = |finding: &Finding| {
            finding.span.map_or(String::new(), |span| {
                let text = registry.text(&finding.file).unwrap();
                text[span.bytes(text)].to_owned()
            })
        };
        let checked = check(&registry, &options, &Selection::All);
        checked
            .findings
            .into_iter()
            .map(|finding| {
                let text = underlined(&finding);
                (finding, text)
            })
            .collect()
    }

    #[test]
    fn reasons_of_verify_have_rules() {
        for (reason, rule) in [
            ("malicious", Some("advisory/malicious")),
            ("reads_secrets", Some("behaviour/reads-secrets")),
            ("manifest", Some("manifest/syntax")),
            ("timeout", Some("handshake/no-answer")),
            ("unsupported_platform", None),
        ] {
            assert_eq!(rule_of_reason(reason).map(|rule| rule.name), rule, "{reason}");
        }
    }

    #[test]
    fn every_failing_example_is_reported_at_its_place() {
        for rule in RULES {
            let found = run(rule.fails, rule);
            let own: Vec<_> = found.iter().filter(|(finding, _)| finding.rule == rule.name).collect();
            let agents: BTreeSet<_> = own.iter().map(|(finding, _)| &finding.agent).collect();
            assert!(!own.is_empty(), "{} must report its example: {found:#?}", rule.name);
            assert_eq!(
                own.len(),
                agents.len(),
                "{} must report its example once for each agent: {found:#?}",
                rule.name
            );
            for (finding, underlined) in own {
                assert_eq!(underlined, rule.marks, "{} must underline the place", rule.name);
                assert!(finding.level > Level::Off);
            }
        }
    }

    #[test]
    fn every_passing_example_is_in_order() {
        for rule in RULES {
            let found = run(rule.passes, rule);
            assert!(found.is_empty(), "{}: {found:#?}", rule.name);
        }
    }

    #[test]
    fn the_table_is_sorted_and_whole() {
        assert!(RULES.is_sorted_by(|a, b| a.name < b.name));
        let here = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/check/rules");
        let mut files = BTreeSet::new();
        for group in fs::read_dir(here).unwrap().map(|group| group.unwrap().path()).filter(|path| path.is_dir()) {
            for file in fs::read_dir(&group).unwrap().map(|file| file.unwrap().path()) {
                let stem = file.file_stem().unwrap().to_str().unwrap().replace('_', "-");
                if stem != "mod" {
                    files.insert(format!("{}/{stem}", group.file_name().unwrap().to_str().unwrap()));
                }
            }
        }
        assert_eq!(files, RULES.iter().map(|rule| rule.name.to_owned()).collect());
    }

    #[test]
    fn every_rule_is_documented() {
        for rule in RULES {
            assert!(
                !rule.summary.is_empty() && !rule.summary.ends_with('.'),
                "{}: the summary is a fragment",
                rule.name
            );
            for text in [rule.why, rule.fix] {
                assert!(text.len() > 10 && text.ends_with('.'), "{}: {text:?} must be whole sentences", rule.name);
            }
        }
    }
}

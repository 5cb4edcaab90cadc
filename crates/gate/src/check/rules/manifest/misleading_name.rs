use unicode_security::MixedScript;
use unicode_security::mixed_script::AugmentedScriptSet;

use crate::check::rules::looks::{badge, look_alike};
use crate::check::rules::prelude::*;
use acp_registry_plan::text::{is_blank, is_hidden};

pub(crate) static RULE: Rule = Rule {
    name: "manifest/misleading-name",
    level: Level::Warning,
    summary: "the name looks like something else",
    why: "Readers take a check mark, or words such as `verified` and `official`, for a statement of the registry. Letters of \
          several scripts in one word, letters that look like Latin ones, and spaces other than the common one make a name \
          look like another that is written differently. A name that shows nothing, or has a character that fonts draw \
          empty (U+2800), is an error.",
    fix: "Write the name in the letters of one script, with single spaces, and without a badge.",
    fails: Example::Manifest("\"name\": \"Example ✓\""),
    marks: "\"Example ✓\"",
    passes: Example::Manifest("\"name\": \"Example\""),
    check: CheckFn::Manifest(check),
};

fn check(subject: &Subject<'_>, report: &mut Reporter<'_>) {
    let agent = subject.agent();
    // That they are missing or empty is a finding of the schema.
    for (key, text) in [("name", &agent.name), ("description", &agent.description)] {
        if !text.is_empty() && text.chars().all(is_blank) {
            report.value(format!("/{key}"), format!("the {key} shows nothing")).help("write visible text").grave();
        }
    }
    if agent.name.chars().all(is_blank) {
        return;
    }
    // The others that leave no mark are findings of `manifest/text-control-characters`, or selectors of emoji.
    let is_empty =
        |c: char| is_blank(c) && !c.is_whitespace() && !is_hidden(c) && !('\u{FE00}'..='\u{FE0F}').contains(&c);
    if let Some(c) = agent.name.chars().find(|c| is_empty(*c)) {
        let code = u32::from(c);
        let message = format!("the name has the character U+{code:04X}, which shows nothing");
        report.value("/name", message).help("remove the character").grave();
    }
    for (key, text) in [("name", &agent.name), ("id", &agent.id)] {
        if let Some(badge) = badge(text) {
            let message = format!("the {key} has {}, which readers take for a statement of the registry", quote(badge));
            report.value(format!("/{key}"), message).help("leave it out");
        }
    }
    if let Some((message, help)) = problem(&agent.name) {
        report.value("/name", message).help(help);
    }
}

/// Why a name is easily taken for another one that is written differently, and what helps.
fn problem(name: &str) -> Option<(String, &'static str)> {
    if name.starts_with(' ') || name.ends_with(' ') || name.contains("  ") {
        return Some((
            "the name has spaces at its ends, or several in a row".to_owned(),
            "write single spaces between words",
        ));
    }
    if name.is_ascii() {
        return None;
    }
    if let Some(space) = name.chars().find(|c| c.is_whitespace() && *c != ' ' && !is_hidden(*c)) {
        return Some((format!("the name has the space U+{:04X}", u32::from(space)), "write a common space"));
    }
    name.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_ascii()).find_map(|word| {
        if !is_one_script(word) {
            return Some((format!("{} has letters of several scripts", quote(word)), "write the word in one script"));
        }
        look_alike(word).map(|latin| (format!("{} looks like {}", quote(word), quote(&latin)), "write Latin letters"))
    })
}

/// Whether all letters belong to one script, or to Latin beside a script of East Asia, where product names mix them.
fn is_one_script(word: &str) -> bool {
    let rest: String = word.chars().filter(|c| !c.is_ascii()).collect();
    let scripts = AugmentedScriptSet::for_str(&rest);
    word.is_single_script() || scripts.hanb || scripts.jpan || scripts.kore
}

#[cfg(test)]
mod tests {
    use acp_registry_client::registry::Registry;
    use acp_registry_http::AllowedHosts;

    use crate::check::{CheckOptions, Levels, Selection, check};
    use crate::config::Config;
    use crate::finding::Level;

    #[test]
    fn names_are_judged_by_what_they_show() {
        for (name, found) in [
            ("Claude Code ✓ Verified", &[Level::Warning][..]),
            ("Official Codex", &[Level::Warning]),
            ("Cl\u{430}ude", &[Level::Warning]),
            ("\u{421}\u{43e}d\u{435}x", &[Level::Warning]),
            ("\u{421}\u{43e}\u{440}\u{435}", &[Level::Warning]),
            ("𝐂𝐥𝐚𝐮𝐝𝐞", &[Level::Warning]),
            ("Ｃｌａｕｄｅ", &[Level::Warning]),
            ("Claude\u{a0}Code", &[Level::Warning]),
            ("Claude\u{3000}Code", &[Level::Warning]),
            ("Claude  Code", &[Level::Warning]),
            (" Claude", &[Level::Warning]),
            ("Claude\u{2800}Code", &[Level::Error]),
            ("\u{2800}", &[Level::Error]),
            (" \u{3000}", &[Level::Error]),
            ("\u{200b}\u{3164}", &[Level::Error]),
            ("Яндекс Code", &[]),
            ("Yapay Akıl", &[]),
            ("Qwen通义 コード", &[]),
            ("Ångström λ ❤\u{fe0f} 👩\u{200d}💻", &[]),
            ("C++ & Ünïcödé", &[]),
            ("Unofficial", &[]),
        ] {
            let folder = tempfile::tempdir().unwrap();
            std::fs::create_dir(folder.path().join("a")).unwrap();
            let manifest = serde_json::json!({ "id": "a", "name": name, "description": "x" }).to_string();
            std::fs::write(folder.path().join("a/agent.json"), manifest).unwrap();
            let registry = Registry::load(folder.path()).unwrap();
            let (levels, config) = (Levels::default(), Config::default());
            let options = CheckOptions {
                levels: &levels,
                allowed_hosts: &AllowedHosts::default(),
                config: &config,
                survey: None,
                advisories: None,
            };
            let findings = check(&registry, &options, &Selection::All).findings;
            let own: Vec<Level> = findings
                .iter()
                .filter(|finding| finding.rule == super::RULE.name)
                .map(|finding| finding.level)
                .collect();
            assert_eq!(own, found, "{name:?}: {findings:#?}");
        }
    }
}

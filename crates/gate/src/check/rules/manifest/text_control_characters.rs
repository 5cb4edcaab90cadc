use crate::check::rules::prelude::*;
use acp_registry_plan::manifest::escape_segment;
use acp_registry_plan::text::is_hidden;

pub(crate) static RULE: Rule = Rule {
    name: "manifest/text-control-characters",
    level: Level::Error,
    summary: "a displayed text, an argument or a variable contains invisible characters",
    why: "Control characters move the cursor of a terminal, bidirectional controls show text in another order than it \
          is read, and zero-width characters make two different names look the same. Joiners inside an emoji, or \
          between letters of a script that needs them, are allowed.",
    fix: "Type the text again; line breaks and tabs are not allowed either.",
    fails: Example::Manifest("\"name\": \"Exam\\u202eple\""),
    marks: "\"Exam\\u202eple\"",
    passes: Example::Manifest("\"name\": \"Example\""),
    check: CheckFn::Manifest(check),
};

fn check(subject: &Subject<'_>, report: &mut Reporter<'_>) {
    // Pointers are built only for findings, since most texts have none.
    let mut look = |text: &str, pointer: &dyn Fn() -> String| {
        if let Some((place, found)) = first_hidden(text) {
            let code = u32::from(found);
            report
                .value(pointer(), format!("character {} of the text is U+{code:04X}, which is invisible", place + 1))
                .help("type the text again");
        }
    };
    let agent = subject.agent();
    let texts = [
        ("name", Some(&agent.name)),
        ("version", Some(&agent.version)),
        ("description", Some(&agent.description)),
        ("repository", agent.repository.as_ref()),
        ("website", agent.website.as_ref()),
        ("license", agent.license.as_ref()),
        ("license_url", agent.license_url.as_ref()),
        ("icon", agent.icon.as_ref()),
    ];
    for (key, text) in texts.into_iter().filter_map(|(key, text)| Some((key, text?))) {
        look(text, &|| format!("/{key}"));
    }
    let listed = subject.value().get("authors").and_then(serde_json::Value::as_array).into_iter().flatten();
    for (index, author) in listed.enumerate().filter_map(|(index, author)| Some((index, author.as_str()?))) {
        look(author, &|| format!("/authors/{index}"));
    }
    for (release, target) in subject.targets() {
        let pointer = |member: &str| release.target_pointer(target, member);
        look_at_start(&target.args, &target.env, &pointer, &mut look);
    }
    for (release, kind, package) in subject.packages() {
        let pointer = |member: &str| release.package_pointer(kind, member);
        look_at_start(&package.args, &package.env, &pointer, &mut look);
    }
}

/// Arguments and environment variables are shown to users too, and a NUL in them prevents the agent from starting.
fn look_at_start(
    args: &[String],
    env: &[(String, String)],
    pointer: &dyn Fn(&str) -> String,
    look: &mut dyn FnMut(&str, &dyn Fn() -> String),
) {
    for (index, arg) in args.iter().enumerate() {
        look(arg, &|| pointer(&format!("args/{index}")));
    }
    for (name, value) in env {
        look(value, &|| pointer(&format!("env/{}", escape_segment(name))));
    }
}

fn first_hidden(text: &str) -> Option<(usize, char)> {
    if text.is_ascii() && !text.bytes().any(|b| b.is_ascii_control()) {
        return None;
    }
    let characters: Vec<char> = text.chars().collect();
    characters.iter().copied().enumerate().find(|&(at, c)| {
        let is_neighbour_foreign =
            |at: Option<usize>| at.and_then(|at| characters.get(at)).is_some_and(|c| !c.is_ascii() && !is_hidden(*c));
        let joins = matches!(c, '\u{200c}' | '\u{200d}')
            && is_neighbour_foreign(at.checked_sub(1))
            && is_neighbour_foreign(Some(at + 1));
        let is_emoji = |c: &char| !c.is_ascii() || c.is_ascii_digit() || ['#', '*'].contains(c);
        // A selector of the variant of an emoji, behind a character that has none.
        let selects_nothing = matches!(c, '\u{fe0e}' | '\u{fe0f}')
            && !at.checked_sub(1).and_then(|at| characters.get(at)).is_some_and(|c| is_emoji(c) && !is_hidden(*c));
        (is_hidden(c) && !joins) || selects_nothing
    })
}

#[cfg(test)]
mod tests {
    use super::first_hidden;

    #[test]
    fn joiners_are_for_scripts_that_need_them() {
        assert_eq!(first_hidden("👩\u{200d}💻 می\u{200c}خواهم"), None);
        assert_eq!(first_hidden("pass\u{200d}word"), Some((4, '\u{200d}')));
        assert_eq!(first_hidden("é\u{200b}é"), Some((1, '\u{200b}')));
        assert_eq!(first_hidden("two\nlines"), Some((3, '\n')));
        assert_eq!(first_hidden("❤\u{fe0f} 1\u{fe0f}\u{20e3}"), None);
        for hidden in ['\u{fe00}', '\u{fe0f}', '\u{e0163}', '\u{180b}', '\u{1d173}', '\u{1bca0}'] {
            assert_eq!(first_hidden(&format!("Name{hidden} x")), Some((4, hidden)));
        }
    }
}

use crate::check::rules::prelude::*;
use acp_registry_http::address;

pub(crate) static RULE: Rule = Rule {
    name: "manifest/unsafe-link",
    level: Level::Error,
    summary: "a link does not lead to a web page",
    why: "Clients and catalogs show `repository`, `website` and `license_url` as links; a `javascript:` or `file:` address \
          would run or open something on the reader's machine, and user info, `\\` or a space in an address disguises where \
          it leads.",
    fix: "Write an address that begins with `https://` or `http://`, with spaces and `\\` percent-encoded.",
    fails: Example::Manifest("\"website\": \"javascript:alert(1)\""),
    marks: "\"javascript:alert(1)\"",
    passes: Example::Manifest("\"website\": \"https://example.com\""),
    check: CheckFn::Manifest(check),
};

fn check(subject: &Subject<'_>, report: &mut Reporter<'_>) {
    let agent = subject.agent();
    let links = [("repository", &agent.repository), ("website", &agent.website), ("license_url", &agent.license_url)];
    // An icon is usually a path in the agent's folder, which the build replaces by a URL.
    let icon = agent.icon.as_deref().filter(|icon| icon.contains(':')).map(|icon| ("icon", icon));
    for (key, link) in links.into_iter().filter_map(|(key, link)| Some((key, link.as_deref()?))).chain(icon) {
        // Other programs than browsers take what is behind `\` for a host, or end the address at a space.
        let is_odd = |c: &char| c.is_whitespace() || c.is_control() || *c == '\\';
        if let Some(odd) = link.chars().find(is_odd) {
            let problem = format!("has the character U+{:04X}, which must be percent-encoded", u32::from(odd));
            report
                .value(format!("/{key}"), format!("{} {problem}", quote(link)))
                .help("remove the character, or write it percent-encoded");
        } else if let Err(error) = address::parse(link) {
            report
                .value(format!("/{key}"), format!("{} {error}", quote(link)))
                .help("write https:// or http:// with the name of a host, and a percent-encoded path");
        }
    }
}

//! The page of an agent, and the files beside it: the page as Markdown, badges, and a card to embed in pages elsewhere.

use std::io;

use acp_registry_examine::examination::Level;
use acp_registry_gate::config::AgentFile;
use acp_registry_gate::release::release_page;
use acp_registry_plan::digest::Sha256;
use acp_registry_plan::manifest::{Agent, BinaryTarget, Distribution, PackageKind};
use acp_registry_plan::timestamp::Timestamp;
use askama::Template;
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde_json::{Value, json};

use super::capabilities::{GROUPS, Group, Opening, Support};
use super::changes::agent_feed;
use super::examinations::{self, Test, Tests};
use super::facts::{Facts, Past, PlatformArchive, target};
use super::listing::{Listing, authors, by};
use super::pages::{Frame, Site};
use super::setup::{Needs, Setup, setups};
use super::text::{self, Xml, host_and_path, json_in_html, markdown as text, short, shown};
use super::{SiteError, SiteFile, SiteOptions, page};

#[derive(Template)]
#[template(path = "agent.html")]
struct Detail<'a> {
    f: Frame<'a>,
    a: &'a Listing<'a>,
    facts: &'a Facts,
    json_ld: Option<String>,
    preview: Option<String>,
    setups: &'a [Setup],
    targets: Vec<PlatformArchive>,
    /// Name and type of each authentication method.
    auth: Vec<(String, String)>,
    proofs: Vec<Proof>,
    /// The capabilities of an agent that answered, in their groups.
    groups: Vec<(&'static str, Vec<(&'static str, Support)>)>,
    /// The texts of the links to the website and the source.
    website: Option<String>,
    source: Option<String>,
    past: Past,
    /// Whether the agent has a feed.
    has_feed: bool,
    /// The address for editing the entry, and whether it leads to the entry itself.
    edit: Option<(String, bool)>,
    /// The file, what it says, and the Markdown that shows it.
    badges: Vec<(&'static str, String, String)>,
}

impl Detail<'_> {
    fn has(&self, file: AgentFile) -> bool {
        self.f.site.config.agent_files.contains(&file)
    }
}

/// Renders the page of an agent and the files that the configuration asks for.
pub(super) fn files(site: &Site, options: &SiteOptions<'_>, listing: &Listing<'_>) -> Result<Vec<SiteFile>, SiteError> {
    let path = format!("agents/{}/", listing.id);
    let description = if listing.summary.is_empty() { &listing.name } else { &listing.summary };
    let auth = listing.answer.into_iter().flat_map(|answer| &answer.auth_methods).take(20);
    let agent = listing.agent();
    let distribution = &agent.distribution;
    let facts = Facts::of(listing, &agent, &site.config);
    let setups = setups(listing, distribution, site.registry_url.as_deref());
    let wanted = &site.config.agent_files;
    let address = format!("{}/agents/{}/", site.base_url, listing.id);
    let detail = Detail {
        f: Frame::new(site, &path, &format!("{} – ACP agents", listing.name), description)
            .with_agent(&listing.id, &listing.name),
        a: listing,
        facts: &facts,
        json_ld: site.has_address().then(|| json_in_html(&json_ld(&address, listing, &facts, &agent))),
        preview: agent.preview.as_ref().map(|preview| shown(&preview.version, 40)),
        setups: &setups,
        targets: distribution.binary.iter().take(20).map(target).collect(),
        auth: auth.map(|method| (shown(&method.name, 80), shown(&method.kind, 40))).collect(),
        proofs: Proof::all(listing, distribution),
        groups: groups(listing),
        website: facts.website.as_deref().map(host_and_path),
        source: facts.repository.as_deref().map(short),
        past: Past::of(listing, &agent.version, options),
        has_feed: site.has_address() && wanted.contains(&AgentFile::Feed) && !listing.events.is_empty(),
        edit: site.config.edit_url(&listing.id),
        badges: badges(listing)
            .filter(|_| site.has_address() && wanted.contains(&AgentFile::Badge))
            .map(|(name, words)| (name, words, format!("[![ACP agent]({address}{name})]({address})")))
            .collect(),
    };
    let mut files = vec![page(&path, &detail)?];
    if wanted.contains(&AgentFile::Json) {
        files.push((format!("{path}agent.json"), acp_registry_plan::json::to_string(&listing.entry()).into_bytes()));
    }
    if wanted.contains(&AgentFile::Markdown) {
        files.push((format!("{path}index.md"), markdown_page(&detail, distribution).into_bytes()));
    }
    if wanted.contains(&AgentFile::Feed) {
        files.extend(agent_feed(site, listing)?);
    }
    if wanted.contains(&AgentFile::Badge) {
        for (name, words) in badges(listing) {
            files.push((format!("{path}{name}"), draw(listing, &words)?));
        }
    }
    Ok(files)
}

fn groups(listing: &Listing<'_>) -> Vec<(&'static str, Vec<(&'static str, Support)>)> {
    let states = |group: &Group| group.members.iter().map(|member| (member.label, member.of(listing.answer))).collect();
    let groups = if listing.answer.is_some() { &GROUPS[..] } else { &[] };
    groups.iter().map(|group| (group.title, states(group))).collect()
}

/// Metadata for search engines as JSON-LD, taken from the manifest only.
fn json_ld(address: &str, listing: &Listing<'_>, facts: &Facts, agent: &Agent) -> Value {
    let (authors, distribution) = (authors(agent), &agent.distribution);
    let things = authors.iter().map(|name| json!({ "@type": "Thing", "name": name }));
    let mut object = json!({
        "@context": "https://schema.org",
        "@type": "SoftwareApplication",
        "name": listing.name,
        "description": Some(&facts.description).filter(|text| !text.is_empty()),
        "url": address,
        "applicationCategory": "DeveloperApplication",
        "softwareVersion": listing.version,
        "license": facts.license_url,
        "sameAs": facts.website,
        "author": Some(things.collect::<Value>()).filter(|_| !authors.is_empty()),
        "operatingSystem": (!distribution.binary.is_empty()).then(|| listing.systems()),
    });
    if let Value::Object(members) = &mut object {
        members.retain(|_, value| !value.is_null());
    }
    object
}

/// Width of the left part, in pixels.
const LEFT: usize = 38;

/// The badges of an agent: their files, and their words.
fn badges(listing: &Listing<'_>) -> impl Iterator<Item = (&'static str, String)> {
    let version = if listing.version.is_empty() { "listed" } else { &listing.version };
    let passes = listing.passed_level().zip(listing.examined()).map(|(level, examined)| {
        let level = level.as_str();
        let words = listing.in_version(Some(&examined.version), format!("passes {level}"), &format!("passed {level}"));
        ("passes.svg", words)
    });
    [("badge.svg", version.to_owned())].into_iter().chain(passes)
}

/// Draws a badge. `textLength` sets the width of the text, because fonts differ.
fn draw(listing: &Listing<'_>, words: &str) -> io::Result<Vec<u8>> {
    let text = words.chars().map(width).sum::<usize>().div_ceil(10);
    let right = text + 16;
    let (whole, middle) = ((LEFT + right).to_string(), (LEFT + right / 2).to_string());
    let right_part = format!("M{LEFT} 0h{}a4 4 0 0 1 4 4v12a4 4 0 0 1-4 4H{LEFT}z", right - 4);
    let mut svg = Xml::new(Vec::new());
    let attributes = [("xmlns", "http://www.w3.org/2000/svg"), ("width", &whole), ("height", "20"), ("role", "img")];
    svg.create_element("svg").with_attributes(attributes).write_inner_content(|svg| {
        text::text(svg, "title", &[], &format!("{}: ACP agent, {words}", listing.name))?;
        let rect = [("width", whole.as_str()), ("height", "20"), ("rx", "4"), ("fill", "#23594b")];
        svg.create_element("rect").with_attributes(rect).write_empty()?;
        let path = [("d", right_part.as_str()), ("fill", "#1f2423")];
        svg.create_element("path").with_attributes(path).write_empty()?;
        let font = [
            ("fill", "#fff"),
            ("font-family", "Verdana,DejaVu Sans,sans-serif"),
            ("font-size", "11"),
            ("text-anchor", "middle"),
        ];
        svg.create_element("g").with_attributes(font).write_inner_content(|svg| {
            text::text(svg, "text", &[("x", "19"), ("y", "14"), ("textLength", "24")], "ACP")?;
            text::text(svg, "text", &[("x", &middle), ("y", "14"), ("textLength", &text.to_string())], words)
        })?;
        Ok(())
    })?;
    Ok(svg.into_inner())
}

/// Approximate width of a character at a font size of 11 pixels, in tenths of a pixel.
fn width(c: char) -> usize {
    match c {
        '.' | ',' | ':' | 'i' | 'l' | 'j' | '\'' | '!' | '|' => 36,
        '-' | 'f' | 't' | 'r' | ' ' | '(' | ')' => 46,
        'm' | 'w' | 'M' | 'W' => 100,
        c if c.is_ascii() => 70,
        _ => 110,
    }
}

/// What was proven of an agent: a cell of the panel below its name.
#[derive(Default)]
struct Proof {
    title: &'static str,
    /// The class of the mark.
    class: &'static str,
    /// What was found, as a sentence without a full stop.
    words: String,
    /// The version, the system and the day as `YYYY-MM-DD`, as far as they are known.
    version: Option<String>,
    system: Option<String>,
    day: Option<String>,
}

impl Proof {
    /// Whether it starts, opens sessions and carries out turns, and what its bytes are compared with.
    pub(super) fn all(listing: &Listing<'_>, distribution: &Distribution) -> Vec<Self> {
        let kinds = usize::from(!distribution.binary.is_empty()) + distribution.packages().count();
        let (class, words) = match (listing.answer, listing.why_unanswered()) {
            (Some(_), _) => match listing.partly_unanswered() {
                Some((kind, why)) => ("auth", format!("Started and answered by {kind}; {why}")),
                None => match listing.answer.and_then(|answer| answer.distribution.as_deref()) {
                    // Users may get another one.
                    Some(kind) if kinds > 1 => ("tested", format!("Started and answered by {}", by(Some(kind)))),
                    _ => ("tested", "Started and answered".to_owned()),
                },
            },
            (None, Some(why)) => ("failed", why),
            (None, None) => ("none", "Not started yet".to_owned()),
        };
        let starts = Self {
            title: "Starts",
            class,
            words,
            version: listing.answered_version(),
            system: listing.examined().and_then(|examined| examinations::system(examined.platform.as_deref())),
            day: listing.answered_on().map(ToOwned::to_owned),
        };
        let (class, words) = bytes(distribution);
        let bytes = Self { title: "Bytes", class, words, ..Self::default() };
        let level = |title, level| Self::judge_level(title, level, listing);
        vec![starts, level("Sessions", Level::Sessions), level("Turns", Level::Turns), bytes]
    }

    fn judge_level(title: &'static str, level: Level, listing: &Listing<'_>) -> Self {
        let none = |words: &str| Self { title, class: "none", words: words.to_owned(), ..Self::default() };
        let Some(examined) = listing.examined() else {
            let opening = listing.answer.map(Opening::of).filter(|_| level == Level::Sessions);
            return none(match opening {
                Some(Opening::Opens) => "Not examined; a session opened without sign-in",
                Some(Opening::NeedsSignIn) => "Not examined; a session needs sign-in",
                Some(Opening::NeedsSetup | Opening::Unknown) | None => "Not examined",
            });
        };
        if examined.record.level < level {
            return none("Not examined");
        }
        let (class, words) = examinations::judgement(&examined.record, level);
        let since = examinations::passed_since(listing.past(), level).filter(|since| since.version != examined.version);
        let words = since.map_or(words, |since| format!("passed, since version {}", shown(&since.version, 40)));
        let mut chars = words.chars();
        let first = chars.next().map(|c| c.to_ascii_uppercase());
        Self {
            title,
            class,
            words: shown(&first.into_iter().chain(chars).collect::<String>(), 160),
            version: Some(shown(&examined.version, 40)),
            system: examinations::system(examined.platform.as_deref()),
            day: examined.at.map(Timestamp::day),
        }
    }
}

/// What an installation compares the bytes of an agent with, and how good that is.
fn bytes(distribution: &Distribution) -> (&'static str, String) {
    let targets = &distribution.binary;
    let stated = targets.iter().filter(|target| target.sha256.is_some()).count();
    let packages: Vec<&str> = distribution
        .packages()
        .map(|(kind, _)| if kind == PackageKind::Npx { "npm" } else { "the Python index" })
        .collect();
    let packages = (!packages.is_empty()).then(|| format!("the digests of {} for its package", packages.join(" and ")));
    // An installation asks GitHub, which states the digests of newer releases.
    let is_asked = |target: &BinaryTarget| target.sha256.is_some() || release_page(&target.archive).is_some();
    let is_github = stated < targets.len() && targets.iter().all(is_asked);
    let digests = digests(stated, targets.len());
    let digests = digests.map(|words| if is_github { format!("{words}, but GitHub may state one") } else { words });
    match (digests, packages) {
        (Some(digests), None) if is_github => ("announced", digests),
        (Some(digests), None) => (if stated == targets.len() { "tested" } else { "auth" }, digests),
        (Some(digests), Some(packages)) => ("announced", format!("{digests}; {packages}")),
        (None, Some(packages)) => ("announced", format!("Compared with {packages}")),
        (None, None) => ("none", "Nothing to install".to_owned()),
    }
}

fn digests(stated: usize, total: usize) -> Option<String> {
    match (stated, total) {
        (_, 0) => None,
        (0, _) => Some("No SHA-256 for its downloads".to_owned()),
        (stated, total) if stated == total => Some("A SHA-256 for every download".to_owned()),
        (stated, total) => Some(format!("A SHA-256 for {stated} of {total} downloads")),
    }
}

const STYLE: &str = include_str!("assets/style/embed.css");

/// Where the style belongs in the template. No text of an agent can be this, for it is escaped.
const PLACE: &str = "<!-- style -->";

#[derive(Template)]
#[template(path = "embed.html")]
struct Card<'a> {
    a: &'a Listing<'a>,
    /// The address of the agent's page.
    page: String,
    /// The icon as an address of its own content.
    icon: Option<String>,
    /// The digest of the style, which is all that the card's policy allows besides the icon.
    style_digest: String,
}

/// Renders the card of an agent.
pub(super) fn card(site: &Site, listing: &Listing<'_>, icon: Option<&[u8]>) -> Result<SiteFile, SiteError> {
    let card = Card {
        a: listing,
        page: if site.has_address() { format!("{}/agents/{}/", site.base_url, listing.id) } else { "./".to_owned() },
        icon: icon.map(|icon| format!("data:image/svg+xml;base64,{}", BASE64_STANDARD.encode(icon))),
        style_digest: BASE64_STANDARD.encode(Sha256::of(STYLE).bytes()),
    };
    let text = card.render()?.replacen(PLACE, &format!("<style>{STYLE}</style>"), 1);
    Ok((format!("agents/{}/card.html", listing.id), text.into_bytes()))
}

/// Renders the page. Markup in manifests is escaped.
fn markdown_page(page: &Detail<'_>, distribution: &Distribution) -> String {
    let Detail { a: listing, facts, setups, past, .. } = page;
    let mut out = format!("# {}\n\n", text(&listing.name));
    if !facts.description.is_empty() {
        out.push_str(&format!("{}\n\n", text(&facts.description)));
    }
    let mut fact = |key: &str, value: &str| out.push_str(&format!("- {key}: {}\n", text(value)));
    fact("Id", &listing.id);
    fact("Version", &listing.version);
    if let Some(held) = &past.held {
        fact("In this index", &held.to_string());
    }
    if let Some(recalled) = &past.recalled {
        fact("This version", recalled);
    }
    for (key, value) in
        [("First release", &facts.appeared), ("In this registry since", &facts.added), ("New version", &facts.updated)]
    {
        if let Some(day) = value {
            fact(key, day);
        }
    }
    fact("Licence", listing.license());
    if let Some(program) = &facts.adapter_of {
        fact("Adapter of", &format!("{program}, which is proprietary"));
    }
    fact("Runs as", &listing.labels("dist"));
    fact("Sign-in", &facts.sign_in);
    if let Some(session) = facts.session {
        fact("New session", session);
    }
    if let Some(times) = &facts.times {
        fact("Answers in", times);
    }
    for (key, value) in [("Setup required", &facts.setup), ("Writes", &facts.writes), ("Looks up hosts", &facts.hosts)]
    {
        if let Some(words) = value {
            fact(key, words);
        }
    }
    if !facts.modes.is_empty() {
        fact("Modes", &facts.modes.join(", "));
    }
    if !facts.authors.is_empty() {
        fact("By", &facts.authors.join(", "));
    }
    for (key, value) in [("Website", &facts.website), ("Source", &facts.repository)] {
        if let Some(address) = value {
            // The URL parser percent-encodes characters that would end an autolink.
            out.push_str(&format!("- {key}: <{address}>\n"));
        }
    }
    if let Some(address) = &facts.unlinked_website {
        out.push_str(&format!("- Website: {}\n", text(address)));
    }
    out.push_str("\n## What was proven\n\n");
    for proof in &page.proofs {
        let place: Vec<&str> =
            [&proof.version, &proof.system, &proof.day].into_iter().flatten().map(|part| &**part).collect();
        let place = if place.is_empty() { String::new() } else { format!(" ({})", place.join(", ")) };
        out.push_str(&format!("- {}: {}\n", proof.title, text(&format!("{}{place}", proof.words))));
    }
    let runtimes = facts.needs;
    out.push_str(&format!(
        "\n## Set up\n\n{runtimes} The agent runs as a program on your computer, with your permissions.\n"
    ));
    for setup in *setups {
        out.push_str(&format!("\n### {}\n", setup.client.title));
        for way in &setup.ways {
            out.push_str(&format!("\n{}{}: {}\n", way.title, needs(way.needs), text(&way.text)));
            for snippet in &way.snippets {
                let fence = fence(&snippet.text);
                // Commands for several shells.
                if way.snippets.len() > 1 {
                    out.push_str(&format!("\n{}:\n", snippet.title));
                }
                out.push_str(&format!("\n{fence}\n{}\n{fence}\n", snippet.text));
            }
        }
    }
    if let Some(words) = &facts.next {
        out.push_str(&format!("\n{}\n", text(words)));
    }
    out.push_str("\n## Platforms\n\n");
    for (kind, package) in &facts.packages {
        out.push_str(&format!("- {} by {kind}, which does not state its systems\n", text(package)));
    }
    for one in distribution.binary.iter().take(20).map(target) {
        let digest =
            one.digest.map_or_else(|| "no digest stated".to_owned(), |digest| format!("SHA-256 {}", text(&digest)));
        let address = one.url.map_or_else(|| "no download".to_owned(), |url| format!("<{url}>"));
        let start = one.start.map_or_else(String::new, |start| format!(", started by {}", text(&start)));
        out.push_str(&format!("- {} {}: {address}, {digest}{start}\n", text(&one.os), text(&one.arch)));
    }
    if let Some(tests) = &facts.tests {
        out.push_str(&tests_text(tests));
    }
    out.push_str("\n## Capabilities\n\n");
    match listing.answer {
        None => {
            let why = facts.unanswered.as_deref().unwrap_or("Not tested");
            out.push_str(&format!("{}.\n", text(why)));
        }
        Some(answer) => {
            let day = answer.day.as_deref().map_or_else(String::new, |day| format!(" on {day}"));
            out.push_str(&format!("As reported by version {}{day}:\n\n", text(&facts.row_version)));
            for (label, state) in &facts.capabilities {
                out.push_str(&format!("- {label}: {}\n", state.label()));
            }
        }
    }
    if past.is_known() {
        out.push_str(&versions(past, &listing.version));
    }
    if page.f.site.has_address() {
        let base_url = &page.f.site.base_url;
        out.push_str(&format!("\nMore: <{base_url}/agents/{}/>\n", listing.id));
    }
    out
}

fn versions(past: &Past, version: &str) -> String {
    let mut out = "\n## Versions\n\n".to_owned();
    if !past.is_dated {
        out.push_str(&format!("- now {}; day not known\n", text(version)));
    }
    for change in &past.changes {
        let recall = past.recall(&change.version).map(|level| format!(" ({level})")).unwrap_or_default();
        let version = text(&change.version);
        out.push_str(&format!("- {}: {} {version}{recall}\n", change.day, change.label.to_lowercase()));
    }
    for one in &past.earlier_days {
        let day = one.day.as_ref().map(|day| format!("{day}: ")).unwrap_or_default();
        out.push_str(&format!("- {day}{}\n", text(&one.version)));
    }
    for (versions, why) in &past.recalls {
        out.push_str(&format!("- {} {}\n", text(versions), text(why)));
    }
    if let Some((count, command)) = &past.earlier {
        let fence = fence(command);
        out.push_str(&format!(
            "\nEarlier versions that can be installed: {count}, such as\n\n{fence}\n{command}\n{fence}\n"
        ));
    }
    out
}

fn tests_text(tests: &Tests) -> String {
    let place = [Some(&tests.version), tests.system.as_ref(), tests.day.as_ref()];
    let place = place.into_iter().flatten().map(|part| text(part)).collect::<Vec<_>>().join(", ");
    let head = format!("Up to the level `{}`: {}", tests.level, text(&tests.judgement));
    let mut out = format!("\n## Examination\n\n{head} ({place}{}).\n", tests.network);
    let mut list = |title: &str, tests: &[Test], with_evidence: bool| {
        if tests.is_empty() {
            return;
        }
        out.push_str(&format!("\n### {title}: {}\n\n", tests.len()));
        for test in tests {
            let evidence = if with_evidence { format!(": {}", text(&test.evidence)) } else { String::new() };
            out.push_str(&format!("- {} ({}){evidence}\n", text(&test.sentence), text(&test.id)));
        }
    };
    list("Failed", &tests.failed, true);
    list("Warnings", &tests.warnings, true);
    for (reason, unrun) in &tests.unrun {
        list(&format!("Could not run, {}", text(reason)), unrun, false);
    }
    list("Passed", &tests.passed, false);
    out
}

/// What must be installed first, in brackets.
fn needs(needs: Needs) -> String {
    match needs {
        Needs::Nothing => String::new(),
        Needs::Program => " (needs acp-registry)".to_owned(),
        Needs::Runtime(runtime) => format!(" (needs {runtime})"),
    }
}

/// A fence that is longer than any run of backticks in the text.
fn fence(text: &str) -> String {
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or_default();
    "`".repeat((longest + 1).max(3))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digests_are_counted_and_not_claimed() {
        assert_eq!(digests(0, 0), None);
        assert_eq!(digests(0, 2).unwrap(), "No SHA-256 for its downloads");
        assert_eq!(digests(1, 2).unwrap(), "A SHA-256 for 1 of 2 downloads");
        assert_eq!(digests(2, 2).unwrap(), "A SHA-256 for every download");
    }

    #[test]
    fn a_fence_is_longer_than_what_it_holds() {
        assert_eq!((fence("a").as_str(), fence("a ```` b").as_str()), ("```", "`````"));
    }
}

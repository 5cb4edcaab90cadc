//! The files of a new entry: checked with the rules, and written in one step.

use std::fs;
use std::path::Path;

use acp_registry_client::registry::{AgentFolder, Loaded, Registry};
use acp_registry_host::fs::{PathError, Staging};
use acp_registry_plan::manifest::{Agent, AgentId, BinaryTarget, Manifest, Package, extension};
use serde_json::{Map, Value, json};

use super::{Addition, Draft, Error, words};
use crate::check::{CheckOptions, Selection, check};
use crate::finding::{Finding, Level};

/// The members that are left out if the source's value breaks a rule.
const OPTIONAL: [&str; 5] = ["repository", "website", "authors", "license", "license_url"];

/// The names of the files of an entry.
pub const FILES: [&str; 2] = ["agent.json", "icon.svg"];

/// The files of a new entry.
#[derive(Debug, Clone)]
pub struct NewEntry {
    /// The manifest as JSON.
    pub manifest: Value,
    /// The text of `agent.json`.
    pub manifest_text: String,
    /// The text of `icon.svg`.
    pub icon: String,
    /// Members that were left out because they break a rule, with the reason.
    pub left_out: Vec<String>,
    /// The remaining errors, which a person must fix.
    pub errors: Vec<Finding>,
}

/// Checks that a new agent may have this id.
///
/// # Errors
/// Returns [`Error::Id`] with the message of the violated rule, and [`Error::Exists`] if the agent's folder exists.
pub(super) fn check_id(id: &str, registry: &mut Registry, options: &CheckOptions<'_>) -> Result<(), Error> {
    // The id becomes a folder's name, so its form is checked even if rules are off.
    if let Err(error) = id.parse::<AgentId>() {
        let remedy = format!(
            "use lower-case letters, digits and hyphens, begin with a letter, and write at most {} bytes",
            AgentId::LIMIT
        );
        return Err(Error::Id { message: error.to_string(), remedy: Some(remedy), near: None });
    }
    let folder = registry.root.join(id);
    if folder.symlink_metadata().is_ok() {
        return Err(Error::Exists(folder));
    }
    let value = json!({
        "id": id, "name": id, "version": "1.0.0", "description": "x", "distribution": { "npx": { "package": "x@1.0.0" } },
    });
    let findings = errors(id, &to_text(&value), registry, options);
    let of_id = findings.into_iter().find(|finding| finding.pointer.as_deref() == Some("/id"));
    of_id.map_or(Ok(()), |finding| {
        Err(Error::Id { message: format!("{}: {}", finding.rule, finding.message), remedy: finding.help, near: None })
    })
}

impl Addition<'_> {
    /// Gives the agent a name that the rules accept: that of the source, or else one of the words of its id.
    ///
    /// # Errors
    /// Returns [`Error::Unfit`] if they accept neither.
    pub fn settle_name(&mut self, draft: &mut Draft) -> Result<(), Error> {
        let mut problem = |agent: &Agent| {
            let findings = errors(&agent.id, &to_text(&to_json(agent)), &mut self.registry, &self.options);
            findings.into_iter().find(|finding| finding.pointer.as_deref() == Some("/name"))
        };
        let Some(found) = problem(&draft.agent) else { return Ok(()) };
        let named = Agent { name: words::title(&draft.agent.id), ..draft.agent.clone() };
        if let Some(finding) = problem(&named) {
            let remedy = "choose another id: the name is made of its words if that of the source cannot be taken";
            return Err(Error::unfit_with(format!("{}: {}", finding.rule, finding.message), remedy));
        }
        draft.notes.push(format!("`name` of the source was left out, and made of the id: {}", found.message));
        draft.agent = named;
        Ok(())
    }
}

/// Creates the files of a new entry. Optional members that break a rule are left out.
pub fn propose(draft: &Draft, registry: &mut Registry, options: &CheckOptions<'_>) -> NewEntry {
    let mut manifest = to_json(&draft.agent);
    let mut left_out = Vec::new();
    loop {
        let text = to_text(&manifest);
        let errors = errors(&draft.agent.id, &text, registry, options);
        let key = |finding: &Finding| {
            let key = finding.pointer.as_deref()?.split('/').nth(1)?;
            OPTIONAL.into_iter().find(|optional| *optional == key)
        };
        let Some((key, finding)) = errors.iter().find_map(|finding| Some((key(finding)?, finding))) else {
            let icon = starter_icon(&draft.agent.id);
            return NewEntry { manifest, manifest_text: text, icon, left_out, errors };
        };
        left_out.push(format!("`{key}` of the source was left out: {}", finding.message));
        if let Some(members) = manifest.as_object_mut() {
            members.shift_remove(key);
        }
    }
}

/// Writes a new entry into a registry. Its folder is renamed into place, so it is never incomplete.
///
/// # Errors
/// Returns [`Error::Exists`] if the folder exists, and [`Error::Path`] if it cannot be written.
pub fn place(root: &Path, id: &str, proposal: &NewEntry) -> Result<(), Error> {
    let folder = root.join(id);
    if folder.symlink_metadata().is_ok() {
        return Err(Error::Exists(folder));
    }
    let staging = Staging::beside(&folder)?;
    for (name, text) in FILES.into_iter().zip([&proposal.manifest_text, &proposal.icon]) {
        let path = staging.path().join(name);
        fs::write(&path, text).map_err(PathError::at(&path))?;
    }
    if staging.create()? { Ok(()) } else { Err(Error::Exists(folder)) }
}

/// The errors that offline rules report for a new entry, which is compared with the others of the registry.
fn errors(id: &str, text: &str, registry: &mut Registry, options: &CheckOptions<'_>) -> Vec<Finding> {
    let manifest = Manifest::parse(text.to_owned()).map_or_else(Loaded::Broken, Loaded::Present);
    registry.put(AgentFolder { id: id.to_owned(), manifest, icon: Loaded::Present(starter_icon(id)) });
    let mut findings = check(registry, options, &Selection::Agents([id.to_owned()].into())).findings;
    registry.remove(id);
    findings.retain(|finding| finding.level == Level::Error && finding.agent.as_deref() == Some(id));
    findings
}

/// The manifest of an agent, with members in the usual order. Empty members are left out.
pub(super) fn to_json(agent: &Agent) -> Value {
    let mut members = Map::new();
    let mut put = |key: &str, value: Option<Value>| {
        members.extend(value.map(|value| (key.to_owned(), value)));
    };
    let text = |text: &str| Some(Value::from(text));
    put("id", text(&agent.id));
    put("name", text(&agent.name));
    put("version", text(&agent.version));
    put("description", text(&agent.description));
    put("repository", agent.repository.as_deref().map(Value::from));
    put("website", agent.website.as_deref().map(Value::from));
    put("authors", (!agent.authors.is_empty()).then(|| json!(agent.authors)));
    put("license", agent.license.as_deref().map(Value::from));
    put("license_url", agent.license_url.as_deref().map(Value::from));
    let mut distribution = Map::new();
    let binary: Map<String, Value> =
        agent.distribution.binary.iter().map(|target| (target.platform.clone(), target_json(target))).collect();
    if !binary.is_empty() {
        distribution.insert("binary".to_owned(), Value::Object(binary));
    }
    for (kind, package) in agent.distribution.packages() {
        distribution.insert(kind.as_str().to_owned(), package_json(package));
    }
    put("distribution", Some(Value::Object(distribution)));
    Value::Object(members)
}

/// The text of a manifest, indented.
pub(super) fn to_text(value: &Value) -> String {
    format!("{value:#}\n")
}

fn package_json(package: &Package) -> Value {
    let mut value = json!({ "package": package.package });
    if let Some(command) = &package.command {
        value[extension::COMMAND] = json!(command);
    }
    if let Some(day) = &package.exclude_newer {
        value[extension::EXCLUDE_NEWER] = json!(day);
    }
    if !package.args.is_empty() {
        value["args"] = json!(package.args);
    }
    value
}

fn target_json(target: &BinaryTarget) -> Value {
    let mut value = json!({ "archive": target.archive });
    if let Some(sha256) = &target.sha256 {
        value["sha256"] = json!(sha256);
    }
    value["cmd"] = json!(target.cmd);
    if !target.args.is_empty() {
        value["args"] = json!(target.args);
    }
    value
}

/// The size of one square of a letter, in user units of the 16×16 icon.
const SQUARE: u32 = 2;

/// The position of the letter.
const LEFT: u32 = (16 - WIDTH * SQUARE) / 2;
const TOP: u32 = 1;

/// An icon that passes all rules: the initial letter of an id, drawn with `currentColor`. An id that does not start
/// with a letter gets a square.
pub(super) fn starter_icon(id: &str) -> String {
    let initial = id.bytes().next().map(|byte| byte.to_ascii_lowercase()).filter(u8::is_ascii_lowercase);
    let shapes =
        initial.map_or_else(|| "M3 3h10v10h-10z".to_owned(), |letter| shapes(LETTERS[usize::from(letter - b'a')]));
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"16\" height=\"16\" viewBox=\"0 0 16 16\">\n  \
         <path fill=\"currentColor\" d=\"{shapes}\"/>\n</svg>\n"
    )
}

/// Path data with a rectangle for each horizontal run of filled squares.
fn shapes(rows: [u8; 7]) -> String {
    let mut shapes = String::new();
    for (row, bits) in (0_u32..).zip(rows) {
        let is_filled = |column: u32| bits & (1 << (WIDTH - 1 - column)) != 0;
        let mut column = 0;
        while column < WIDTH {
            let end = (column..WIDTH).find(|&at| !is_filled(at)).unwrap_or(WIDTH);
            if end > column {
                let (x, y, width) = (LEFT + column * SQUARE, TOP + row * SQUARE, (end - column) * SQUARE);
                shapes.push_str(&format!("M{x} {y}h{width}v{SQUARE}h-{width}z"));
            }
            column = end + 1;
        }
    }
    shapes
}

/// Width of a letter, in squares.
const WIDTH: u32 = 5;

/// The letters A to Z as rows from top to bottom. Each bit is a square; the highest of the 5 bits is the leftmost.
#[rustfmt::skip]
const LETTERS: [[u8; 7]; 26] = [
    [0b01110, 0b10001, 0b10001, 0b11111, 0b10001, 0b10001, 0b10001], // A
    [0b11110, 0b10001, 0b10001, 0b11110, 0b10001, 0b10001, 0b11110], // B
    [0b01111, 0b10000, 0b10000, 0b10000, 0b10000, 0b10000, 0b01111], // C
    [0b11110, 0b10001, 0b10001, 0b10001, 0b10001, 0b10001, 0b11110], // D
    [0b11111, 0b10000, 0b10000, 0b11110, 0b10000, 0b10000, 0b11111], // E
    [0b11111, 0b10000, 0b10000, 0b11110, 0b10000, 0b10000, 0b10000], // F
    [0b01111, 0b10000, 0b10000, 0b10011, 0b10001, 0b10001, 0b01111], // G
    [0b10001, 0b10001, 0b10001, 0b11111, 0b10001, 0b10001, 0b10001], // H
    [0b11111, 0b00100, 0b00100, 0b00100, 0b00100, 0b00100, 0b11111], // I
    [0b00111, 0b00001, 0b00001, 0b00001, 0b00001, 0b10001, 0b01110], // J
    [0b10001, 0b10010, 0b10100, 0b11000, 0b10100, 0b10010, 0b10001], // K
    [0b10000, 0b10000, 0b10000, 0b10000, 0b10000, 0b10000, 0b11111], // L
    [0b10001, 0b11011, 0b10101, 0b10101, 0b10001, 0b10001, 0b10001], // M
    [0b10001, 0b11001, 0b10101, 0b10011, 0b10001, 0b10001, 0b10001], // N
    [0b01110, 0b10001, 0b10001, 0b10001, 0b10001, 0b10001, 0b01110], // O
    [0b11110, 0b10001, 0b10001, 0b11110, 0b10000, 0b10000, 0b10000], // P
    [0b01110, 0b10001, 0b10001, 0b10001, 0b10101, 0b10010, 0b01101], // Q
    [0b11110, 0b10001, 0b10001, 0b11110, 0b10100, 0b10010, 0b10001], // R
    [0b01111, 0b10000, 0b10000, 0b01110, 0b00001, 0b00001, 0b11110], // S
    [0b11111, 0b00100, 0b00100, 0b00100, 0b00100, 0b00100, 0b00100], // T
    [0b10001, 0b10001, 0b10001, 0b10001, 0b10001, 0b10001, 0b01110], // U
    [0b10001, 0b10001, 0b10001, 0b10001, 0b01010, 0b01010, 0b00100], // V
    [0b10001, 0b10001, 0b10001, 0b10101, 0b10101, 0b11011, 0b10001], // W
    [0b10001, 0b10001, 0b01010, 0b00100, 0b01010, 0b10001, 0b10001], // X
    [0b10001, 0b10001, 0b01010, 0b00100, 0b00100, 0b00100, 0b00100], // Y
    [0b11111, 0b00001, 0b00010, 0b00100, 0b01000, 0b10000, 0b11111], // Z
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_back() {
        let agent = Agent::from_json(&json!({
            "id": "a", "name": "Ä", "version": "1.0.0", "description": "d", "website": "https://h.example",
            "authors": ["A"], "license": "MIT",
            "distribution": {
                "binary": { "linux-x86_64": { "archive": "https://h.example/a", "sha256": "00", "cmd": "./a", "args": ["acp"] } },
                "npx": { "package": "a@1.0.0", "command": "b" },
                "uvx": { "package": "a==1.0.0", "exclude_newer": "2026-02-28", "args": ["--acp"] },
            },
        }));
        let text = to_text(&to_json(&agent));
        assert!(text.contains("\"name\": \"Ä\"") && text.ends_with("}\n"), "{text}");
        assert_eq!(Agent::from_json(&serde_json::from_str(&text).unwrap()), agent);
    }

    #[test]
    fn a_letter_stays_inside_the_icon() {
        for letter in 'a'..='z' {
            let icon = starter_icon(&letter.to_string());
            let numbers = icon.split("d=\"").nth(1).unwrap().split('"').next().unwrap();
            for corner in numbers.split('M').skip(1) {
                let (x, rest) = corner.split_once(' ').unwrap();
                let (y, rest) = rest.split_once('h').unwrap();
                let width: u32 = rest.split('v').next().unwrap().parse().unwrap();
                let (x, y): (u32, u32) = (x.parse().unwrap(), y.parse().unwrap());
                assert!(x >= 3 && x + width <= 13 && y >= 1 && y + SQUARE <= 15, "{letter}: {corner}");
            }
        }
        assert_eq!(starter_icon("l"), starter_icon("lemon"));
        assert!(starter_icon("7").contains("M3 3h10v10h-10z"));
    }
}

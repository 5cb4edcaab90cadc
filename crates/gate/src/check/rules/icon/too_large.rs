use crate::check::icon::IconFile;
use crate::check::rules::prelude::*;

pub(crate) static RULE: Rule = Rule {
    name: "icon/too-large",
    level: Level::Warning,
    summary: "icon.svg is larger than 32 KiB",
    why: "Clients load the icons of all agents at once, and so much detail cannot be seen at 16×16.",
    fix: "Simplify the drawing, or let an SVG optimiser round its coordinates.",
    fails: Example::Icon(LARGE),
    marks: "",
    passes: Example::Icon(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"16\" height=\"16\">\n  <path fill=\"currentColor\" d=\"M2 2h12v12H2z\"/>\n</svg>\n",
    ),
    check: CheckFn::IconFile(check),
};

/// Maximum size of an icon, in bytes.
const SIZE_LIMIT: usize = 32 * 1024;

/// A 33 KiB icon, made by padding path data, for the documentation's example.
const LARGE: &str = {
    static BYTES: [u8; 33 * 1024] = {
        let head = b"<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"16\" height=\"16\"><path fill=\"currentColor\" d=\"M2 2h12v12H2z";
        let tail = b"\"/></svg>";
        let mut bytes = [b' '; 33 * 1024];
        let mut at = 0;
        while at < head.len() {
            bytes[at] = head[at];
            at += 1;
        }
        at = 0;
        while at < tail.len() {
            bytes[33 * 1024 - tail.len() + at] = tail[at];
            at += 1;
        }
        bytes
    };
    match std::str::from_utf8(&BYTES) {
        Ok(text) => text,
        Err(_) => "",
    }
};

fn check(icon: &IconFile<'_>, report: &mut Reporter<'_>) {
    let length = icon.loaded.present().map_or(0, String::len);
    if length > SIZE_LIMIT {
        report.file(format!("the file has {length} bytes, more than {SIZE_LIMIT}")).help("simplify the drawing");
    }
}

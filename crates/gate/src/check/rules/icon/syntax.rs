use crate::check::icon::{IconFile, SVG, XmlError};
use crate::check::rules::prelude::*;
use acp_registry_client::registry::{ICON_LIMIT, Loaded};
use acp_registry_host::fs::ReadError;

pub(crate) static RULE: Rule = Rule {
    name: "icon/syntax",
    level: Level::Error,
    summary: "icon.svg is not an SVG document",
    why: "Browsers show nothing for a file that is not well-formed XML with an `svg` root in the SVG namespace. A \
          document type declaration can define entities that grow without bound. Files above 1 MiB, or with more than \
          20,000 elements, 10,000 attributes or 1,000 CSS declarations, are not read. CSS rules for `name`, `.class`, \
          `#id` and `*` are read; any other rule is refused, because it is not known what it paints; those for `name` and `*`, and for classes and ids that \
          no element has, may set nothing of HTML, which a page with the icon would obey. Masks, clips, filters, patterns, markers and dashes may not lead to more than \
          100,000 elements, nor a filter repeat a step more than 1,000 times, because a browser would draw them for ever.",
    fix: "Export the icon again, or correct the underlined place; the root element is `<svg \
          xmlns=\"http://www.w3.org/2000/svg\" …>`. Write colours as attributes of the elements, not in a style sheet.",
    fails: Example::Icon(
        "<svg width=\"16\" height=\"16\">\n  <path fill=\"currentColor\" d=\"M2 2h12v12H2z\"/>\n</svg>\n",
    ),
    marks: "<svg",
    passes: Example::Icon(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"16\" height=\"16\">\n  <path fill=\"currentColor\" d=\"M2 2h12v12H2z\"/>\n</svg>\n",
    ),
    check: CheckFn::IconFile(check),
};

fn check(icon: &IconFile<'_>, report: &mut Reporter<'_>) {
    match (icon.loaded, icon.parsed) {
        (Loaded::NotUtf8 { text, .. }, _) if is_image(text) => {
            report.file("a raster image, not an SVG document").help("export the icon as SVG");
        }
        (Loaded::NotUtf8 { offset, .. }, _) => {
            report.range(*offset..*offset, "not UTF-8").help("save the file as UTF-8");
        }
        (Loaded::Unreadable(ReadError::TooLarge { .. }), _) => {
            report
                .file(format!("larger than {ICON_LIMIT} bytes, and therefore not checked"))
                .help("an icon is a few kilobytes");
        }
        (_, Some(Err(error))) => {
            unreadable(error, report);
        }
        (_, Some(Ok(icon))) => {
            icon.unread.iter().for_each(|error| unreadable(error, report));
            let root = icon.root().tag_name();
            if root.name() != "svg" {
                report.range(icon.tag(icon.root()), format!("the root element is {}, not `svg`", quote(root.name())));
            } else if root.namespace() != Some(SVG) {
                report
                    .range(
                        icon.tag(icon.root()),
                        "the root element is not in the SVG namespace, and browsers show nothing",
                    )
                    .help(format!("add xmlns=\"{SVG}\""));
            }
        }
        (_, None) => {}
    }
}

fn unreadable(error: &XmlError, report: &mut Reporter<'_>) {
    let draft = report.range(error.range.clone(), format!("cannot be read: {}", error.message));
    if let Some(help) = error.help {
        draft.help(help);
    }
}

/// Whether a file that is not UTF-8 starts like PNG, JPEG, GIF, WebP or ICO.
fn is_image(text: &str) -> bool {
    ["\u{fffd}PNG", "\u{fffd}\u{fffd}\u{fffd}", "GIF8", "RIFF", "\0\0\u{1}\0"].iter().any(|head| text.starts_with(head))
}

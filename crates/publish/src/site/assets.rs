//! Style, scripts and icon of the site. File names contain a digest of the content, so that browsers can cache them
//! for ever; what else is published says how long caches may keep it.

use acp_registry_plan::digest::Sha256;

/// A style sheet: a file for each part of the pages, in cascade layers. A rule of a later layer wins over one of an
/// earlier layer, whatever their selectors; `!important` reverses that.
macro_rules! style {
    ($($page:expr)?) => {
        concat!(
            "@layer tokens {\n",
            include_str!("assets/style/tokens.css"),
            "}\n@layer base {\n",
            include_str!("assets/style/base.css"),
            "}\n@layer parts {\n",
            include_str!("assets/style/cards.css"),
            include_str!("assets/style/snippets.css"),
            include_str!("assets/style/tables.css"),
            include_str!("assets/style/lists.css"),
            "}\n@layer pages {\n",
            $($page,)?
            include_str!("assets/style/guide.css"),
            "}\n@layer frame {\n",
            include_str!("assets/style/header.css"),
            include_str!("assets/style/footer.css"),
            "}\n@layer media {\n",
            include_str!("assets/style/forced-colors.css"),
            include_str!("assets/style/print.css"),
            "}\n",
        )
    };
}

const FILES: [(&str, &str, &str); 11] = [
    ("style", "css", style!()),
    ("theme", "js", include_str!("assets/theme.js")),
    ("search", "js", include_str!("assets/search.js")),
    ("page", "js", include_str!("assets/page.js")),
    ("home", "css", style!(include_str!("assets/style/home.css"))),
    ("agent", "css", include_str!("assets/style/agent.css")),
    ("tabs", "js", include_str!("assets/tabs.js")),
    ("matrix", "css", include_str!("assets/style/matrix.css")),
    ("compare", "js", include_str!("assets/compare.js")),
    ("rank", "js", include_str!("assets/rank.js")),
    ("icon", "svg", include_str!("assets/icon.svg")),
];

/// Paths of the files, relative to the root of the site.
#[derive(Debug, Default)]
pub(super) struct Assets {
    pub(super) style: String,
    pub(super) theme: String,
    pub(super) search: String,
    pub(super) page: String,
    /// The home page loads this style in place of the common one, which it contains: one request less.
    pub(super) home: String,
    /// Only pages of agents load this style and this script.
    pub(super) agent: String,
    pub(super) tabs: String,
    /// Only the matrix loads this style and this script.
    pub(super) matrix: String,
    pub(super) compare: String,
    /// The search loads this script with the catalog.
    pub(super) rank: String,
    pub(super) icon: String,
}

impl Assets {
    /// Returns the paths, and the files with their content.
    pub(super) fn all() -> (Self, Vec<(String, Vec<u8>)>) {
        let files = FILES.map(|(stem, ending, text)| {
            let bytes = if ending == "svg" { text.to_owned() } else { without_comments(text) }.into_bytes();
            (hashed(stem, ending, &bytes), bytes)
        });
        let [style, theme, search, page, home, agent, tabs, matrix, compare, rank, icon] =
            files.each_ref().map(|(path, _)| path.clone());
        (Self { style, theme, search, page, home, agent, tabs, matrix, compare, rank, icon }, files.into())
    }
}

/// Returns a path that contains a digest of the content.
pub(super) fn hashed(stem: &str, ending: &str, bytes: &[u8]) -> String {
    format!("assets/{stem}.{}.{ending}", Sha256::of(bytes).first(12))
}

/// Removes comments and indentation from a script or style sheet to make it smaller.
fn without_comments(text: &str) -> String {
    let is_comment = |line: &str| line.starts_with("//") || line.starts_with("/*") && line.ends_with("*/");
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty() && !is_comment(line));
    lines.flat_map(|line| [line, "\n"]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scripts_and_styles_lose_their_comments_and_nothing_else() {
        assert_eq!(without_comments("// x\n\n  a('//');\n    // y\n  b(); // z\n"), "a('//');\nb(); // z\n");
        assert_eq!(without_comments("/* x */\n  p { color: red; } /* y */\n"), "p { color: red; } /* y */\n");
        // Removing lines is only safe if no template literal or block comment spans lines.
        for (stem, _, text) in FILES.iter().filter(|(_, ending, _)| *ending != "svg") {
            let is_open = |line: &str| line.matches('`').count() % 2 == 1 || line.contains("/*") != line.contains("*/");
            assert!(!text.lines().any(is_open), "{stem}");
        }
    }
}

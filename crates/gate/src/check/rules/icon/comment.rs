use crate::check::icon::Icon;
use crate::check::rules::prelude::*;

pub(crate) static RULE: Rule = Rule {
    name: "icon/comment",
    level: Level::Warning,
    summary: "icon.svg has a comment",
    why: "Icons are also embedded in pages whose format has no XML comments, such as MDX; a comment breaks them.",
    fix: "Remove the comment.",
    fails: Example::Icon(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"16\" height=\"16\">\n  <!-- square -->\n  \
         <path fill=\"currentColor\" d=\"M2 2h12v12H2z\"/>\n</svg>\n",
    ),
    marks: "<!-- square -->",
    passes: Example::Icon(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"16\" height=\"16\">\n  <path fill=\"currentColor\" d=\"M2 2h12v12H2z\"/>\n</svg>\n",
    ),
    check: CheckFn::Icon(check),
};

fn check(icon: &Icon<'_>, report: &mut Reporter<'_>) {
    for comment in icon.document.descendants().filter(roxmltree::Node::is_comment) {
        report.range(comment.range(), "comments break pages that embed the icon").help("remove the comment");
    }
}

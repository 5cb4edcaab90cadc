//! Package managers that refuse to install because of a runtime, recognised by their output.

use serde_json::Value;

use super::failure::unfolded;
use super::node::Shortfall;

/// npm failed because a package requires another Node.js: by `engine-strict`, or in an install script after npm had
/// warned. `name` is the package that the manifest names.
pub(super) fn node_shortfall(stderr: &str, name: &str) -> Option<Shortfall> {
    let shortfall = |wanted: &str, found: &str| Shortfall {
        runtime: "Node.js",
        wanted: wanted.to_owned(),
        found: found.trim_start_matches('v').to_owned(),
        place: None,
    };
    if stderr.contains("npm error code EBADENGINE") {
        let node = |key: &str| {
            let json = stderr.lines().find_map(|line| line.trim().split_once(key))?.1;
            let value: Value = serde_json::from_str(json.trim()).ok()?;
            value.get("node")?.as_str().map(ToOwned::to_owned)
        };
        return Some(shortfall(&node("notsup Required:")?, &node("notsup Actual:")?));
    }
    // Only a script of the package can fail because of the version; a download cannot.
    if !stderr.contains("npm error command ") {
        return None;
    }
    let lines: Vec<&str> = stderr.lines().filter_map(|line| line.trim().strip_prefix("npm warn EBADENGINE")).collect();
    let of_package = format!("package: '{name}@");
    let at = lines.iter().position(|line| line.trim().starts_with(&of_package))?;
    let node = |key: &str| {
        let line = lines.get(at..)?.iter().map(|line| line.trim()).find(|line| line.starts_with(key))?;
        line.split_once("node: '")?.1.split_once('\'').map(|(text, _)| text)
    };
    Some(shortfall(node("required:")?, node("current:")?))
}

/// uv found that a package requires a Python other than the one that it would use.
pub(super) fn python_shortfall(stderr: &str) -> Option<Shortfall> {
    // uv folds long sentences.
    let words: Vec<&str> = stderr.split_whitespace().collect();
    let text = words.join(" ");
    let (found, rest) = text.split_once("current Python version (")?.1.split_once(')')?;
    let wanted = rest.strip_prefix(" does not satisfy Python")?.split([' ', ';']).next()?;
    let is_range = |c: char| c.is_ascii_alphanumeric() || "<>=!~,.*".contains(c);
    let is_plain = !wanted.is_empty() && wanted.chars().all(is_range) && wanted.starts_with(['<', '>', '=', '!', '~']);
    let wanted = wanted.trim_end_matches([',', '.']);
    is_plain.then(|| Shortfall { runtime: "Python", wanted: wanted.to_owned(), found: found.to_owned(), place: None })
}

/// Whether uv has found nothing but the source of a package, which it may not build.
pub(super) fn is_of_build(stderr: &str) -> bool {
    unfolded(stderr).contains("building from source is disabled")
}

/// The package that uv would have to build.
pub(super) fn needs_build(stderr: &str) -> Option<String> {
    let words: Vec<&str> = stderr.split_whitespace().collect();
    let (_, rest) =
        words.join(" ").split_once("Wheels are required for `").map(|(a, b)| (a.to_owned(), b.to_owned()))?;
    rest.split_once('`').map(|(name, _)| name.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    const STRICT: &str = r#"npm error code EBADENGINE
npm error engine Unsupported engine
npm error engine Not compatible with your version of node/npm: p@12.2.0
npm error notsup Not compatible with your version of node/npm: p@12.2.0
npm error notsup Required: {"node":"^22.22.2 || >=26.0.0"}
npm error notsup Actual:   {"node":"v20.20.2","npm":"11.19.1"}
"#;

    const WARNING: &str = "npm warn EBADENGINE Unsupported engine {
npm warn EBADENGINE   package: 'abbrev@5.0.0',
npm warn EBADENGINE   required: { node: '^18' },
npm warn EBADENGINE   current: { node: 'v20.20.2', npm: '11.19.1' }
npm warn EBADENGINE }
npm warn EBADENGINE Unsupported engine {
npm warn EBADENGINE   package: '@s/p@12.2.0',
npm warn EBADENGINE   required: { node: '>=22' },
npm warn EBADENGINE   current: { node: 'v20.20.2', npm: '11.19.1' }
npm warn EBADENGINE }
";

    #[test]
    fn npm_says_which_node_a_package_wants() {
        let told = |stderr: &str, name: &str| node_shortfall(stderr, name).map(|shortfall| shortfall.to_string());
        assert_eq!(told(STRICT, "p").as_deref(), Some("needs Node.js ^22.22.2 || >=26.0.0, found 20.20.2"));
        let script = format!("{WARNING}npm error code 1\nnpm error path /a\nnpm error command sh -c node install.js\n");
        assert_eq!(told(&script, "@s/p").as_deref(), Some("needs Node.js >=22, found 20.20.2"));
        // A download that fails has another reason, and another package is not the agent.
        assert_eq!(told(&format!("{WARNING}npm error code ECONNRESET\n"), "@s/p"), None);
        assert_eq!(told(&script, "p"), None);
        for odd in ["", "npm error code EBADENGINE\n", "npm error code EBADENGINE\nnpm error notsup Required: {\n"] {
            assert_eq!(told(odd, "p"), None, "{odd}");
        }
    }

    #[test]
    fn uv_says_what_it_would_have_to_build() {
        let refusal = "error: No solution found when resolving dependencies
  cause: Because docopt==0.6.2 has no usable wheels and you require docopt==0.6.2, we can conclude that \
                       your requirements are unsatisfiable.

hint: Wheels are required for `docopt` because building from
      source is disabled for all packages (i.e., with `--no-build`)";
        assert!(is_of_build(refusal) && !is_of_build("error: no"));
        assert_eq!(needs_build(refusal).as_deref(), Some("docopt"));
        assert_eq!(needs_build("building from source is disabled"), None);
    }

    #[test]
    fn uv_says_which_python_a_package_wants() {
        let told = |stderr: &str| python_shortfall(stderr).map(|shortfall| shortfall.to_string());
        let refusal = "error: No solution found when resolving dependencies
  cause: Because the current Python version (3.11.7) does not satisfy
         Python>=3.12,<3.16 and p==0.10.48 depends on Python>=3.12,<3.16, we can conclude that p cannot be used.";
        assert_eq!(told(refusal).as_deref(), Some("needs Python >=3.12,<3.16, found 3.11.7"));
        for odd in
            ["", "the current Python version (3.11.7) is", "current Python version (3) does not satisfy Python--x "]
        {
            assert_eq!(told(odd), None, "{odd}");
        }
    }
}

//! Install scripts of npm packages that npm has not run.

use acp_registry_core::text::printable;

/// What begins the lines in which npm tells of install scripts.
const MARK: &str = "npm warn install-scripts";

/// How many packages are named.
const NAMED: usize = 20;

/// The packages, each with its version, whose install scripts npm has blocked, in npm's own words on stderr. Printable.
///
/// Since npm 12, scripts run only where `allowScripts` of the root `package.json` allows them; npm 11 gives the same
/// list with other words before it, and runs them.
pub(super) fn blocked(stderr: &str) -> Vec<String> {
    let mut lines = stderr.lines().filter_map(|line| line.trim().strip_prefix(MARK));
    if !lines.any(|line| line.contains("install scripts blocked")) {
        return Vec::new();
    }
    let packages = lines.take_while(|line| line.starts_with("   ")).filter_map(|line| line.split_once(" ("));
    packages.take(NAMED).map(|(package, _)| printable(package.trim()).into_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_npm_has_blocked_is_read_from_its_words() {
        let list = "npm warn install-scripts   esbuild@0.25.0 (postinstall: node install.js)\n\
                    npm warn install-scripts   @s/p@1.0.0 (preinstall: a (b))\n\
                    npm warn install-scripts\n\
                    npm warn install-scripts Run `npm install-scripts ls` to review\n";
        let of = |words: &str| blocked(&format!("npm warn x\nnpm warn install-scripts 2 packages {words}:\n{list}"));
        assert_eq!(
            of("had install scripts blocked because they are not covered by allowScripts"),
            ["esbuild@0.25.0", "@s/p@1.0.0"]
        );
        // npm 11 warns, and runs them.
        assert_eq!(of("have install scripts not yet covered by allowScripts"), [] as [&str; 0]);
        assert_eq!(blocked(""), [] as [&str; 0]);
        assert_eq!(blocked("npm warn install-scripts 1 package had install scripts blocked\n"), [] as [&str; 0]);
    }
}

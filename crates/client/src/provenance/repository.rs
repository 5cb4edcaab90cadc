//! Addresses of repositories, as manifests, attestations and workflows write them.

use url::Url;

/// Whether two addresses lead to the same repository. Hosts of repositories ignore case.
#[must_use]
pub fn is_same_repository(a: &str, b: &str) -> bool {
    canonical(a).is_some_and(|a| canonical(b) == Some(a))
}

/// Host and path, as all addresses of a repository have them; `None` for what is not an address of a host.
fn canonical(address: &str) -> Option<String> {
    let url = Url::parse(address.strip_prefix("git+").unwrap_or(address)).ok()?;
    let path = url.path().trim_matches('/');
    let path = path.strip_suffix(".git").unwrap_or(path).to_ascii_lowercase();
    let port = url.port().map(|port| format!(":{port}")).unwrap_or_default();
    let is_plain = url.query().is_none() && url.fragment().is_none() && !path.is_empty();
    is_plain.then_some(format!("{}{port}/{path}", url.host_str()?.to_ascii_lowercase()))
}

/// The address of the repository in that of a workflow: GitHub's path begins with `.github`, and GitLab's after `//`.
pub(super) fn repository_address(workflow: &str) -> &str {
    let start = workflow.find("://").map_or(0, |at| at + 3);
    let ends = ["/.github/", "//"].into_iter().filter_map(|sign| workflow[start..].find(sign));
    ends.min().map_or(workflow, |end| &workflow[..start + end])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_of_one_repository_are_the_same() {
        let own = "https://github.com/Owner/Repo";
        for same in [
            "https://github.com/owner/repo/", "git+https://GitHub.com/owner/repo.git",
            "https://github.com/owner/repo.git/",
        ] {
            assert!(is_same_repository(own, same), "{same}");
        }
        for other in [
            "https://github.com/owner/repo2",
            "https://github.com/owner",
            "https://github.com.evil.example/owner/repo",
            "https://evil.example/github.com/owner/repo",
            "https://github.com/owner/repo?x",
            "https://github.com:8443/owner/repo",
            "https://github.com/owner/repo/tree/main",
            "owner/repo",
            "",
        ] {
            assert!(!is_same_repository(own, other), "{other}");
        }
        assert!(!is_same_repository("", ""));
    }

    #[test]
    fn workflows_have_the_repository_in_their_address() {
        for (workflow, repository) in [
            ("https://github.com/o/r/.github/workflows/a.yml", "https://github.com/o/r"),
            ("https://gitlab.com/g/s/p//.gitlab-ci.yml", "https://gitlab.com/g/s/p"),
            ("https://ci.example/x", "https://ci.example/x"),
            ("", ""),
        ] {
            assert_eq!(repository_address(workflow), repository);
        }
    }
}

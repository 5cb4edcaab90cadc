//! Pull requests of a repository, through GitHub's REST API.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use serde_json::{Value, json};
use url::Url;

use acp_registry_plan::json::List;

use acp_registry_http::{ChangeKind, Client, FetchError};
use acp_registry_sources::SourceError;
use acp_registry_sources::github::Github;

/// Number of pull requests per page, and maximum number of pages.
const PER_PAGE: usize = 100;
const PAGES: usize = 50;

/// Maximum size of a response, in bytes.
const ANSWER_LIMIT: u64 = 32 << 20;

/// Maximum size of a pull request, in bytes. Its text may have 256 KiB, and JSON escapes can make that six times
/// longer.
const LARGEST: usize = 2 << 20;

/// A GitHub repository: `owner/name`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Slug {
    /// The owner.
    pub owner: String,
    /// The name.
    pub name: String,
}

/// A text that is not of the form `owner/name`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("it is not the name of a repository")]
pub struct NoSlug;

impl fmt::Display for Slug {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.owner, self.name)
    }
}

impl FromStr for Slug {
    type Err = NoSlug;

    fn from_str(text: &str) -> Result<Self, NoSlug> {
        let is_plain = |part: &str| {
            !part.is_empty()
                && !part.starts_with('.')
                && part.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_.".contains(&b))
        };
        let (owner, name) = text.split_once('/').filter(|(a, b)| is_plain(a) && is_plain(b)).ok_or(NoSlug)?;
        Ok(Self { owner: owner.to_owned(), name: name.to_owned() })
    }
}

impl Slug {
    /// The repository of a git remote: `https://host/owner/name.git` or `git@host:owner/name.git`.
    pub(super) fn from_remote(address: &str) -> Option<Self> {
        let path = match Url::parse(address) {
            Ok(url) if url.host_str().is_some() => url.path().trim_start_matches('/').to_owned(),
            _ => address.split_once(':')?.1.to_owned(),
        };
        let path = path.trim_end_matches('/');
        path.strip_suffix(".git").unwrap_or(path).parse().ok()
    }
}

/// An open pull request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Pull {
    pub(super) number: u64,
    pub(super) address: String,
    pub(super) branch: String,
    pub(super) title: String,
    pub(super) body: String,
    pub(super) labels: Vec<String>,
}

/// The pull requests of a repository.
pub(super) struct Pulls<'a> {
    pub(super) client: &'a Client,
    pub(super) github: &'a Github,
    pub(super) slug: &'a Slug,
}

/// One page of pull requests.
#[derive(Debug)]
struct PullsPage {
    /// Number of pull requests on the page.
    length: usize,
    /// Pull requests from the repository itself, each with whether it was merged.
    own: Vec<(Pull, bool)>,
}

impl Pulls<'_> {
    /// Open pull requests from branches of the repository itself with this prefix; `None` if the repository does not
    /// exist.
    pub(super) async fn open(&self, prefix: &str) -> Result<Option<Vec<Pull>>, SourceError> {
        let mut all = Vec::new();
        for page in 1..=PAGES {
            let url = self.url(&format!("pulls?state=open&per_page={PER_PAGE}&page={page}"));
            let Some(list) = self.list(&url).await? else { return Ok(None) };
            all.extend(list.own.iter().map(|(pull, _)| pull).filter(|pull| pull.branch.starts_with(prefix)).cloned());
            if list.length < PER_PAGE {
                break;
            }
        }
        Ok(Some(all))
    }

    pub(super) async fn create(&self, branch: &str, base: &str, title: &str, body: &str) -> Result<Pull, String> {
        let request =
            json!({ "head": branch, "base": base, "title": title, "body": body, "maintainer_can_modify": true });
        let value = self.client.change(ChangeKind::Post, &self.url("pulls"), &request).await;
        let value = value.map_err(|error| error.to_string())?;
        pull(&value).ok_or_else(|| {
            "GitHub's response to the new pull request has no number; the next run will find it".to_owned()
        })
    }

    /// Whether a person closed a pull request with this title without merging it. Those closed by this program have
    /// another title.
    pub(super) async fn is_declined(&self, branch: &str, title: &str) -> Result<bool, SourceError> {
        let head = format!("{}:{branch}", self.slug.owner);
        let mut url = self.url("pulls");
        url.query_pairs_mut().extend_pairs([("state", "closed"), ("head", &head), ("per_page", "100")]);
        let Some(list) = self.list(&url).await? else { return Ok(false) };
        let is_it = |(pull, is_merged): &(Pull, bool)| pull.branch == branch && pull.title == title && !is_merged;
        Ok(list.own.iter().any(is_it))
    }

    async fn list(&self, url: &Url) -> Result<Option<Arc<PullsPage>>, SourceError> {
        let slug = self.slug.to_string();
        let answer = self.client.understand(url, "application/vnd.github+json", ANSWER_LIMIT, |document| {
            let list: List<'_, PER_PAGE> = serde_json::from_slice(&document.body).map_err(|error| error.to_string())?;
            // The number of pull requests per page and their size are bounded, so each can be parsed as a whole.
            let small = list.items.iter().filter(|item| item.get().len() <= LARGEST);
            let own = small.filter_map(|item| own(&serde_json::from_str(item.get()).ok()?, &slug)).collect();
            Ok(PullsPage { length: list.items.len(), own })
        });
        let malformed = |message| SourceError::Malformed {
            url: acp_registry_http::shown(url),
            expected: "a list of pull requests",
            message,
        };
        answer.await?.transpose().map_err(malformed)
    }

    pub(super) async fn update(&self, number: u64, title: &str, body: &str) -> Result<(), FetchError> {
        let url = self.url(&format!("pulls/{number}"));
        self.client.change(ChangeKind::Patch, &url, &json!({ "title": title, "body": body })).await.map(drop)
    }

    /// Closes a pull request and marks its title as obsolete, to tell it from one that a person declined.
    pub(super) async fn close(&self, pull: &Pull) -> Result<(), FetchError> {
        let url = self.url(&format!("pulls/{}", pull.number));
        let change = json!({ "state": "closed", "title": format!("{} (obsolete)", pull.title) });
        self.client.change(ChangeKind::Patch, &url, &change).await.map(drop)
    }

    pub(super) async fn set_labels(&self, number: u64, labels: &[String]) -> Result<(), FetchError> {
        let url = self.url(&format!("issues/{number}"));
        self.client.change(ChangeKind::Patch, &url, &json!({ "labels": labels })).await.map(drop)
    }

    fn url(&self, path: &str) -> Url {
        let mut url = self.github.api.clone();
        let (path, query) = path.split_once('?').map_or((path, None), |(path, query)| (path, Some(query)));
        // The base URL ends with a slash; owner and name need no escaping.
        url.set_path(&format!("{}repos/{}/{path}", url.path(), self.slug));
        url.set_query(query);
        url
    }
}

/// The pull request and whether it was merged; `None` if its branch is in a fork, where branches may have any name.
fn own(value: &Value, slug: &str) -> Option<(Pull, bool)> {
    let repository = value.pointer("/head/repo/full_name").and_then(Value::as_str)?;
    let is_merged = value.get("merged_at").is_some_and(|time| !time.is_null());
    repository.eq_ignore_ascii_case(slug).then(|| pull(value)).flatten().map(|pull| (pull, is_merged))
}

fn pull(value: &Value) -> Option<Pull> {
    let text = |pointer: &str| value.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_owned();
    let labels = value.get("labels").and_then(Value::as_array).into_iter().flatten();
    Some(Pull {
        number: value.get("number").and_then(Value::as_u64)?,
        address: text("/html_url"),
        branch: text("/head/ref"),
        title: text("/title"),
        body: text("/body"),
        labels: labels.filter_map(|label| Some(label.get("name")?.as_str()?.to_owned())).collect(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repositories_are_known_by_their_remotes() {
        for (address, slug) in [
            ("https://github.com/o/r.git", Some("o/r")),
            ("https://x-access-token:secret@github.com/o/r", Some("o/r")),
            ("git@github.com:o/r.git", Some("o/r")),
            ("ssh://git@git.example/o/r/", Some("o/r")),
            ("../remote", None),
            ("https://github.com/o", None),
            ("https://github.com/o/r/x", None),
            ("https://github.com/o/%2e%2e", None),
        ] {
            assert_eq!(Slug::from_remote(address).map(|slug| slug.to_string()).as_deref(), slug, "{address}");
        }
    }
}

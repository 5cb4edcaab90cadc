//! Releases on GitHub: those of one repository, or of many in one request with GraphQL.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use acp_registry_http::{Client, Credentials, FetchError, FetchedDocument, Method, Problem, Secret};
use acp_registry_plan::digest::Sha256;
use acp_registry_plan::json::{self, List};
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;
use url::Url;

use super::about::license_url;
use super::{PublisherFacts, RepositoryName, SourceError, address, segment, word};

/// URL of the public GitHub's API.
const DEFAULT_API: &str = "https://api.github.com/";

const ACCEPT: &str = "application/vnd.github+json";

/// The expected response, for messages.
const EXPECTED: &str = "a release";

/// The expected response for a repository.
const EXPECTED_REPOSITORY: &str = "a repository";

/// The expected response for a list of releases.
const EXPECTED_LIST: &str = "a list of releases";

/// Maximum number of releases in one response.
pub const PER_PAGE: usize = 100;

/// Maximum number of responses: a repository of many programs may have thousands of releases.
const PAGES: usize = 20;

/// Maximum number of files of a release; this is also GitHub's limit.
const ASSETS: usize = 1000;

/// Number of files in all releases of a repository after which no further response is requested.
const ASSETS_OF_ALL: usize = 200_000;

/// Maximum size of a list of releases, in bytes: the notes of 100 releases, and their files.
const LIST_LIMIT: u64 = 32 << 20;

/// Maximum size of other responses, in bytes.
const ANSWER_LIMIT: u64 = 8 << 20;

/// Maximum length of a tag or of the name of a file, in bytes.
pub(super) const NAME: usize = 255;

/// A GitHub: the public one or an enterprise server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Github {
    /// Base URL of the API; its path ends with a slash.
    pub api: Url,
}

/// A release, as named in a URL.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct ReleaseId {
    /// Owner of the repository.
    pub owner: String,
    /// Name of the repository.
    pub repository: String,
    /// The tag of the release.
    pub tag: String,
}

/// A published release.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Release {
    /// The tag.
    pub tag: String,
    /// Whether it is visible only to its authors so far.
    pub is_draft: bool,
    /// Whether its authors marked it as a prerelease.
    pub is_prerelease: bool,
    /// When it was published.
    pub published: Option<OffsetDateTime>,
    /// The files.
    pub assets: Vec<Asset>,
}

/// The URL of a file in another release of the same repository as `archive`.
pub fn asset_address(archive: &str, tag: &str, name: &str) -> Option<String> {
    const DOWNLOADS: &str = "/releases/download/";
    let end = archive.find(DOWNLOADS)? + DOWNLOADS.len();
    let tag = tag.split('/').map(segment).collect::<Vec<_>>().join("/");
    Some(format!("{}{tag}/{}", &archive[..end], segment(name)))
}

/// A file of a release.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Asset {
    /// The name, which is the last part of its URL.
    pub name: String,
    /// The SHA-256 that GitHub computed at the upload, in lower-case hexadecimal.
    pub sha256: Option<Sha256>,
    /// Whether the upload is complete.
    pub is_complete: bool,
    /// When it was uploaded or changed.
    pub updated: Option<OffsetDateTime>,
}

impl Github {
    /// How to fix it if this GitHub refuses requests: the rate limit is exceeded, or the token is not accepted.
    pub fn remedy(&self, error: &FetchError) -> Option<String> {
        if !error.url.starts_with(self.api.as_str()) {
            return None;
        }
        let token = "wait; it is higher with a token in GITHUB_TOKEN";
        match error.problem {
            Problem::RateLimited { wait } => {
                let minutes = wait.as_secs().div_ceil(60).max(1);
                Some(format!("GitHub's rate limit is used up for another {minutes} min: {token}"))
            }
            Problem::Status(429) => Some(format!("GitHub's rate limit is used up: {token}")),
            Problem::Status(401) => Some("GitHub wants a valid token: set GITHUB_TOKEN to one, or unset it".to_owned()),
            Problem::Status(403) => {
                Some("GitHub refused the request: set GITHUB_TOKEN to a token that may read the repository".to_owned())
            }
            _ => None,
        }
    }

    /// Parses the base URL of an API.
    pub fn new(api: &str) -> Option<Self> {
        let url = Url::parse(&format!("{}/", api.trim().trim_end_matches('/'))).ok()?;
        (["https", "http"].contains(&url.scheme()) && url.host_str().is_some()).then_some(Self { api: url })
    }

    /// The GitHub named by these variables, or the public one. The token is added to the credentials.
    ///
    /// `GITHUB_API_URL` is the URL of the API, `GITHUB_TOKEN` a token for it.
    ///
    /// # Errors
    /// Returns a message if `GITHUB_API_URL` is not a valid URL.
    pub fn configured(
        variable: &dyn Fn(&str) -> Option<String>,
        credentials: &mut Credentials,
    ) -> Result<Self, &'static str> {
        let set = |name| variable(name).filter(|value| !value.trim().is_empty());
        let github = Self::new(set("GITHUB_API_URL").as_deref().unwrap_or(DEFAULT_API))
            .ok_or("GITHUB_API_URL is not the address of a GitHub")?;
        if let Some(token) = set("GITHUB_TOKEN") {
            let token = Secret::Bearer(token.trim().to_owned());
            credentials.add(&github.api, &token);
            credentials.add(&github.graphql(), &token);
        }
        Ok(github)
    }

    /// The release and the name of the file, if a URL is that of a release's file on this or the public GitHub.
    pub fn find_asset(&self, url: &Url) -> Option<(ReleaseId, String)> {
        let host = url.host_str()?;
        let own = self.api.host_str()?;
        let is_own = host == own.strip_prefix("api.").unwrap_or(own) && (own != host || url.port() == self.api.port());
        if !is_own && host != "github.com" {
            return None;
        }
        let decoded = |part: &str| percent_encoding::percent_decode_str(part).decode_utf8().ok().map(Cow::into_owned);
        let parts: Vec<String> = url.path_segments()?.map(decoded).collect::<Option<_>>()?;
        let [owner, repository, releases, download, tag @ .., file] = parts.as_slice() else { return None };
        if releases != "releases" || download != "download" || tag.is_empty() || file.is_empty() {
            return None;
        }
        // Tags may contain slashes.
        let id = ReleaseId { owner: owner.clone(), repository: repository.clone(), tag: tag.join("/") };
        Some((id, file.clone()))
    }

    /// Whether a URL is a page of this or the public GitHub.
    fn is_page(&self, url: &Url) -> bool {
        let is_own = self.pages().is_some_and(|own| own.host_str() == url.host_str() && own.port() == url.port());
        is_own || ["github.com", "www.github.com"].contains(&url.host_str().unwrap_or_default())
    }

    /// The repository of a page, which may be a folder in it.
    pub fn find_repository(&self, address: &str) -> Option<RepositoryName> {
        let url = Url::parse(address.strip_prefix("git+").unwrap_or(address)).ok().filter(|url| self.is_page(url))?;
        let mut parts = url.path_segments()?.filter(|part| !part.is_empty());
        format!("{}/{}", parts.next()?, parts.next()?).parse().ok()
    }

    /// URL of a page, from the segments of its path.
    pub fn page(&self, parts: &[&str]) -> Option<String> {
        let mut url = self.pages()?;
        url.path_segments_mut().ok()?.clear().extend(parts);
        Some(url.to_string())
    }

    /// URL of the website: the API has the same host, or that host with the prefix `api.`.
    fn pages(&self) -> Option<Url> {
        let mut url = self.api.clone();
        url.set_path("/");
        if let Some(host) = self.api.host_str()?.strip_prefix("api.") {
            url.set_host(Some(host)).ok()?;
        }
        Some(url)
    }

    /// Fetches a release; `None` if there is none with this tag.
    ///
    /// # Errors
    /// Returns [`SourceError`] if the request fails or the response is not valid.
    pub async fn release(&self, client: &Client, id: &ReleaseId) -> Result<Option<Arc<Release>>, SourceError> {
        let tag = id.tag.split('/').map(segment).collect::<Vec<_>>().join("%2F");
        let path = format!("repos/{}/{}/releases/tags/{tag}", segment(&id.owner), segment(&id.repository));
        let url = address(&format!("{}{path}", self.api), &self.api, EXPECTED)?;
        super::ask(client, &url, ACCEPT, ANSWER_LIMIT, EXPECTED, |document| Release::parse(&document.body)).await
    }

    /// Fetches the description of a repository; `None` if the repository does not exist.
    ///
    /// # Errors
    /// Returns [`SourceError`] if the request fails or the response is not valid.
    pub async fn about(&self, client: &Client, owner: &str, name: &str) -> Result<Option<PublisherFacts>, SourceError> {
        let url = |path: &str| {
            let url = format!("{}repos/{}/{}{path}", self.api, segment(owner), segment(name));
            address(&url, &self.api, EXPECTED_REPOSITORY)
        };
        let raw = |document: &FetchedDocument| {
            serde_json::from_slice::<&RawValue>(&document.body)
                .map(ToOwned::to_owned)
                .map_err(|error| error.to_string())
        };
        let (page, license) = (url("")?, url("/license")?);
        let about = super::ask(client, &page, ACCEPT, ANSWER_LIMIT, EXPECTED_REPOSITORY, |document| {
            raw(&document).map(|repository| PublisherFacts::from_github(&repository))
        });
        let Some(about) = about.await? else { return Ok(None) };
        let license = super::ask(client, &license, ACCEPT, ANSWER_LIMIT, EXPECTED_REPOSITORY, |document| {
            raw(&document).map(|license| license_url(&license))
        });
        let license_url = license.await?.and_then(|url| Option::clone(&url));
        Ok(Some(PublisherFacts { license_url, ..PublisherFacts::clone(&about) }))
    }

    /// Fetches the releases of a repository, the newest first, until `is_enough` returns `true` for those received,
    /// there are no more, or 2,000 were received. `None` if the repository does not exist.
    ///
    /// # Errors
    /// Returns [`SourceError`] if the request fails or a response is not valid.
    pub async fn releases(
        &self,
        client: &Client,
        owner: &str,
        repository: &str,
        is_enough: impl Fn(&[Arc<Release>]) -> bool,
    ) -> Result<Option<Vec<Arc<Release>>>, SourceError> {
        let mut all = Vec::new();
        for page in 1..=PAGES {
            let query = format!("per_page={PER_PAGE}&page={page}");
            let url = format!("{}repos/{}/{}/releases?{query}", self.api, segment(owner), segment(repository));
            let url = address(&url, &self.api, EXPECTED_LIST)?;
            let list =
                super::ask(client, &url, ACCEPT, LIST_LIMIT, EXPECTED_LIST, |document| list(&document.body)).await?;
            let Some(list) = list else { return Ok(None) };
            all.extend(list.iter().cloned());
            let assets: usize = all.iter().map(|release: &Arc<Release>| release.assets.len()).sum();
            if list.len() < PER_PAGE || assets > ASSETS_OF_ALL || is_enough(&all) {
                break;
            }
        }
        Ok(Some(all))
    }
}

impl Release {
    /// Parses a release.
    ///
    /// # Errors
    /// Returns what is missing.
    pub fn parse(bytes: &[u8]) -> Result<Self, String> {
        Self::read(serde_json::from_slice(bytes).map_err(|error| error.to_string())?)
    }

    fn read(release: &RawValue) -> Result<Self, String> {
        let [tag, draft, prerelease, published, assets] =
            json::read_members(Some(release), ["tag_name", "draft", "prerelease", "published_at", "assets"]);
        let assets = super::list::<ASSETS>(assets).ok_or("there is no array `assets`")?;
        Ok(Self {
            tag: name(tag).unwrap_or_default(),
            is_draft: json::flag(draft).unwrap_or_default(),
            is_prerelease: json::flag(prerelease).unwrap_or_default(),
            published: super::time(published),
            assets: assets.items.into_iter().filter_map(Asset::read).collect(),
        })
    }

    /// The file with this name.
    pub fn asset(&self, name: &str) -> Option<&Asset> {
        self.assets.iter().find(|asset| asset.name == name && asset.is_complete)
    }
}

impl Asset {
    fn read(asset: &RawValue) -> Option<Self> {
        let members = ["name", "digest", "state", "updated_at"];
        let [name, digest, state, updated] = json::read_members(Some(asset), members);
        let digest = json::text(digest).unwrap_or_default();
        let digest = digest.strip_prefix("sha256:").unwrap_or_default();
        Some(Self {
            name: self::name(name)?,
            sha256: digest.parse().ok(),
            is_complete: json::text(state).is_none_or(|state| state == "uploaded"),
            updated: super::time(updated),
        })
    }
}

/// A tag, or the name of a file.
fn name(part: Option<&RawValue>) -> Option<String> {
    word(part).filter(|name| name.len() <= NAME)
}

/// Parses a page of releases.
fn list(bytes: &[u8]) -> Result<Vec<Arc<Release>>, String> {
    let list: List<'_, PER_PAGE> = serde_json::from_slice(bytes).map_err(|error| error.to_string())?;
    list.items.into_iter().map(|release| Release::read(release).map(Arc::new)).collect()
}

/// Maximum number of repositories in a request. Each has up to [`PER_PAGE`] releases, and GitHub ends requests that take
/// longer than ten seconds. By GitHub's rules, a request with so many lists costs one point of 5,000 in an hour.
pub const REPOSITORIES: usize = 50;

impl Github {
    /// URL of the GraphQL API: on enterprise servers, it is beside that of the REST API.
    pub fn graphql(&self) -> Url {
        let path = self.api.path();
        let base = path.strip_suffix("/api/v3/").map_or_else(|| path.to_owned(), |before| format!("{before}/api/"));
        let mut url = self.api.clone();
        url.set_path(&format!("{base}graphql"));
        url
    }

    /// Whether many repositories can be asked for in one request: GraphQL requires a token.
    pub fn has_lists(&self, client: &Client) -> bool {
        client.has_secret(&self.graphql())
    }

    /// The newest releases of at most [`REPOSITORIES`] repositories, at most 100 of each, the newest first, without their
    /// files. Repositories that do not exist, or whose answer is not valid, are left out.
    ///
    /// # Errors
    /// Returns [`FetchError`] if the request fails.
    pub async fn lists(
        &self,
        client: &Client,
        repositories: &[RepositoryName],
    ) -> Result<BTreeMap<RepositoryName, Vec<Arc<Release>>>, FetchError> {
        let repositories = &repositories[..repositories.len().min(REPOSITORIES)];
        let answer = client.change(Method::POST, &self.graphql(), &request(repositories)).await?;
        let list = |(at, name): (usize, &RepositoryName)| {
            let nodes = answer["data"][format!("r{at}")]["releases"]["nodes"].as_array()?;
            let releases: Option<Vec<Arc<Release>>> = nodes.iter().map(|node| release(node).map(Arc::new)).collect();
            Some((name.clone(), releases.filter(|releases| releases.len() <= PER_PAGE)?))
        };
        Ok(repositories.iter().enumerate().filter_map(list).collect())
    }
}

/// The query, which depends only on the number of repositories. Their names come from manifests, so they are variables.
fn request(repositories: &[RepositoryName]) -> Value {
    let (mut parameters, mut fields, mut variables) = (String::new(), String::new(), Map::new());
    for (at, RepositoryName { owner, name }) in repositories.iter().enumerate() {
        parameters.push_str(&format!("$o{at}:String!,$n{at}:String!,"));
        fields.push_str(&format!("r{at}:repository(owner:$o{at},name:$n{at}){{...lists}}"));
        variables.insert(format!("o{at}"), json!(owner));
        variables.insert(format!("n{at}"), json!(name));
    }
    let lists = format!(
        "fragment lists on Repository{{releases(first:{PER_PAGE},orderBy:{{field:CREATED_AT,direction:DESC}}){{\
         nodes{{tagName isDraft isPrerelease publishedAt}}}}}}"
    );
    json!({ "query": format!("query({parameters}){{{fields}}}{lists}"), "variables": variables })
}

fn release(node: &Value) -> Option<Release> {
    let published = node["publishedAt"].as_str().and_then(|time| OffsetDateTime::parse(time, &Rfc3339).ok());
    Some(Release {
        tag: node["tagName"].as_str().filter(|tag| tag.len() <= NAME).unwrap_or_default().to_owned(),
        is_draft: node["isDraft"].as_bool()?,
        is_prerelease: node["isPrerelease"].as_bool()?,
        published,
        assets: Vec::new(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asset(api: &str, url: &str) -> Option<String> {
        let (id, file) = Github::new(api).unwrap().find_asset(&Url::parse(url).unwrap())?;
        Some(format!("{} {} {} {file}", id.owner, id.repository, id.tag))
    }

    #[test]
    fn files_of_releases_are_known_by_their_addresses() {
        for (url, expected) in [
            ("https://github.com/o/r/releases/download/v1/a.zip", Some("o r v1 a.zip")),
            ("https://github.com/o/r/releases/download/pkg/v1/a%2Bb.zip", Some("o r pkg/v1 a+b.zip")),
            ("https://github.com/o/r/releases/download/%40s%2Fp%401/a", Some("o r @s/p@1 a")),
            ("https://github.com/o/r/releases/download/a.zip", None),
            ("https://github.com/o/r/releases/download/v1/", None),
            ("https://github.com/o/r/archive/v1.zip", None),
            ("https://evil.example/o/r/releases/download/v1/a.zip", None),
            ("https://github.com.evil.example/o/r/releases/download/v1/a.zip", None),
        ] {
            assert_eq!(asset(DEFAULT_API, url).as_deref(), expected, "{url}");
        }
        let own = "https://git.example/api/v3";
        assert!(asset(own, "https://git.example/o/r/releases/download/v1/a").is_some());
        assert!(asset(own, "https://github.com/o/r/releases/download/v1/a").is_some());
        assert!(asset("http://127.0.0.1:8080", "http://127.0.0.1:9090/o/r/releases/download/v1/a").is_none());
        for odd in ["", "ftp://h.example", "api"] {
            assert_eq!(Github::new(odd), None, "{odd}");
        }
    }

    #[test]
    fn a_release_is_read_whatever_its_members_are() {
        let digest = "AB".repeat(32);
        let text = format!(
            r#"{{"assets":[{{"name":"a","digest":"sha256:{digest}","state":"uploaded"}},
                {{"name":"b","digest":"sha256:short","state":"starter"}},{{"name":7}},{{"name":"c","digest":null}}]}}"#
        );
        let release = Release::parse(text.as_bytes()).unwrap();
        assert_eq!(release.asset("a").unwrap().sha256, "ab".repeat(32).parse().ok());
        assert_eq!(release.asset("b"), None);
        assert_eq!(release.asset("c").unwrap().sha256, None);
        for odd in ["", "[]", "{}", "{\"assets\":{}}"] {
            assert!(Release::parse(odd.as_bytes()).is_err(), "{odd}");
        }
    }

    #[test]
    fn graphql_is_beside_the_api_of_an_enterprise_server() {
        for (api, expected) in [
            ("https://api.git.example", "https://api.git.example/graphql"),
            ("https://git.example/api/v3", "https://git.example/api/graphql"),
            ("https://git.example/x/api/v3/", "https://git.example/x/api/graphql"),
            ("http://127.0.0.1:8080/api", "http://127.0.0.1:8080/api/graphql"),
        ] {
            assert_eq!(Github::new(api).unwrap().graphql().as_str(), expected, "{api}");
        }
    }

    #[test]
    fn names_are_no_part_of_the_query() {
        let name = |name: &str| RepositoryName { owner: name.to_owned(), name: name.to_owned() };
        let hostile = ["\"){x}", "$o0", "a\nb", "{}", "é"].map(name);
        let plain = ["a", "b", "c", "d", "e"].map(name);
        assert_eq!(request(&hostile)["query"], request(&plain)["query"]);
        assert_eq!(request(&hostile)["variables"]["o0"], "\"){x}");
        let text = request(&plain[..1])["query"].as_str().unwrap().to_owned();
        assert!(
            text.starts_with("query($o0:String!,$n0:String!,){r0:repository(owner:$o0,name:$n0){...lists}}"),
            "{text}"
        );
    }

    #[test]
    fn what_is_no_release_is_not_taken() {
        let node = json!({ "tagName": "v1.0.0", "isDraft": false, "isPrerelease": true, "publishedAt": null });
        assert_eq!(release(&node).unwrap().tag, "v1.0.0");
        for (name, value) in [("isDraft", json!(1)), ("isPrerelease", Value::Null)] {
            let mut odd = node.clone();
            odd[name] = value;
            assert_eq!(release(&odd), None);
        }
        let mut long = node.clone();
        long["tagName"] = json!("1".repeat(NAME + 1));
        assert_eq!(release(&long).unwrap().tag, "");
        assert_eq!(release(&Value::Null), None);
    }
}

//! Releases of many repositories in one request, with GraphQL.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Map, Value, json};
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;
use url::Url;

use super::github::{Github, NAME, PER_PAGE, Release};
use acp_registry_http::{ChangeKind, Client, FetchError};

/// Maximum number of repositories in a request. Each has up to [`PER_PAGE`] releases, and GitHub ends requests that take
/// longer than ten seconds. By GitHub's rules, a request with so many lists costs one point of 5,000 in an hour.
pub const REPOSITORIES: usize = 50;

/// Owner and name of a repository.
pub type RepositoryName = (String, String);

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
        let answer = client.change(ChangeKind::Post, &self.graphql(), &request(repositories)).await?;
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
    for (at, (owner, name)) in repositories.iter().enumerate() {
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
        let hostile = ["\"){x}", "$o0", "a\nb", "{}", "é"].map(|name| (name.to_owned(), name.to_owned()));
        let plain = ["a", "b", "c", "d", "e"].map(|name| (name.to_owned(), name.to_owned()));
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

//! How agents find the model: environment variables, and the parameters of `providers/set`.

use std::net::SocketAddr;

use serde_json::{Value, json};

use super::conversation::{list, text};

/// A key without value. Agents require one before they send a request.
const KEY: &str = "acp-registry-no-key";

/// Maximum number of providers that are set.
const PROVIDERS: usize = 20;

pub(super) fn variables(address: SocketAddr) -> Vec<(String, String)> {
    let base = format!("http://{address}");
    let versioned = format!("{base}/v1");
    [
        ("ANTHROPIC_API_KEY", KEY),
        ("ANTHROPIC_BASE_URL", &base),
        ("GEMINI_API_KEY", KEY),
        ("GOOGLE_GEMINI_BASE_URL", &base),
        ("OPENAI_API_BASE", &versioned),
        ("OPENAI_API_KEY", KEY),
        ("OPENAI_BASE_URL", &versioned),
        ("OPENAI_MODEL", "gpt-4.1"),
    ]
    .into_iter()
    .map(|(name, value)| (name.to_owned(), value.to_owned()))
    .collect()
}

/// Parameters that route each provider to the model whose API the model speaks.
pub(super) fn providers(address: SocketAddr, result: &Value) -> Vec<Value> {
    let known = list(result, "providers").iter().take(PROVIDERS).filter_map(|provider| {
        let id = provider.get("providerId")?.as_str()?;
        let supported = list(provider, "supported");
        // The current one is what the agent is used to.
        let current = provider.get("current").map_or("", |current| text(current, "apiType"));
        let preferred = [current, "anthropic", "openai", "gemini", "google"];
        let is_supported = |api: &&&str| supported.iter().any(|known| known.as_str() == Some(**api));
        let (api, base, headers) = preferred.iter().filter(is_supported).find_map(|api| api_settings(api, address))?;
        Some(json!({ "providerId": id, "apiType": api, "baseUrl": base, "headers": headers }))
    });
    known.collect()
}

/// A type of API as agents call it, with the base URL that its clients expect, and their header for the key.
fn api_settings(api: &str, address: SocketAddr) -> Option<(&str, String, Value)> {
    match api {
        "anthropic" => Some((api, format!("http://{address}"), json!({ "x-api-key": KEY }))),
        "openai" => Some((api, format!("http://{address}/v1"), json!({ "authorization": format!("Bearer {KEY}") }))),
        "gemini" | "google" => Some((api, format!("http://{address}"), json!({ "x-goog-api-key": KEY }))),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_variables_are_documented() {
        let text = include_str!("../../../../docs/examining.md");
        for (name, _) in variables(SocketAddr::from(([127, 0, 0, 1], 1))) {
            assert!(text.contains(&format!("`{name}`")), "{name}");
        }
    }

    fn set(list: &Value) -> Vec<Value> {
        providers(([127, 0, 0, 1], 80).into(), list)
    }

    #[test]
    fn providers_without_a_known_api_are_left_out() {
        for list in [
            json!(null),
            json!({ "providers": {} }),
            json!({ "providers": [null, {}, { "providerId": 7, "supported": ["openai"] }] }),
            json!({ "providers": [{ "providerId": "a", "supported": ["bedrock", 7] }] }),
            json!({ "providers": [{ "providerId": "a", "supported": [], "current": { "apiType": "openai" } }] }),
        ] {
            assert_eq!(set(&list), [] as [Value; 0], "{list}");
        }
        let many = json!({ "providers": vec![json!({ "providerId": "a", "supported": ["openai"] }); 100] });
        assert_eq!(set(&many).len(), PROVIDERS);
    }

    #[test]
    fn each_api_has_its_base_url() {
        let list = json!({ "providers": [
            { "providerId": "main", "supported": ["bedrock", "vertex", "openai", "anthropic"], "required": true },
            { "providerId": "own", "supported": ["anthropic", "openai"], "current": { "apiType": "openai" } },
        ] });
        assert_eq!(
            set(&list),
            [
                json!({ "providerId": "main", "apiType": "anthropic", "baseUrl": "http://127.0.0.1:80",
                        "headers": { "x-api-key": KEY } }),
                json!({ "providerId": "own", "apiType": "openai", "baseUrl": "http://127.0.0.1:80/v1",
                        "headers": { "authorization": format!("Bearer {KEY}") } }),
            ]
        );
    }

    #[test]
    fn variables_point_to_the_server() {
        let variables = variables(([127, 0, 0, 1], 80).into());
        let of = |name: &str| variables.iter().find(|(known, _)| known == name).unwrap().1.as_str();
        assert_eq!(of("ANTHROPIC_BASE_URL"), "http://127.0.0.1:80");
        assert_eq!(of("OPENAI_BASE_URL"), "http://127.0.0.1:80/v1");
        assert!(variables.iter().all(|(_, value)| !value.is_empty()));
    }
}

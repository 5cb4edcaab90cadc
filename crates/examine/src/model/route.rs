//! The paths of the APIs.

use hyper::Method;

use super::api::Api;

/// What a request asks for.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Route {
    /// An answer of the model. Gemini names the model in the path, and whether the answer is streamed.
    Answer { api: Api, model: Option<String>, is_streamed: Option<bool> },
    /// The number of tokens of a request.
    Count(Api),
    /// The list of models.
    Models(Api),
    /// One model.
    Model(Api, String),
    /// Whether there is a server.
    Root,
}

/// A request that has no route.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum NoRoute {
    Unknown,
    /// The path needs this method.
    Needs(Method),
}

/// Maximum length of a path, in bytes.
const LENGTH: usize = 2000;

/// Finds the route. Base URLs with and without a version lead to the same routes, also when a client repeats it.
pub(super) fn route(method: &Method, path: &str) -> Result<Route, NoRoute> {
    if path.len() > LENGTH {
        return Err(NoRoute::Unknown);
    }
    let path = path.replace("%3A", ":").replace("%2F", "/");
    let is_gemini = path.split('/').any(|part| part.starts_with("v1beta") || part == "v1alpha");
    let is_version = |part: &&str| part.is_empty() || *part == "v1" || part.starts_with("v1beta") || *part == "v1alpha";
    let parts: Vec<&str> = path.split('/').skip_while(is_version).collect();
    let api = if is_gemini { Api::Gemini } else { Api::Chat };
    let answer = |api| Route::Answer { api, model: None, is_streamed: None };
    let (needed, route) = match parts.as_slice() {
        [] => (Method::GET, Route::Root),
        ["messages"] => (Method::POST, answer(Api::Anthropic)),
        ["messages", "count_tokens"] => (Method::POST, Route::Count(Api::Anthropic)),
        ["chat", "completions"] => (Method::POST, answer(Api::Chat)),
        ["responses"] => (Method::POST, answer(Api::Responses)),
        ["responses", "input_tokens"] => (Method::POST, Route::Count(Api::Responses)),
        ["models"] => (Method::GET, Route::Models(api)),
        // Vertex puts a project and a location first.
        [.., "models", name] | ["models", name, ..] => match name.rsplit_once(':') {
            Some((name, action)) => (Method::POST, gemini(name, action).ok_or(NoRoute::Unknown)?),
            None => (Method::GET, Route::Model(api, parts[1..].join("/"))),
        },
        _ => return Err(NoRoute::Unknown),
    };
    let is_allowed = *method == needed || (*method == Method::HEAD && needed == Method::GET);
    if is_allowed { Ok(route) } else { Err(NoRoute::Needs(needed)) }
}

fn gemini(name: &str, action: &str) -> Option<Route> {
    let answer = |is_streamed| {
        let model = Some(name.to_owned());
        Route::Answer { api: Api::Gemini, model, is_streamed: Some(is_streamed) }
    };
    match action {
        "generateContent" => Some(answer(false)),
        "streamGenerateContent" => Some(answer(true)),
        "countTokens" => Some(Route::Count(Api::Gemini)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_paths_have_no_route() {
        for path in [
            "/v2/messages",
            "/messages/batches",
            "/v1/embeddings",
            "/v1beta/models/a:embedContent",
            "/..",
            "/v1/chat",
            "/v1beta/models/:",
            "*",
            "/models/a:",
            &"/v1".repeat(1000),
        ] {
            assert_eq!(route(&Method::POST, path), Err(NoRoute::Unknown), "{path}");
        }
    }

    #[test]
    fn methods_are_checked() {
        for (path, needed) in [("/v1/messages", Method::POST), ("/v1/models", Method::GET), ("/", Method::GET)] {
            assert_eq!(route(&Method::DELETE, path), Err(NoRoute::Needs(needed)), "{path}");
        }
        assert_eq!(route(&Method::HEAD, "/"), Ok(Route::Root));
        assert_eq!(route(&Method::GET, "/v1/responses"), Err(NoRoute::Needs(Method::POST)));
    }

    #[test]
    fn versions_may_be_absent_or_repeated() {
        for prefix in ["", "/v1", "/v1/v1", "/v1beta", "//v1"] {
            let found = route(&Method::POST, &format!("{prefix}/messages"));
            assert_eq!(found, Ok(Route::Answer { api: Api::Anthropic, model: None, is_streamed: None }), "{prefix}");
        }
        assert_eq!(route(&Method::GET, "/v1beta/models"), Ok(Route::Models(Api::Gemini)));
        assert_eq!(route(&Method::GET, "/v1/models/a/b"), Ok(Route::Model(Api::Chat, "a/b".to_owned())));
        for path in ["/v1beta/models/g%3AstreamGenerateContent", "/v1/projects/p/models/g:streamGenerateContent"] {
            let expected = Route::Answer { api: Api::Gemini, model: Some("g".to_owned()), is_streamed: Some(true) };
            assert_eq!(route(&Method::POST, path), Ok(expected));
        }
    }
}

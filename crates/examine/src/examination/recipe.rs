//! How one agent reaches the scripted model.

use std::collections::BTreeMap;

use serde::Deserialize;

/// How one agent reaches the scripted model, if neither `providers/set` nor the usual variables lead it there:
/// `[examine.ID]` in `registry.toml`. In all texts, `$MODEL` stands for the base URL of the model, without a slash at
/// the end.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Recipe {
    /// Environment variables of the agent.
    pub env: BTreeMap<String, String>,
    /// Files to create, by their path relative to the agent's private home.
    pub files: BTreeMap<String, String>,
    /// Arguments to add to the agent's own.
    pub args: Vec<String>,
    /// The id of the authentication method to use before the first session.
    pub auth: Option<String>,
    /// The id of the mode in which turns are carried out, if it is not the agent's default one.
    pub mode: Option<String>,
    /// Whether the handshake needs the recipe too, because the agent does not start without.
    pub handshake: bool,
}

impl Recipe {
    /// The variables and files with the base URL of the model filled in.
    #[must_use]
    pub fn with_model(&self, base: &str) -> Self {
        let fill = |text: &String| text.replace("$MODEL", base);
        let fill_values =
            |texts: &BTreeMap<String, String>| texts.iter().map(|(name, text)| (name.clone(), fill(text))).collect();
        Self {
            env: fill_values(&self.env),
            files: fill_values(&self.files),
            args: self.args.iter().map(fill).collect(),
            ..self.clone()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_address_of_the_model_is_filled_in_everywhere_but_in_names() {
        let text = |text: &str| text.to_owned();
        let recipe = Recipe {
            env: [(text("A_URL"), text("$MODEL/v1"))].into(),
            files: [(text(".config/$MODEL.json"), text("{\"url\":\"$MODEL\",\"again\":\"$MODEL\"}"))].into(),
            args: vec![text("--url=$MODEL")],
            auth: Some(text("key")),
            mode: None,
            handshake: false,
        };
        let filled = recipe.with_model("http://127.0.0.1:1");
        assert_eq!(filled.env["A_URL"], "http://127.0.0.1:1/v1");
        let file = "{\"url\":\"http://127.0.0.1:1\",\"again\":\"http://127.0.0.1:1\"}";
        assert_eq!(filled.files[".config/$MODEL.json"], file);
        assert_eq!((filled.args, filled.auth), (vec![text("--url=http://127.0.0.1:1")], recipe.auth));
    }
}

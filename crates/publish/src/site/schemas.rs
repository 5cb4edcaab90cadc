//! `schemas/cli/`: the JSON Schemas of the program's JSON output.

use super::SiteFile;
use acp_registry_gate::check::schema;

/// Embeds the schemas of these names.
macro_rules! schemas {
    ($($name:literal),* $(,)?) => {
        &[$((concat!("schemas/cli/", $name, ".schema.json"), include_str!(concat!("../../../../schemas/cli/", $name, ".schema.json")))),*]
    };
}

/// Path and text of each schema.
const SCHEMAS: &[(&str, &str)] = schemas![
    "build", "bump", "common", "config", "diff", "doctor", "error", "event", "explain", "gc", "info", "init",
    "install", "list", "login", "logout", "new", "probe", "publish", "resolve", "rpc", "rules", "search", "uninstall",
    "update", "validate", "verify", "which",
];

/// Returns the schemas, with ids below the base URL of the registry.
pub(super) fn files(base_url: &str) -> impl Iterator<Item = SiteFile> {
    let base = format!("{base_url}/schemas");
    SCHEMAS.iter().map(move |(path, text)| ((*path).to_owned(), text.replace(schema::BASE, &base).into_bytes()))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::fs;
    use std::path::Path;

    use super::*;

    #[test]
    fn every_schema_is_published() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../schemas/cli");
        let names = fs::read_dir(folder).unwrap().map(|item| item.unwrap().file_name().into_string().unwrap());
        let there: BTreeSet<String> = names.map(|name| format!("schemas/cli/{name}")).collect();
        assert_eq!(files("x").map(|(path, _)| path).collect::<BTreeSet<_>>(), there);
    }
}

//! Checks that documents and events match their schemas. Every document that the program prints in any test is checked.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use jsonschema::{Draft, Registry, Validator};
use serde_json::{Value, json};

use crate::support::{Env, Run};

/// The schemas that do not belong to a single command.
const SHARED: [&str; 4] = ["common", "error", "event", "rpc"];

/// The schemas in the strict form that tests use, each compiled once.
static SCHEMAS: LazyLock<HashMap<String, Validator>> = LazyLock::new(|| {
    let mut texts = schemas();
    for (name, schema) in &mut texts {
        close(schema, name == "common");
    }
    let known = texts
        .values()
        .fold(Registry::new(), |known, schema| known.add(schema["$id"].as_str().unwrap(), schema.clone()).unwrap());
    let known = known.prepare().unwrap();
    let compile = |schema: &Value| {
        let options = jsonschema::options().with_draft(Draft::Draft202012).with_registry(&known);
        options.build(schema).unwrap_or_else(|error| panic!("{}: {error}", schema["$id"]))
    };
    texts.iter().filter(|(name, _)| *name != "common").map(|(name, schema)| (name.clone(), compile(schema))).collect()
});

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("schemas/cli")
}

/// The published schemas by name.
pub(crate) fn schemas() -> HashMap<String, Value> {
    let files = fs::read_dir(folder()).unwrap().map(|item| item.unwrap().path());
    let schema = |path: PathBuf| {
        let name = path.file_name().unwrap().to_str().unwrap().strip_suffix(".schema.json").unwrap().to_owned();
        (name, serde_json::from_slice(&fs::read(path).unwrap()).unwrap())
    };
    files.map(schema).collect()
}

/// Forbids members that a schema does not describe. Published schemas allow them, because later versions may add some.
fn close(schema: &mut Value, is_common: bool) {
    match schema {
        Value::Object(members) => {
            for (name, member) in members.iter_mut() {
                // These definitions are extended where they are used.
                if let (true, "$defs", Value::Object(parts)) = (is_common, name.as_str(), &mut *member) {
                    for part in parts.values_mut().filter_map(Value::as_object_mut) {
                        part.values_mut().for_each(|value| close(value, false));
                    }
                } else {
                    close(member, false);
                }
            }
            let describes = |name: &str| members.get(name).is_some_and(|value| value.is_object() || value.is_string());
            if (describes("properties") || describes("$ref")) && !members.contains_key("additionalProperties") {
                members.insert("unevaluatedProperties".to_owned(), false.into());
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| close(item, false)),
        _ => {}
    }
}

pub(crate) fn assert_valid(name: &str, document: &Value) {
    let validator = SCHEMAS.get(name).unwrap_or_else(|| panic!("schemas/cli has no {name}.schema.json: {document}"));
    let errors: Vec<String> =
        validator.iter_errors(document).map(|error| format!("{}: {error}", error.instance_path())).collect();
    assert!(errors.is_empty(), "not as schemas/cli/{name}.schema.json says: {}\n{document:#}", errors.join("\n"));
}

/// Checks the document and the events that a run printed, if any.
pub(crate) fn check(run: &Run) {
    if run.stdout.starts_with('{')
        && let Ok(document) = serde_json::from_str::<Value>(&run.stdout)
        && document["schema"].is_number()
        && let Some(command) = document.get("command")
    {
        if !document["error"].is_null() {
            assert_valid("error", &document);
        }
        // Updates that were found are no failure.
        let finds = run.code == 1 && (command == "bump" || command == "update");
        assert!(run.code == 0 || finds || !document["error"].is_null(), "exit code {}: {document:#}", run.code);
        // A command without `--json` has a document only if it failed, and the schema of `rpc` is that of its messages.
        let has_schema = |name: &&str| document["error"].is_null() || (*name != "rpc" && SCHEMAS.contains_key(*name));
        if let Some(command) = command.as_str().filter(has_schema) {
            assert_valid(command, &document);
        }
    }
    for line in run.stderr.lines().filter(|line| line.starts_with("{\"event\"")) {
        assert_valid("event", &serde_json::from_str(line).unwrap());
    }
}

#[test]
fn every_command_with_json_has_a_schema_and_every_schema_a_command() {
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/commands");
    let mut commands = BTreeSet::new();
    for path in fs::read_dir(docs).unwrap().map(|item| item.unwrap().path()) {
        // The pages are generated from the help, which another test checks.
        let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
        if let (Some(command), true) =
            (name.strip_prefix("acp-registry-"), fs::read_to_string(&path).unwrap().contains("`--json`"))
        {
            commands.insert(command.split('-').next().unwrap().to_owned());
        }
    }
    assert!(commands.contains("validate") && !commands.contains("run"), "{commands:?}");
    let described: BTreeSet<String> = schemas().into_keys().filter(|name| !SHARED.contains(&name.as_str())).collect();
    assert_eq!(described, commands);
}

/// All documents are created by one type, which sets the version and the order of the common members.
#[test]
fn documents_are_made_of_structs() {
    fn files(folder: &Path, out: &mut Vec<PathBuf>) {
        for path in fs::read_dir(folder).unwrap().map(|item| item.unwrap().path()) {
            if path.is_dir() { files(&path, out) } else { out.push(path) }
        }
    }
    let mut sources = Vec::new();
    files(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"), &mut sources);
    assert!(sources.len() > 60, "only {} files were found", sources.len());
    for path in sources {
        let text = fs::read_to_string(&path).unwrap();
        assert!(!text.contains("\"schema\": 1"), "{}", path.display());
    }
}

#[test]
fn schemas_are_valid_and_describe_every_member() {
    fn members(schema: &Value, place: &str) {
        if let Some(properties) = schema.get("properties").and_then(Value::as_object) {
            for (name, member) in properties {
                let is_described = ["description", "$ref", "const"].iter().any(|key| member.get(key).is_some());
                assert!(is_described, "{place}/{name} has no description");
            }
        }
        let parts = schema.as_object().into_iter().flatten();
        for (name, part) in parts.chain(schema.as_array().into_iter().flatten().map(|part| (&EMPTY, part))) {
            members(part, &format!("{place}/{name}"));
        }
    }
    static EMPTY: String = String::new();
    for (name, schema) in schemas() {
        jsonschema::draft202012::meta::validate(&schema).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(schema["$schema"], "https://json-schema.org/draft/2020-12/schema");
        assert_eq!(schema["$id"], format!("{}/cli/{name}.schema.json", acp_registry::check::schema::BASE));
        assert!(schema["title"].is_string() && schema["description"].is_string(), "{name}");
        if !SHARED.contains(&name.as_str()) {
            assert_eq!(schema["properties"]["command"]["const"], name.as_str());
        }
        members(&schema, &name);
    }
}

#[test]
fn undescribed_members_and_missing_ones_are_noticed() {
    let env = Env::with(&["a"]);
    let (_, document) = env.json(&["validate"]);
    assert_valid("validate", &document);
    let is_valid = |document: &Value| SCHEMAS["validate"].is_valid(document);
    for pointer in ["", "/summary", "/agents/0"] {
        let mut changed = document.clone();
        changed.pointer_mut(pointer).unwrap()["unknown"] = 1.into();
        assert!(!is_valid(&changed), "{pointer}");
    }
    let mut changed = document.clone();
    changed.as_object_mut().unwrap().remove("findings");
    assert!(!is_valid(&changed));
    assert!(!is_valid(&json!({ "schema": 1, "command": "validate", "error": { "code": "no_such_code" } })));
    let event = |event: &Value| SCHEMAS["event"].is_valid(event);
    assert!(event(&json!({ "event": "note", "message": "x" })));
    assert!(!event(&json!({ "event": "note", "message": "x", "more": 1 })) && !event(&json!({ "event": "other" })));
}

#[test]
fn codes_are_those_of_the_documentation() {
    let text = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/scripts.md")).unwrap();
    let (_, table) = text.split_once("| `error.code` |").unwrap();
    let rows = table.lines().skip(2).take_while(|line| line.starts_with('|'));
    let documented: Vec<&str> = rows.map(|row| row.split('`').nth(1).unwrap()).collect();
    let schema = &schemas()["common"]["$defs"]["code"]["enum"];
    let described: BTreeSet<&str> = schema.as_array().unwrap().iter().filter_map(Value::as_str).collect();
    assert_eq!(described, documented.into_iter().collect());
}

/// A schema with what a reference in it leads to.
fn whole(schema: &Value, schemas: &HashMap<String, Value>, name: &str) -> Value {
    let Some(reference) = schema["$ref"].as_str() else { return schema.clone() };
    let (file, pointer) = reference.split_once('#').unwrap_or((reference, ""));
    let file = file.strip_suffix(".schema.json").unwrap_or(name);
    let mut target = whole(schemas[file].pointer(pointer).unwrap(), schemas, file);
    target.as_object_mut().unwrap().extend(schema.as_object().unwrap().clone());
    target
}

/// Where each member is, by its name and its meaning.
type Members = BTreeMap<(String, String), BTreeSet<String>>;

fn collect(schema: &Value, schemas: &HashMap<String, Value>, (name, place): (&str, &str), members: &mut Members) {
    for (member, part) in schema["properties"].as_object().into_iter().flatten() {
        let meaning = whole(part, schemas, name)["description"].as_str().unwrap_or_default().replace('|', "\\|");
        members.entry((member.clone(), meaning)).or_default().insert(place.to_owned());
        collect(part, schemas, (name, place), members);
    }
    for key in ["items", "anyOf", "oneOf"] {
        let parts = schema
            .get(key)
            .map_or_else(Vec::new, |part| part.as_array().map_or_else(|| vec![part], |all| all.iter().collect()));
        for part in parts {
            collect(part, schemas, (name, place), members);
        }
    }
}

/// With `INSTA_UPDATE=always`, the table is written anew.
#[test]
fn all_members_are_in_one_table() {
    let (schemas, mut members) = (schemas(), Members::new());
    for (name, schema) in &schemas {
        collect(schema, &schemas, (name, name), &mut members);
        for (part, schema) in schema["$defs"].as_object().into_iter().flatten().filter(|_| name == "common") {
            collect(schema, &schemas, (name, part), &mut members);
        }
    }
    let unexplained: Vec<_> = members.iter().filter(|((_, meaning), _)| meaning.is_empty()).collect();
    assert!(unexplained.is_empty(), "members without a description: {unexplained:?}");
    let rows = members.iter().map(|((member, meaning), places)| {
        let places: Vec<String> = places.iter().map(|place| format!("`{place}`")).collect();
        format!("| `{member}` | {} | {meaning} |\n", places.join(", "))
    });
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/members.md");
    let page = fs::read_to_string(&path).unwrap();
    let (head, table) = page.split_once("| member | in | meaning |\n|---|---|---|\n").unwrap();
    let expected: String = rows.collect();
    if std::env::var_os("INSTA_UPDATE").is_some_and(|value| value == "always") {
        fs::write(path, format!("{head}| member | in | meaning |\n|---|---|---|\n{expected}")).unwrap();
    } else {
        assert_eq!(table, expected, "run this test with INSTA_UPDATE=always");
    }
}

#[test]
fn the_page_for_scripts_names_the_schema_of_every_command() {
    let page = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/scripts.md")).unwrap();
    let rows: Vec<&str> =
        page.lines().filter(|line| line.starts_with("| `") && line.contains(".schema.json`")).collect();
    let names = schemas().into_keys().filter(|name| !SHARED.contains(&name.as_str()));
    for name in names {
        assert!(rows.iter().any(|row| row.contains(&format!("`{name}`"))), "{name}: {rows:#?}");
    }
    for name in ["run", "rpc", "serve", "report", "completions"] {
        let row = rows.iter().find(|row| row.contains(&format!("`{name}`")));
        assert!(row.is_some_and(|row| row.contains("| `error.schema.json`")), "{name}: {row:?}");
    }
}

#[test]
fn schemas_are_published_with_ids_below_the_address_of_the_registry() {
    let env = Env::with(&["a"]);
    assert_eq!(env.run(&["build", "--out", "out", "--base-url", "https://example.com/r"]).code, 0);
    let names: BTreeSet<String> = schemas().into_keys().collect();
    for name in &names {
        let path = format!("schemas/cli/{name}.schema.json");
        let published: Value = serde_json::from_str(&env.read(&format!("out/{path}"))).unwrap();
        assert_eq!(published["$id"], format!("https://example.com/r/{path}"));
    }
    assert_eq!(fs::read_dir(env.path("out/schemas/cli")).unwrap().count(), names.len());
}

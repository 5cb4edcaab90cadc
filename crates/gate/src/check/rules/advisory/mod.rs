//! Rules about advisories that the configuration names.

pub(super) mod malicious;
pub(super) mod unreadable;

/// The agent of the examples.
const AGENT: &str = "{\n  \"id\": \"example\",\n  \"name\": \"Example\",\n  \"version\": \"1.0.0\",\n  \"description\": \"An example\",\n  \"authors\": [\"A\"],\n  \"license\": \"MIT\",\n  \"distribution\": { \"npx\": { \"package\": \"example@1.0.0\" } }\n}\n";

/// Its icon.
const ICON: &str = "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"16\" height=\"16\" viewBox=\"0 0 16 16\"><path fill=\"currentColor\" d=\"M0 0h16v16z\"/></svg>\n";

/// The configuration of the examples.
const CONFIG: &str = "[advisories]\nsources = [\"advisories.json\"]\n";

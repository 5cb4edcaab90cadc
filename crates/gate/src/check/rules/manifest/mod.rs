//! Rules about `agent.json`: its syntax, its schema, and the agent's metadata.

pub(super) mod duplicate_id;
pub(super) mod duplicate_key;
pub(super) mod id_mismatch;
pub(super) mod license;
pub(super) mod misleading_name;
pub(super) mod missing_authors;
pub(super) mod missing_license;
pub(super) mod missing_license_url;
pub(super) mod placeholder;
pub(super) mod prerelease_in_stable;
pub(super) mod preview_version;
pub(super) mod reserved_id;
pub(super) mod schema;
pub(super) mod syntax;
pub(super) mod text_control_characters;
pub(super) mod unknown_field;
pub(super) mod unsafe_link;
pub(super) mod version_format;

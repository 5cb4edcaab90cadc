//! Rules about `icon.svg`.

pub(super) mod active_content;
pub(super) mod comment;
pub(super) mod external_reference;
pub(super) mod hardcoded_color;
pub(super) mod invisible;
pub(super) mod mask_color;
pub(super) mod missing;
pub(super) mod no_current_color;
pub(super) mod size;
pub(super) mod syntax;
pub(super) mod too_large;
pub(super) mod viewbox;

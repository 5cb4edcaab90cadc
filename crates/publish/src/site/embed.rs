//! `agents/<id>/card.html`: an agent as a card, to embed in pages elsewhere. One file without scripts.

use acp_registry_plan::digest::Sha256;
use askama::Template;
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;

use super::SiteError;
use super::listing::Listing;
use super::pages::Site;

const STYLE: &str = include_str!("assets/style/embed.css");

/// Where the style belongs in the template. No text of an agent can be this, for it is escaped.
const PLACE: &str = "<!-- style -->";

#[derive(Template)]
#[template(path = "embed.html")]
struct Card<'a> {
    a: &'a Listing<'a>,
    /// The address of the agent's page.
    page: String,
    /// The icon as an address of its own content.
    icon: Option<String>,
    /// The digest of the style, which is all that the card's policy allows besides the icon.
    style_digest: String,
}

/// Renders the card of an agent.
pub(super) fn card(site: &Site, listing: &Listing<'_>, icon: Option<&[u8]>) -> Result<Vec<u8>, SiteError> {
    let card = Card {
        a: listing,
        page: if site.has_address() { format!("{}/agents/{}/", site.base_url, listing.id) } else { "./".to_owned() },
        icon: icon.map(|icon| format!("data:image/svg+xml;base64,{}", BASE64_STANDARD.encode(icon))),
        style_digest: BASE64_STANDARD.encode(Sha256::of(STYLE).bytes()),
    };
    Ok(card.render()?.replacen(PLACE, &format!("<style>{STYLE}</style>"), 1).into_bytes())
}

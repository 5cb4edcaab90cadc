//! Loads single agents of an index, if its tree offers their entries one by one; see [`acp_registry_plan::entries`].

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::SystemTime;

use futures_util::stream::{self, StreamExt as _, TryStreamExt as _};
use serde::de::IgnoredAny;
use url::Url;

use super::beside::{Need, fetch_content, read_content};
use super::copies::{Copies, Copy, CopyHeader};
use super::load::{Error, Loaded, staleness};
use super::place::{IndexLocation, IndexReader};
use super::trust::{StatementProof, TrustError};
use acp_registry_host::fs::read_bounded;
use acp_registry_http::{Client, FetchError, Problem, shown};
use acp_registry_plan::closure::{CLOSURES, Closures, EARLIER_CLOSURES, EarlierClosures, WrongClosure};
use acp_registry_plan::digest::Sha256;
use acp_registry_plan::entries::{
    DISCOVERY, DISCOVERY_LIMIT, EMPTY, ENTRY_LIMIT, LIST_LIMIT, View, WrongForm, entry_in, list_in,
};
use acp_registry_plan::index::{Index, IndexSource};
use acp_registry_plan::manifest::AgentId;
use acp_registry_plan::statement::{is_marked, mark};
use acp_registry_plan::versions::{VERSIONS, Versions};

/// The most requests that run at once.
const JOBS: usize = 16;

impl IndexReader<'_> {
    /// Reads some agents of the index: from their entries if the tree offers them, else from the whole index, as [`Self::load`]
    /// reads it. Agents that the result lacks are not in the index: one that the entries prove to be absent is not taken from a
    /// whole index of another publication.
    ///
    /// # Errors
    /// [`Error`].
    pub async fn load_some(&self, ids: &[&str]) -> Result<Loaded, Error> {
        let mut proof = self.learn_proof_of_entries().await?;
        let mut is_announced = false;
        let absent = loop {
            let Some(wanted) = IndexedAgents::new(self, ids, proof.as_ref()) else { break Absent::default() };
            match wanted.load().await {
                Ok(loaded) if proof.is_none() && !is_announced && is_marked(loaded.index.text()) => {
                    is_announced = true;
                    proof = self.learn_proof(Need::Announced).await?;
                }
                Ok(loaded) => return Ok(loaded),
                Err(absent) => break absent,
            }
        };
        let mut loaded = self.load().await?;
        if absent.index.is_some_and(|index| index.to_string() != loaded.index.sha256()) {
            loaded.index.remove(&absent.ids);
        }
        Ok(loaded)
    }

    /// Reads the versions that the index has had of an agent, of registries that publish them; see
    /// [`acp_registry_plan::versions`].
    ///
    /// # Errors
    /// [`Error::Trust`].
    pub async fn load_versions(&self, id: &str) -> Result<Option<Versions>, Error> {
        let text = self.load_of_agent((VERSIONS, id, "the list of versions"), |_| true).await?;
        Ok(text.and_then(|text| {
            let read = Versions::parse(&text, id);
            read.inspect_err(|error| tracing::debug!("the versions of {id} are not used: {error}")).ok()
        }))
    }

    /// Reads the closures that the registry publishes of an agent; see [`acp_registry_plan::closure`]. The discovery document is
    /// asked for only where the whole index was read before it, and others only if it says that there are some.
    ///
    /// # Errors
    /// [`Error::Trust`] or [`Error::Packages`].
    pub async fn load_closures(&self, id: &str) -> Result<Option<Closures>, Error> {
        let proof = self.learn_proof_of_entries().await?;
        if let Some(wanted) = IndexedAgents::new(self, &[id], proof.as_ref()) {
            wanted.learn_discovery().await;
        }
        let what = (CLOSURES, id, "the list of packages");
        let text = self.load_of_agent(what, |wanted| wanted.may_publish(CLOSURES)).await?;
        text.map(|text| Closures::parse(&text, id)).transpose().map_err(|error| unusable(what, &error))
    }

    /// Reads the closures that the registry publishes of an agent's earlier versions. Nothing is asked unless the discovery
    /// document that is at hand says that there are some.
    ///
    /// # Errors
    /// [`Error::Trust`] or [`Error::Packages`].
    pub async fn load_earlier_closures(&self, id: &str) -> Result<Option<EarlierClosures>, Error> {
        let what = (EARLIER_CLOSURES, id, "the lists of earlier packages");
        let text = self.load_of_agent(what, |wanted| wanted.may_publish(EARLIER_CLOSURES)).await?;
        text.map(|text| EarlierClosures::parse(&text, id)).transpose().map_err(|error| unusable(what, &error))
    }

    /// Reads what a tree has of an agent beside its entry, in a view of its own, where the host may be asked. `what` is the view,
    /// the agent, and what it is called. What a signed tree does not send as it was signed is refused, as if it were changed: a
    /// host that hides it may want something else to be installed.
    async fn load_of_agent(
        &self,
        what: (&str, &str, &str),
        may_ask: impl Fn(&IndexedAgents<'_>) -> bool,
    ) -> Result<Option<Vec<u8>>, Error> {
        let (view, id, name) = what;
        let proof = self.learn_proof_of_entries().await?;
        let text = if let IndexLocation::Path(path) = self.place {
            // A published tree on this machine.
            let folder = if path.is_dir() { Some(path.as_path()) } else { path.parent() };
            let Some((folder, id)) = folder.zip(id.parse().ok()) else { return Ok(None) };
            read_beside(folder, view, &id, proof.as_ref())
        } else {
            let wanted = IndexedAgents::new(self, &[id], proof.as_ref());
            let wanted = wanted.filter(|wanted| proof.is_some() || may_ask(wanted));
            let Some(wanted) = wanted else { return Ok(None) };
            IndexedAgents { view, ..wanted }.load_text().await
        };
        let is_offline = self.options.is_offline;
        let unfetched = |error: Unusable| {
            let why = format!("was not fetched: {error}");
            Err(Error::Packages { what: name.to_owned(), id: id.to_owned(), why })
        };
        match (text, &proof) {
            // A network that fails is no attack, but what it may hide is not assumed.
            (Err(Unusable::Fetch(error)), Some(_)) if !is_offline && !error.problem.is_answer() => {
                unfetched(error.into())
            }
            (Err(_), Some(proof)) if !is_offline => Err(proof.refuse(format!("{name} of {id}")).into()),
            // Other packages, and scripts that are not approved, are not taken instead.
            (Err(error), None) if !is_offline && view != VERSIONS => unfetched(error),
            (text, _) => Ok(text.ok().flatten()),
        }
    }

    /// What the registry has signed, which is asked for when the index or its discovery document is.
    async fn learn_proof_of_entries(&self) -> Result<Option<StatementProof>, TrustError> {
        let renews = match self.place {
            IndexLocation::Url(index) => {
                let discovery = index.join(DISCOVERY);
                !self.options.has_fresh_copy(index) && !discovery.is_ok_and(|url| self.options.has_fresh_copy(&url))
            }
            IndexLocation::Path(_) | IndexLocation::Unusable(_) => true,
        };
        self.learn_proof(if renews { Need::Newest } else { Need::Copies }).await
    }
}

/// Other packages than those of a list are not taken instead of it.
fn unusable((_, id, what): (&str, &str, &str), error: &WrongClosure) -> Error {
    Error::Packages { what: what.to_owned(), id: id.to_owned(), why: format!("cannot be used: {error}") }
}

/// Reads what a published tree in a directory has of an agent in a view.
fn read_beside(
    folder: &Path,
    view: &str,
    id: &AgentId,
    proof: Option<&StatementProof>,
) -> Result<Option<Vec<u8>>, Unusable> {
    if proof.is_some_and(|proof| !proof.statement.digests.contains_key(DISCOVERY)) {
        return Ok(None);
    }
    let other = |name: &str| Unusable::Digest(name.to_owned());
    let Ok(root) = folder.canonicalize() else {
        return if proof.is_some() { Err(other(DISCOVERY)) } else { Ok(None) };
    };
    let read = |name: &str, limit, digest: Option<Sha256>| {
        let is_right = |text: &Vec<u8>| digest.is_none_or(|digest| Sha256::of(text) == digest);
        let text = read_bounded(&root.join(name), &root, limit).ok().filter(is_right);
        // A publisher may be replacing the file, or was killed before it did.
        let kept = || read_content(&root, (digest.filter(|_| proof.is_some())?, limit));
        text.or_else(kept).ok_or_else(|| other(name))
    };
    let signed = proof.and_then(|proof| proof.statement.digests.get(DISCOVERY).copied());
    let document = read(DISCOVERY, DISCOVERY_LIMIT, signed);
    let view = match document.and_then(|document| Ok(View::parse(&document, view)?)) {
        // Other trees have none.
        Err(_) if proof.is_none() && root.join(DISCOVERY).symlink_metadata().is_err() => None,
        view => view?,
    };
    let Some(view) = view else { return Ok(None) };
    let list = |digest: Sha256| {
        if digest == Sha256::of(EMPTY) {
            return Ok(EMPTY.as_bytes().to_vec());
        }
        read(&view.list_path(digest), LIST_LIMIT, Some(digest))
    };
    let Some(digest) = entry_in(&list(list_in(&list(view.group(id))?, id)?)?, id)? else { return Ok(None) };
    read(&view.entry_path(id), ENTRY_LIMIT, Some(digest)).map(Some)
}

/// Agents of which entries prove that an index does not have them.
#[derive(Debug, Default)]
struct Absent {
    /// The digest of that index; `None` if nothing is proved.
    index: Option<Sha256>,
    ids: BTreeSet<AgentId>,
}

/// Agents of an index at an address.
struct IndexedAgents<'a> {
    index: &'a Url,
    /// The file name of the index.
    view: &'a str,
    discovery: Url,
    ids: BTreeSet<AgentId>,
    reader: &'a IndexReader<'a>,
    proof: Option<&'a StatementProof>,
}

/// The digests and addresses of files that are needed.
type Needed = BTreeMap<Sha256, String>;

/// The contents of such files.
type Parts = BTreeMap<Sha256, Vec<u8>>;

/// Why entries are not used.
#[derive(Debug, thiserror::Error)]
enum Unusable {
    #[error(transparent)]
    Fetch(#[from] FetchError),
    #[error("{0} is not what {DISCOVERY} says")]
    Digest(String),
    #[error("there is no copy of {0}")]
    NoCopy(String),
    #[error(transparent)]
    Form(#[from] WrongForm),
    #[error("{DISCOVERY} cannot be used: {0}")]
    Document(WrongForm),
    #[error("an entry cannot be used: {0}")]
    Entry(String),
}

impl Unusable {
    /// Whether a host has answered with something else, or that it has nothing.
    fn is_answer(&self) -> bool {
        match self {
            Self::Fetch(error) => error.problem.is_answer(),
            Self::Digest(_) => true,
            Self::NoCopy(_) | Self::Form(_) | Self::Document(_) | Self::Entry(_) => false,
        }
    }
}

impl<'a> IndexedAgents<'a> {
    /// `None` where entries cannot be offered: of files, and of indexes with a query, which is for that address only.
    fn new(reader: &'a IndexReader<'_>, ids: &[&str], proof: Option<&'a StatementProof>) -> Option<Self> {
        let IndexLocation::Url(index) = reader.place else { return None };
        let view = index.path_segments()?.next_back().filter(|view| !view.is_empty())?;
        let ids: BTreeSet<AgentId> = ids.iter().map(|id| id.parse().ok()).collect::<Option<_>>()?;
        let discovery = index.join(DISCOVERY).ok()?;
        let is_signed = proof.is_none_or(|proof| proof.statement.digests.contains_key(DISCOVERY));
        let is_offered = index.query().is_none() && !ids.is_empty() && is_signed;
        is_offered.then_some(Self { index, view, discovery, ids, reader, proof })
    }

    fn copies(&self) -> Option<&Copies> {
        self.reader.options.copies.as_ref()
    }

    /// The copy of the discovery document, if it is what the registry has signed.
    fn discovery_copy(&self) -> Option<Copy> {
        let copy = self.copies()?.find(&self.discovery)?;
        self.proof.is_none_or(|proof| proof.names(DISCOVERY, &copy.head.sha256)).then_some(copy)
    }

    /// Whether the discovery document at hand leads to files of a view. Where no copy can be kept, none is at hand.
    fn may_publish(&self, view: &str) -> bool {
        match self.discovery_copy() {
            Some(copy) => View::parse(copy.text.as_bytes(), view).is_ok_and(|view| view.is_some()),
            None => !self.copies().is_some_and(|copies| copies.lacks_entries(self.index)),
        }
    }

    /// The agents; an error if the whole index is to be read instead, except for those that are absent.
    async fn load(&self) -> Result<Loaded, Absent> {
        let copy = self.discovery_copy();
        let known = copy.and_then(|copy| Some((View::parse(copy.text.as_bytes(), self.view).ok()??, copy)));
        let of_index = self.copies().and_then(|copies| copies.head(self.index));
        if self.reader.options.is_offline {
            return self.at_hand(known.as_ref(), of_index.as_ref(), None).await;
        }
        let is_asked = self.reader.options.refresh;
        // After `list`, the copy of the index may be newer.
        let is_newest =
            |copy: &Copy| of_index.as_ref().is_none_or(|index| !index.is_fresh() || index.checked <= copy.head.checked);
        let fresh = known.as_ref().filter(|(_, copy)| copy.head.is_fresh() && is_newest(copy) && !is_asked);
        if let Some((view, copy)) = fresh
            && let Ok(index) = self.read(None, view).await
        {
            return Ok(self.loaded(index, copy.head.checked, None));
        }
        let lacks = || self.copies().is_some_and(|copies| copies.lacks_entries(self.index));
        let serves = match (&of_index, &known) {
            (Some(index), _) if !index.is_fresh() => false,
            (Some(index), Some((view, copy))) => self.serves(index, view, copy).await,
            (of_index, _) => of_index.is_some(),
        };
        if !is_asked && (serves || lacks()) {
            return Err(Absent::default());
        }
        let client = (self.reader.client)().map_err(|_| Absent::default())?;
        if let Some((view, copy)) = fresh {
            match self.read(Some(&client), view).await {
                Ok(index) => return Ok(self.loaded(index, copy.head.checked, None)),
                // There may be a newer publication.
                Err((error, _)) => tracing::debug!("{DISCOVERY} is read again: {error}"),
            }
        }
        match self.ask(&client, &self.discovery, known.as_ref()).await {
            Ok(Some(view)) => match self.read_current(&client, &view).await {
                Ok(index) => Ok(self.loaded(index, SystemTime::now(), None)),
                Err((error, absent)) => {
                    tracing::debug!("the whole index is read: {error}");
                    Err(absent)
                }
            },
            Ok(None) => {
                if let Some(copies) = self.copies().filter(|_| self.proof.is_none()) {
                    copies.note_lack(self.index);
                }
                Err(Absent::default())
            }
            Err(Unusable::Fetch(error)) if !error.problem.is_answer() || error.problem.may_pass() => {
                self.at_hand(known.as_ref(), of_index.as_ref(), Some(&error)).await
            }
            Err(error) => {
                tracing::debug!("the whole index is read: {error}");
                Err(Absent::default())
            }
        }
    }

    /// Asks for the discovery document if there is no copy, and it is not known that there is none.
    async fn learn_discovery(&self) {
        let Some(copies) = self.copies() else { return };
        let is_known = self.discovery_copy().is_some() || copies.lacks_entries(self.index);
        if let (false, false, Ok(client)) = (is_known, self.reader.options.is_offline, (self.reader.client)())
            && let Ok(None) = self.ask(&client, &self.discovery, None).await
            && self.proof.is_none()
        {
            copies.note_lack(self.index);
        }
    }

    /// The text of the only agent's entry, from copies or from the host; `None` if there is none.
    async fn load_text(&self) -> Result<Option<Vec<u8>>, Unusable> {
        let is_offline = self.reader.options.is_offline;
        let copy = self.discovery_copy();
        // What was signed stays what it is.
        let serves = |copy: &&Copy| copy.head.is_fresh() || is_offline || self.proof.is_some();
        let client = if is_offline { None } else { (self.reader.client)().ok() };
        let view = match (copy.as_ref().filter(serves), &client, self.proof) {
            (Some(copy), ..) => View::parse(copy.text.as_bytes(), self.view)?,
            (None, Some(client), Some(proof)) => View::parse(&self.ask_signed(client, proof).await?, self.view)?,
            (None, Some(client), None) => match (self.ask(client, &self.discovery, None).await, &copy) {
                // As of the index, a copy serves while its host cannot be reached.
                (Err(_), Some(copy)) => View::parse(copy.text.as_bytes(), self.view)?,
                // So does what is known of a tree that has none.
                (Err(Unusable::Fetch(error)), None) if !error.problem.is_answer() && self.lacked_entries() => None,
                // Packages that a list leaves out, and scripts that it does not approve, are not taken because its host has
                // failed for a moment.
                (view, _) => view?,
            },
            (None, None, Some(_)) => return Err(Unusable::NoCopy(DISCOVERY.to_owned())),
            (None, None, None) => None,
        };
        let Some(view) = view else { return Ok(None) };
        let client = client.as_deref();
        match (self.read_text(client, &view).await, client, self.proof) {
            // There may be a newer publication than the one whose copy was used.
            (Err(Unusable::Digest(_)), Some(asked), None) => match self.ask(asked, &self.discovery, None).await? {
                Some(view) => self.read_text(client, &view).await,
                None => Ok(None),
            },
            (text, ..) => text,
        }
    }

    /// Whether the tree has offered no entries when it was last asked, whenever that was.
    fn lacked_entries(&self) -> bool {
        self.copies().is_some_and(|copies| copies.lacked_entries(self.index))
    }

    /// The text of the only agent's entry in a view.
    async fn read_text(&self, client: Option<&Client>, view: &View) -> Result<Option<Vec<u8>>, Unusable> {
        let (needed, _) = self.find(client, view).await?;
        Ok(self.parts(client, needed, ENTRY_LIMIT).await?.into_values().next())
    }

    /// Whether a fresh copy of the whole index serves beside a copy of the entries. One of another publication may be the
    /// older one, whenever it was sent, so that it serves for agents only that are in both.
    async fn serves(&self, index: &CopyHeader, view: &View, copy: &Copy) -> bool {
        let has_all = |index: Index| index.entries().count() == self.ids.len();
        view.index.to_string() == index.sha256
            || (index.checked > copy.head.checked && self.read(None, view).await.is_ok_and(has_all))
    }

    /// The agents from copies, unless the copy of the whole index is newer. `error` is why no host is asked.
    async fn at_hand(
        &self,
        known: Option<&(View, Copy)>,
        of_index: Option<&CopyHeader>,
        error: Option<&FetchError>,
    ) -> Result<Loaded, Absent> {
        let (view, copy) = known.ok_or_else(Absent::default)?;
        let index = self.read(None, view).await.map_err(|(_, absent)| absent)?;
        if of_index.is_some_and(|index| index.checked > copy.head.checked) {
            let there: BTreeSet<&str> = index.entries().map(|entry| &*entry.id).collect();
            return Err(self.absent(view, &there));
        }
        let mut loaded = self.loaded(index, copy.head.checked, error.map(|error| staleness(copy.head.checked, error)));
        loaded.help = error.and_then(FetchError::remedy);
        loaded.index.origin.is_stale |= !copy.head.is_fresh();
        Ok(loaded)
    }

    /// The agents that are not among those that an index has.
    fn absent(&self, view: &View, there: &BTreeSet<&str>) -> Absent {
        let ids = self.ids.iter().filter(|id| !there.contains(id.as_str())).cloned().collect();
        Absent { index: Some(view.index), ids }
    }

    fn loaded(&self, mut index: Index, checked: SystemTime, warning: Option<String>) -> Loaded {
        let source = IndexLocation::Url(self.index.clone()).to_string();
        let signed = self.proof.map(Into::into);
        index.origin = IndexSource { source, fetched_at: Some(checked), is_stale: warning.is_some(), signed };
        let warning = warning.or_else(|| self.proof?.warning.clone());
        Loaded { index, is_whole: false, warning, help: None }
    }

    /// Asks for the discovery document at this address; `None` if there is none, or it does not have the view.
    async fn ask(
        &self,
        client: &Client,
        address: &Url,
        known: Option<&(View, Copy)>,
    ) -> Result<Option<View>, Unusable> {
        let validators = known.map(|(_, copy)| &copy.head.validators);
        let answer = match client.revalidate(address, DISCOVERY_LIMIT, validators).await {
            // Stores that do not tell what they have answer 403 for what they lack.
            Err(error) if matches!(error.problem, Problem::Status(403 | 404 | 410)) => {
                tracing::debug!("no entries are offered: {error}");
                return Ok(None);
            }
            answer => answer?,
        };
        let Some(body) = answer.body else {
            if let Some(copies) = self.copies() {
                copies.confirm(&self.discovery);
            }
            return Ok(known.map(|(view, _)| view.clone()));
        };
        if self.proof.is_some_and(|proof| !proof.has(DISCOVERY, Sha256::of(&body))) {
            tracing::debug!("{} is not what is signed", shown(&self.discovery));
            return Ok(None);
        }
        let view = View::parse(&body, self.view).map_err(Unusable::Document)?;
        if let (Some(_), Some(copies), Ok(text)) = (&view, self.copies(), str::from_utf8(&body)) {
            let sha256 = Sha256::of(text).to_string();
            let kept = copies.keep(&self.discovery, (text, &sha256), answer.validators, answer.max_age);
            kept.unwrap_or_else(|error| tracing::debug!("no copy is kept: {error}"));
        }
        Ok(view)
    }

    /// Asks for the discovery document that the registry has signed.
    async fn ask_signed(&self, client: &Client, proof: &StatementProof) -> Result<Vec<u8>, Unusable> {
        let answer = client.revalidate(&self.discovery, DISCOVERY_LIMIT, None).await;
        let sent = answer.ok().and_then(|answer| answer.body);
        if let Some(document) = sent.filter(|document| proof.has(DISCOVERY, Sha256::of(document))) {
            return Ok(document);
        }
        let kept = match proof.statement.digests.get(DISCOVERY) {
            Some(digest) => fetch_content(client, self.index, (*digest, DISCOVERY_LIMIT)).await,
            None => None,
        };
        kept.ok_or_else(|| Unusable::Digest(DISCOVERY.to_owned()))
    }

    /// Reads the agents that a discovery document leads to, which a host has just sent.
    async fn read_current(&self, client: &Client, view: &View) -> Result<Index, (Unusable, Absent)> {
        let result = self.read(Some(client), view).await;
        let Err((Unusable::Digest(_), _)) = &result else { return result };
        // A cache may have the document of an earlier publication, and a newer entry. It asks the host for another
        // address, and hosts of files ignore the query.
        let mut address = self.discovery.clone();
        address.set_query(Some(&format!("not={}", view.index)));
        match self.ask(client, &address, None).await {
            Ok(Some(newer)) if newer != *view => self.read(Some(client), &newer).await,
            _ => result,
        }
    }

    /// Reads the agents. Without a client, from copies only. An error has the agents whose absence is proved nevertheless.
    async fn read(&self, client: Option<&Client>, view: &View) -> Result<Index, (Unusable, Absent)> {
        let (needed, there) = self.find(client, view).await.map_err(|error| (error, Absent::default()))?;
        let entries = self.parts(client, needed, ENTRY_LIMIT).await;
        let index = entries.and_then(|entries| view_index(view, entries, &there).map_err(Unusable::Entry));
        index.map_err(|error| (error, self.absent(view, &there)))
    }

    /// The entries that are needed, and the agents that they are for; the index does not have the others.
    async fn find(&self, client: Option<&Client>, view: &View) -> Result<(Needed, BTreeSet<&str>), Unusable> {
        let path = |digest: Sha256| (digest, view.list_path(digest));
        let needed = self.ids.iter().map(|id| path(view.group(id))).collect();
        let groups = self.parts(client, needed, LIST_LIMIT).await?;
        let mut lists = Vec::with_capacity(self.ids.len());
        for id in &self.ids {
            lists.push((id, list_in(&groups[&view.group(id)], id)?));
        }
        let empty = Sha256::of(EMPTY);
        let needed = lists.iter().filter(|(_, digest)| *digest != empty).map(|(_, digest)| path(*digest)).collect();
        let mut texts = self.parts(client, needed, LIST_LIMIT).await?;
        texts.insert(empty, EMPTY.as_bytes().to_vec());
        let (mut needed, mut there) = (Needed::new(), BTreeSet::new());
        for (id, list) in &lists {
            if let Some(digest) = entry_in(&texts[list], id)? {
                needed.insert(digest, view.entry_path(id));
                there.insert(id.as_str());
            }
        }
        Ok((needed, there))
    }

    /// The contents of these files, from copies or from the host.
    async fn parts(&self, client: Option<&Client>, needed: Needed, limit: u64) -> Result<Parts, Unusable> {
        let one = async |(digest, path): (Sha256, String)| {
            if let Some(bytes) = self.copies().and_then(|copies| copies.part(digest)) {
                return Ok((digest, bytes));
            }
            let Some(client) = client else { return Err(Unusable::NoCopy(path)) };
            let bytes = match self.fetch_part(client, (digest, &path), limit).await {
                // A publisher may be replacing the file, or was killed before it did. A network that fails has no other file either.
                Err(error) if self.proof.is_some() && error.is_answer() => {
                    fetch_content(client, self.index, (digest, limit)).await.ok_or(error)?
                }
                bytes => bytes?,
            };
            if let Some(copies) = self.copies() {
                copies.keep_part(digest, &bytes);
            }
            Ok((digest, bytes))
        };
        stream::iter(needed.into_iter().map(one)).buffer_unordered(JOBS).try_collect().await
    }

    /// The content of a file that has this digest, from the host.
    async fn fetch_part(
        &self,
        client: &Client,
        (digest, path): (Sha256, &str),
        limit: u64,
    ) -> Result<Vec<u8>, Unusable> {
        // The path has plain characters only, so that it cannot lead to another host or above the document.
        let Ok(mut url) = self.discovery.join(path) else { return Err(Unusable::NoCopy(path.to_owned())) };
        let mut bytes = client.revalidate(&url, limit, None).await?.body.unwrap_or_default();
        if Sha256::of(&bytes) != digest {
            // A cache may have the entry of an earlier publication for some minutes. It asks the host for another
            // address, and hosts of files ignore the query.
            url.set_query(Some(&format!("sha256={digest}")));
            bytes = client.revalidate(&url, limit, None).await?.body.unwrap_or_default();
        }
        if Sha256::of(&bytes) == digest { Ok(bytes) } else { Err(Unusable::Digest(shown(&url))) }
    }
}

/// An index with these entries only, which must be those of the agents.
fn view_index(view: &View, entries: Parts, agents: &BTreeSet<&str>) -> Result<Index, String> {
    let mut texts = Vec::with_capacity(entries.len());
    for entry in entries.into_values() {
        let text = String::from_utf8(entry).map_err(|error| error.to_string())?;
        // A text of several values would be several entries.
        serde_json::from_str::<IgnoredAny>(&text).map_err(|error| error.to_string())?;
        texts.push(text);
    }
    let mut text = format!("{{\"agents\":[{}]}}", texts.join(","));
    if view.is_signed {
        text = mark(text.as_bytes()).and_then(|text| String::from_utf8(text).ok()).unwrap_or(text);
    }
    let index = Index::with_digest(text, view.index.to_string()).map_err(|error| error.to_string())?;
    // The notes of the whole index tell which of its entries cannot be used.
    let is_usable =
        index.notes.is_empty() && index.entries().map(|entry| &*entry.id).collect::<BTreeSet<_>>() == *agents;
    if is_usable { Ok(index) } else { Err("it is not that of its agent".to_owned()) }
}

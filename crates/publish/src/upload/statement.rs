//! Signs what is published: the statement beside the indexes, see [`acp_registry_plan::statement`].
//!
//! The signature is sent first, together with that of the statement before, then the statement, then the indexes that it
//! names. A client that reads in between finds a statement with its signature, and the indexes in the snapshot that it names.

use std::time::Duration;

use acp_registry_client::index::minisign::{PublicKey, Signatures};
use acp_registry_plan::entries::DISCOVERY;
use acp_registry_plan::json;
use acp_registry_plan::statement::{
    STATEMENT, STATEMENT_LIMIT, STATEMENT_SIGNATURE, STATEMENT_SIGNATURE_LIMIT, Signed, Statement, WrongStatement,
};
use acp_registry_plan::text::quote;
use acp_registry_plan::timestamp::Timestamp;

use super::headers::Headers;
use super::send::Sender;
use super::state::TargetState;
use super::tree::{hex_digest, is_signed_by_name};
use super::{Action, DAY, Error, Gzip, LATEST, Sign, UploadTarget, What, now, seconds, signature};

/// How statements are signed.
pub struct Signing {
    /// Signs a statement: takes its text and returns the content of `statement.json.minisig`, or an error message.
    pub sign: Sign,
    /// The key that signs. Without it, it is one that the statement before names.
    pub signer: Option<PublicKey>,
    /// Further keys that may sign the next statement.
    pub next: Vec<PublicKey>,
    /// How long a statement is valid. It is renewed when less than half of this is left.
    pub valid_for: Duration,
}

/// A statement that is to be published.
pub(super) struct SignedStatement {
    pub(super) signed: Signed,
    text: Vec<u8>,
    signature: Vec<u8>,
}

/// Makes the statement of a snapshot; `None` where nothing is signed, or the one that is published states the same.
pub(super) async fn sign(
    sender: &Sender<'_>,
    state: &TargetState,
    snapshot: &str,
    signing: Option<&Signing>,
) -> Result<Option<SignedStatement>, Error> {
    if signing.is_none() && !state.signed && !state.is_new {
        return Ok(None);
    }
    let place = |name: &str| format!("{LATEST}/{name}");
    let get = async |name, limit| sender.run.target.get(&place(name), limit).await;
    let before = get(STATEMENT, STATEMENT_LIMIT).await?;
    let Some(signing) = signing else {
        if before.is_none() && !state.signed {
            return Ok(None);
        }
        let message = format!("{} is signed, and this publication is not", sender.run.target.shown(LATEST));
        let remedy =
            "name --sign-with or set ACP_REGISTRY_SIGNING_KEY; clients refuse a registry that is no longer signed";
        return Err(Error::Target { message, remedy: remedy.to_owned() });
    };
    let before_signature = get(STATEMENT_SIGNATURE, STATEMENT_SIGNATURE_LIMIT).await?.unwrap_or_default();
    let before_signature = String::from_utf8_lossy(&before_signature).into_owned();
    let unreadable = |WrongStatement(why)| Error::Unreadable { place: sender.run.target.shown(&place(STATEMENT)), why };
    let known = before.as_deref().map(Statement::parse).transpose().map_err(unreadable)?;
    let keys = |statement: &Statement| -> Vec<PublicKey> {
        statement.next_keys.iter().filter_map(|key| key.parse().ok()).collect()
    };
    let allowed = known.as_ref().map(keys);
    let only = allowed.as_deref().and_then(|allowed| if let [key] = allowed { Some(*key) } else { None });
    let signer = signing.signer.or(only);
    let Some(signer) = signer else {
        let message = "the key that signs is not known".to_owned();
        return Err(Error::Target { message, remedy: "name the public key with --signer".to_owned() });
    };
    if let Some(allowed) = allowed.filter(|allowed| !allowed.contains(&signer)) {
        let allowed: Vec<String> = allowed.iter().map(ToString::to_string).collect();
        let message =
            format!("the last statement does not allow {signer} to sign the next one, but {}", allowed.join(" or "));
        let remedy = format!(
            "publish once with that key and --next-key {signer}; if it is lost, remove latest/{STATEMENT} and \
             latest/{STATEMENT_SIGNATURE}: clients then refuse the registry until people name {signer} with --signer"
        );
        return Err(Error::Target { message, remedy });
    }
    let time = now();
    let Some(until) = Timestamp::from_unix(time.saturating_add(seconds(signing.valid_for))) else {
        let message = "--valid-for ends after the year 9999".to_owned();
        return Err(Error::Target { message, remedy: "write a time such as 7d".to_owned() });
    };
    let verifies = |key: &PublicKey, text: &[u8], signature: &str| {
        Signatures::parse(signature).is_some_and(|signatures| key.verifies(text, &signatures))
    };
    // Write access to the target is enough to write a statement, but not to sign it. So this takes no name from a statement that
    // another key has signed.
    let is_by = |key: &PublicKey| before.as_deref().is_some_and(|text| verifies(key, text, &before_signature));
    let own = known.as_ref().filter(|_| is_by(&signer));
    let author = known.as_ref().map(keys).unwrap_or_default().into_iter().find(|key| is_by(key));
    // A number is the time or little more, so that numbers grow also for a publisher that has lost its last statement. A larger
    // number counts only in a statement of this key, or of one that names this key: the clock of its publisher may have been
    // ahead, and clients have seen the number.
    let this = u64::try_from(time).unwrap_or_default();
    let ahead = DAY.unsigned_abs() * if author.is_some() { 366 } else { 1 };
    let last = known.as_ref().map(|known| known.sequence).filter(|last| own.is_some() || *last < this + ahead);
    if let (Some(known), None, Some(author)) = (&known, last, author) {
        let message = format!(
            "the last statement, by {author}, has the number {}, which is more than a year ahead of this clock",
            known.sequence
        );
        let remedy = format!(
            "correct the clock of this machine; if it is right, remove latest/{STATEMENT} and latest/{STATEMENT_SIGNATURE}: clients \
             then refuse the registry until people name {signer} with --signer"
        );
        return Err(Error::Target { message, remedy });
    }
    let sequence = last.and_then(|last| last.checked_add(1)).unwrap_or_default().max(this);
    let address = address(sender).await?;
    let registry = match (own, &known) {
        (Some(own), _) => own.registry.clone(),
        (None, Some(other)) if address.as_ref() != Some(&other.registry) => {
            let named = quote(&other.registry);
            let message = format!("the statement there is not signed by {signer}, and is of {named}");
            let remedy = match author {
                Some(_) if other.registry.contains("://") => format!(
                    "build the tree with --base-url {named}, and publish it once with this key: the registry keeps that name in later \
                     statements, whatever the address of its tree"
                ),
                _ => "restore it, or sign with the key that has signed it".to_owned(),
            };
            return Err(Error::Target { message, remedy });
        }
        (None, _) => address.unwrap_or_else(|| signer.to_string()),
    };
    let mut statement = Statement::new(registry, sequence, until);
    statement.snapshot = Some(snapshot.to_owned());
    for (name, digest) in sender.source.files() {
        if is_signed_by_name(name)
            && let Ok(digest) = digest.parse()
        {
            statement.digests.insert(name.clone(), digest);
        }
    }
    // What was announced stays announced until another key signs: clients may not have seen it yet.
    let announced = own.map(keys).unwrap_or_default();
    for key in [signer].iter().chain(&announced).chain(&signing.next) {
        if !statement.next_keys.contains(&key.to_string()) {
            statement.next_keys.push(key.to_string());
        }
    }
    if let Some(own) = own {
        let is_young = own.expires_at.unix() - time >= seconds(signing.valid_for) / 2;
        if is_young && own.agrees_with(&statement) {
            return Ok(None);
        }
    }
    if own.is_some_and(|own| u64::try_from(until.unix()).unwrap_or_default() <= own.sequence) {
        let message = format!("the statement would be valid until {until}, and the last one was signed after that");
        let remedy = "correct the clock of this machine; if it is right, that of the last publisher was ahead: name a longer --valid-for";
        return Err(Error::Target { message, remedy: remedy.to_owned() });
    }
    let text = statement.to_text();
    // What clients would not read.
    if let Err(WrongStatement(why)) = Statement::parse(text.as_bytes()) {
        let message = format!("the statement would be refused by clients: {why}");
        return Err(Error::Target { message, remedy: "name fewer keys with --next-key".to_owned() });
    }
    let summary = Signed { signer: signer.to_string(), sequence, expires_at: until };
    if sender.run.is_dry_run {
        return Ok(Some(SignedStatement { signed: summary, text: text.into_bytes(), signature: Vec::new() }));
    }
    let signature = signature(&signing.sign, text.as_bytes()).await.map_err(Error::SignStatement)?;
    let signature = String::from_utf8(signature).unwrap_or_default();
    if !verifies(&signer, text.as_bytes(), &signature) {
        return Err(Error::SignStatement(format!("what it wrote is not a signature of {STATEMENT} by {signer}")));
    }
    // A client with a copy of the last statement needs its signature, too. Other programs read the first signature.
    let keys = known.as_ref().map(keys).unwrap_or_default();
    let before_signature = before.map_or_else(String::new, |text| signature_by(&keys, &text, &before_signature));
    let signature = format!("{}\n{before_signature}", signature.trim_end()).into_bytes();
    Ok(Some(SignedStatement { signed: summary, text: text.into_bytes(), signature }))
}

/// The signature of a text by one of these keys, of those in a file; the first one, if there is none.
///
/// It need not be the first: that of a publisher that was killed is of a statement that was never sent.
fn signature_by(keys: &[PublicKey], text: &[u8], signatures: &str) -> String {
    let lines: Vec<&str> = signatures.lines().filter(|line| !line.is_empty()).collect();
    let all = lines.chunks(4).map(|lines| lines.iter().map(|line| format!("{line}\n")).collect());
    let all: Vec<String> = all.collect();
    let is_of_text =
        |one: &&String| Signatures::parse(one).is_some_and(|one| keys.iter().any(|key| key.verifies(text, &one)));
    all.iter().find(is_of_text).or(all.first()).cloned().unwrap_or_default()
}

/// The statement in `latest/`.
pub(super) async fn current(target: &UploadTarget) -> Result<Option<Statement>, Error> {
    let place = format!("{LATEST}/{STATEMENT}");
    let Some(text) = target.get(&place, STATEMENT_LIMIT).await? else { return Ok(None) };
    let unreadable = |WrongStatement(why)| Error::Unreadable { place: target.shown(&place), why };
    Statement::parse(&text).map(Some).map_err(unreadable)
}

/// The address of the tree, which its discovery document and its schemas name.
async fn address(sender: &Sender<'_>) -> Result<Option<String>, Error> {
    for (file, member) in [(DISCOVERY, "url"), ("agent.schema.json", "$id")] {
        if !sender.source.files().contains_key(file) {
            continue;
        }
        let document = sender.source.content(file).await?;
        let url = json::members(&document, [member]).ok().and_then(|[url]| json::text(url));
        if let Some(base) = url.as_deref().and_then(|url| url.strip_suffix(file)) {
            return Ok(Some(base.trim_end_matches('/').to_owned()));
        }
    }
    Ok(None)
}

impl SignedStatement {
    /// Sends the signature, then the statement.
    pub(super) async fn send(&self, sender: &Sender<'_>) -> Result<Vec<Action>, Error> {
        let mut actions = Vec::new();
        for (name, bytes) in [(STATEMENT_SIGNATURE, &self.signature), (STATEMENT, &self.text)] {
            let file = format!("{LATEST}/{name}");
            let headers = Headers::for_latest(name, Gzip::default());
            if !sender.run.is_dry_run {
                sender.run.target.put(&file, bytes.clone(), &headers, &headers.fingerprint(&hex_digest(bytes))).await?;
                sender.run.target.sync()?;
            }
            actions.push(Action { file, what: What::Send(bytes.len() as u64) });
        }
        Ok(actions)
    }
}

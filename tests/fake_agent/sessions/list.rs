//! The list of sessions, in pages.

use std::path::Path;

use serde_json::{Value, json};

use super::{INVALID, Session, Sessions};

impl Sessions<'_> {
    /// One session on each page.
    pub(super) fn list(&self, params: &Value) -> Result<Value, (i64, &'static str)> {
        let filter = params["cwd"].as_str();
        let of_filter = |session: &&Session| filter.is_none_or(|cwd| session.cwd == cwd || self.is("filter-ignored"));
        let mut all: Vec<&Session> =
            self.all.iter().filter(|session| !session.is_deleted || self.is("delete-kept")).filter(of_filter).collect();
        // Only the last of sessions with the same id.
        all = all
            .iter()
            .enumerate()
            .filter(|(at, one)| !all[at + 1..].iter().any(|later| later.id == one.id))
            .map(|(_, one)| *one)
            .collect();
        match () {
            () if self.is("list-empty") || (filter.is_some() && self.is("filter-empty")) => all.clear(),
            () if self.is("list-late") => {
                all.retain(|session| self.all.last().is_none_or(|last| last.id != session.id));
            }
            () => {}
        }
        let at = match params["cursor"].as_str().map(str::parse::<usize>) {
            None => 0,
            Some(Ok(at)) if at > 0 && self.is("cursor-refused") => return Err(INVALID),
            Some(Ok(at)) => at,
            Some(Err(_)) if self.is("cursor-restarts") => 0,
            Some(Err(_)) if self.is("cursor-ends") => return Ok(json!({ "sessions": [] })),
            Some(Err(_)) => return Err(INVALID),
        };
        let shown = |session: &&Session| {
            let cwd = match () {
                () if self.is("cwd-of-process") => std::env::current_dir().unwrap().to_str().unwrap().to_owned(),
                () if self.is("cwd-parent") => Path::new(&session.cwd).parent().unwrap().to_str().unwrap().to_owned(),
                () if self.is("list-relative") => "project".to_owned(),
                () => session.cwd.clone(),
            };
            let mut shown = json!({ "sessionId": session.id, "cwd": cwd, "title": null });
            if session.directories.is_array() {
                let others = json!([session.cwd]);
                shown["additionalDirectories"] =
                    if self.is("directories-other") { others } else { session.directories.clone() };
            }
            shown
        };
        let from = if self.is("page-repeats") { at.saturating_sub(1) } else { at };
        let page: Vec<Value> = all.iter().skip(from).take(at - from + 1).map(shown).collect();
        if page.is_empty() && filter.is_some() && self.is("filter-null") {
            return Ok(json!({ "sessions": null }));
        }
        let mut result = json!({ "sessions": page });
        if at + 1 < all.len() {
            result["nextCursor"] = (at + 1).to_string().into();
        } else if self.is("cursor-endless") {
            result["nextCursor"] = all.len().to_string().into();
        }
        if self.is("list-object") {
            result["sessions"] = json!({ "0": page.first() });
        }
        Ok(result)
    }
}

use std::collections::BTreeSet;

use super::{Check, CheckFailure, Force, Run, Setup, StartedAgent, ensure, fail, json, not_exercised, quote};
use crate::examination::listing::PAGES;

pub(super) static CHECK: Check = Check {
    id: "sessions/list-paging",
    force: Force::Must,
    spec: "protocol/v1/session-list",
    summary: "lists further sessions on further pages",
    why: "The agent must answer with a list of sessions on every page. If there are more, `nextCursor` leads to the \
          next page; its absence is the end. A cursor that leads back makes clients read without end.",
    fix: "Return a `nextCursor` that continues after the last session of the page, and none on the last page.",
    begins: r#"client {"jsonrpc":"2.0","id":2,"method":"session/list","params":{}}
agent {"jsonrpc":"2.0","id":2,"result":{"sessions":[{"sessionId":"$LAST","cwd":"$CWD"}],"nextCursor":"2"}}
client {"jsonrpc":"2.0","id":2,"method":"session/list","params":{"cursor":"2"}}"#,
    fails: r#"agent {"jsonrpc":"2.0","id":2,"result":{"sessions":[{"sessionId":"$LAST","cwd":"$CWD"}]}}"#,
    passes: r#"agent {"jsonrpc":"2.0","id":2,"result":{"sessions":[{"sessionId":"s1","cwd":"/home/user/project"}]}}"#,
    run: Run::Talk(Setup::Session, |agent| Box::pin(run(agent))),
};

async fn run(agent: &mut StartedAgent) -> Result<(), CheckFailure> {
    agent.needs("/sessionCapabilities/list")?;
    agent.any_session().await?;
    let second = agent.spare_session().await?;
    agent.kept.spare.push(second);
    let (mut ids, mut cursors, mut params) = (BTreeSet::new(), BTreeSet::new(), json!({}));
    for number in 1..=PAGES {
        let page = match agent.page(&params).await? {
            Ok(page) => page,
            Err(text) if number == 1 => return not_exercised(format!("the agent {text}")),
            Err(text) => return fail(format!("{text}, for the `nextCursor` of the page before")),
        };
        for id in page.sessions.iter().filter_map(|session| session["sessionId"].as_str()) {
            ensure(ids.insert(id.to_owned()), format!("lists the session {} twice", quote(id)))?;
        }
        let Some(cursor) = page.next else {
            let reason = || CheckFailure::NotExercised("all sessions are on the first page".to_owned());
            return if number == 1 { Err(reason()) } else { Ok(()) };
        };
        params = json!({ "cursor": cursor });
        ensure(cursors.insert(cursor), "returns the same `nextCursor` twice")?;
    }
    Ok(())
}

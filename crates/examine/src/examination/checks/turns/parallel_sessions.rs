use std::time::Duration;

use super::{Check, CheckFailure, Force, Run, Script, Setup, StartedAgent, Step, ensure, fail};

pub(super) static CHECK: Check = Check {
    id: "turns/parallel-sessions",
    force: Force::Must,
    spec: "protocol/v1/session-setup",
    summary: "keeps the turns of two sessions apart",
    why: "A session is one conversation with its own context and history. The updates of a turn carry the id of its \
          session, and the model sees only what belongs to it.",
    fix: "Keep the history of each session separate, and send updates with the id of the session that they belong to.",
    begins: r#"client {"jsonrpc":"2.0","id":3,"method":"session/prompt","params":{"sessionId":"$SESSION","prompt":[{"type":"text","text":"$PROMPT"}]}}
model sends Parallel"#,
    fails: r#"agent {"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"session-0","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"$CHUNK"}}}}"#,
    passes: r#"agent {"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"$SESSION","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"$CHUNK"}}}}
agent {"jsonrpc":"2.0","id":3,"result":{"stopReason":"end_turn"}}"#,
    run: Run::Talk(Setup::Session, |agent| Box::pin(run(agent))),
};

async fn run(agent: &mut StartedAgent) -> Result<(), CheckFailure> {
    let first = agent.shared_session().await?;
    let second = agent.spare_session().await?;
    let say = |name: &str| {
        let chunks = (0..5).map(|number| format!("Parallel {name}{number} ")).collect();
        Script::new(vec![Step::Say { chunks, pause: Duration::from_millis(20) }])
    };
    let first = agent.play_with(&first, say("a"), "acp-registry-first", &[]).await?;
    let second = agent.play_with(&second, say("b"), "acp-registry-second", &[]).await?;
    agent.stop_reason(&first).await?;
    agent.stop_reason(&second).await?;
    agent.has_text(&second, "Parallel b4").await;
    for (turn, own, other, foreign) in [(&first, "a", "b", "second"), (&second, "b", "a", "first")] {
        let text = agent.text(turn);
        if (0..5).any(|number| text.contains(&format!("{other}{number}"))) {
            return fail("sends the text of one session with the id of another");
        }
        if (0..5).any(|number| !text.contains(&format!("{own}{number}"))) {
            return fail("does not send the text of one of two sessions with parallel turns");
        }
        let is_mixed = turn.any_text(|text| text.contains(&format!("acp-registry-{foreign}")));
        ensure(!is_mixed, "sends the model the prompt of another session")?;
    }
    Ok(())
}

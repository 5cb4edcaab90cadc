use super::{Check, CheckFailure, Force, Run, Setup, StartedAgent, fail, not_exercised, quote};
use crate::examination::client::ClientOffer;

pub(super) static CHECK: Check = Check {
    id: "drafts/symmetric-fs",
    force: Force::Observed,
    spec: "rfds/symmetric-fs",
    summary: "reads through a client that offers only writing before it writes",
    why: "The proposal demands that agents treat `writeTextFile: true` as implying `readTextFile: true`. An agent that \
          reads from the disk and writes through the client overwrites unsaved text of the editor. Version 1 has two \
          independent capabilities, so that a failure is only a warning.",
    fix: "Call `fs/read_text_file` if the client offers `readTextFile` or `writeTextFile`.",
    begins: r#"client {"jsonrpc":"2.0","id":3,"method":"session/prompt","params":{"sessionId":"$SESSION","prompt":[{"type":"text","text":"Replace the word `old` by `new` in `acp-registry-symmetric.txt`."}]}}"#,
    fails: r#"agent {"jsonrpc":"2.0","id":"w-4","method":"fs/write_text_file","params":{"sessionId":"$SESSION","path":"/project/acp-registry-symmetric.txt","content":"new on the disk\n"}}
client {"jsonrpc":"2.0","id":"w-4","result":{}}
agent {"jsonrpc":"2.0","id":3,"result":{"stopReason":"end_turn"}}"#,
    passes: r#"agent {"jsonrpc":"2.0","id":"r-1","method":"fs/read_text_file","params":{"sessionId":"$SESSION","path":"/project/acp-registry-symmetric.txt"}}
client {"jsonrpc":"2.0","id":"r-1","result":{"content":"$ANY"}}
agent {"jsonrpc":"2.0","id":"w-4","method":"fs/write_text_file","params":{"sessionId":"$SESSION","path":"/project/acp-registry-symmetric.txt","content":"new in the editor\n"}}
client {"jsonrpc":"2.0","id":"w-4","result":{}}
agent {"jsonrpc":"2.0","id":3,"result":{"stopReason":"end_turn"}}"#,
    run: Run::Talk(Setup::Apart, |agent| Box::pin(run(agent))),
};

const PROMPT: &str = "Replace the word `old` by `new` in `acp-registry-symmetric.txt`.";

const NAME: &str = "acp-registry-symmetric.txt";

async fn run(agent: &mut StartedAgent) -> Result<(), CheckFailure> {
    agent.introduce(ClientOffer::OnlyWriting).await?;
    // There is no such file on the disk: a program outside of the sandbox should not write where the agent can place links.
    let file = agent.work().join(NAME);
    agent.client.texts.insert(file.to_string_lossy().into_owned(), "old in the editor\n".to_owned());
    let session = agent.open_session().await?;
    let _ = agent.possible_turn(&session.id, PROMPT).await?;
    let place = |method: &str| agent.client.asked().position(|asked| asked == method);
    match (place("fs/write_text_file"), place("fs/read_text_file")) {
        (None, _) => not_exercised("the agent writes no file through the client"),
        (Some(written), Some(read)) if read < written => {
            match agent.written(NAME).find(|text| !text.contains("editor")) {
                Some(text) => fail(format!("reads through the client, but then writes {}", quote(text))),
                None => Ok(()),
            }
        }
        _ => fail("writes a file through the client without having read it there"),
    }
}

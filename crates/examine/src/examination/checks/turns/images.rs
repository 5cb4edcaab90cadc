use super::{Check, CheckFailure, Force, Run, Script, Setup, StartedAgent, Step, ensure, json};

pub(super) static CHECK: Check = Check {
    id: "turns/images",
    force: Force::Observed,
    spec: "protocol/v1/content",
    summary: "passes images to the model, if it advertises them",
    why: "An agent that advertises `promptCapabilities.image` takes images in prompts. The person expects that the \
          model sees them.",
    fix: "Add the image to the request to the model, or do not advertise `image` for models that take none.",
    begins: r#"client {"jsonrpc":"2.0","id":3,"method":"session/prompt","params":{"sessionId":"$SESSION","prompt":[{"type":"text","text":"$PROMPT"}]}}
model sends Image
agent {"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"$SESSION","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"$CHUNK"}}}}"#,
    fails: r#"agent {"jsonrpc":"2.0","id":3,"result":{"stopReason":"refusal"}}"#,
    passes: r#"agent {"jsonrpc":"2.0","id":3,"result":{"stopReason":"end_turn"}}"#,
    run: Run::Talk(Setup::Session, |agent| Box::pin(run(agent))),
};

/// An image of 16 by 16 pixels.
const IMAGE: &str =
    "iVBORw0KGgoAAAANSUhEUgAAABAAAAAQCAIAAACQkWg2AAAAFUlEQVR42mNgaPhPGhrVMKph+GoAAJ5XfxCkHTF9AAAAAElFTkSuQmCC";

async fn run(agent: &mut StartedAgent) -> Result<(), CheckFailure> {
    agent.needs("/promptCapabilities/image")?;
    let session = agent.shared_session().await?;
    let image = json!({ "type": "image", "mimeType": "image/png", "data": IMAGE });
    let turn = agent.play_with(&session, Script::new(vec![Step::say("Image")]), "", &[image]).await?;
    agent.stops_with(&turn, "end_turn").await?;
    let has_image = turn.requests().iter().any(|request| request.images > 0);
    ensure(has_image, "advertises `promptCapabilities.image`, but does not pass an image to the model")
}

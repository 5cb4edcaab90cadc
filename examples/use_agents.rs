//! Installs an agent and starts it: `cargo run --example use_agents -- INDEX AGENT [ALLOWED-HOST]...`
#![allow(clippy::print_stdout, reason = "an example shows what it has found")]
use acp_registry_client::session::{AgentSpec, InstallRequest, Session, SessionOptions};
use acp_registry_http::AllowedHosts;
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};

const INITIALIZE: &[u8] =
    b"{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\",\"params\":{\"protocolVersion\":1}}\n";

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (index, agent) = (arguments.first().ok_or("no index")?, arguments.get(1).ok_or("no agent")?);
    let mut options = SessionOptions::new("agents-of-the-example", std::env::vars_os());
    (options.index, options.allowed_hosts) = (index.parse()?, AllowedHosts::parse(&arguments[2..])?);
    let session = Session::open(options)?;
    let named: AgentSpec = agent.parse()?;
    let plan = session.plan(&named, None, &session.load_index(&[&named.id]).await?.index).await?;
    let version = session.install(&InstallRequest::new(plan), &|event| println!("{event:?}")).await?.version;
    let mut agent = session.start(&version)?;
    agent.stdin.write_all(INITIALIZE).await?;
    let mut answer = String::new();
    BufReader::new(agent.stdout).read_line(&mut answer).await?;
    println!("{} answers {answer}", version.receipt.version);
    Ok(())
}

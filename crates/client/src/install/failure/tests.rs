use std::fs;
use std::path::Path;

use super::*;
use crate::install::{Error, InstallFailure};
use acp_registry_host::process::How;

/// The remedy of a failure, as text.
fn words(failure: &ToolFailure) -> Option<String> {
    failure.remedy()
}

fn failure(program: &'static str, stderr: &str) -> ToolFailure {
    let exit = Some(Exit { how: How::Exited, code: Some(1), signal: None });
    let (limit, stderr) = (Duration::from_mins(5), stderr.to_owned());
    ToolFailure { program, exit, limit, stderr, proxy: None, full: None, phase: None, asked: None }
}

#[test]
fn a_package_manager_is_quoted_where_it_explains_itself() {
    let script = "npm warn x\nnpm error code 1\nnpm error path /a\nnpm error command failed\n\
                  npm error command sh -c x\nnpm error node is too old\nnpm error A complete log of this: /b\n";
    let slow = ToolFailure { exit: None, ..failure("npm", script) };
    assert_eq!(slow.to_string(), "npm did not end within 300 s: `node is too old`");
    assert_eq!(slow.remedy(), Some("run it again with `--install-timeout 10m`".to_owned()));
    let silent = "npm error code 3\nnpm error path /a\nnpm error command failed\nnpm error command sh -c exit 3\n\
                  npm error A complete log of this: /b\n";
    assert_eq!(failure("npm", silent).to_string(), "npm failed (exit code 1): `command sh -c exit 3`");
    let ended = "npm error process terminated\nnpm error signal SIGTERM\n";
    let ended = ToolFailure { exit: None, limit: Duration::from_secs(1), ..failure("npm", ended) };
    assert_eq!(ended.to_string(), "npm did not end within 1 s");
    assert_eq!(ended.remedy(), Some("run it again with `--install-timeout 5m`".to_owned()));
    let slow = ToolFailure { exit: None, phase: Some("fetching packages: 9".to_owned()), ..failure("npm", "") };
    assert_eq!(slow.to_string(), "npm did not end within 300 s (fetching packages: 9)");
    let chain = failure("uv", "Resolved\nerror: no\n  cause: y\n").to_string();
    assert_eq!(chain, "uv failed (exit code 1): `no: y`");
    assert_eq!(failure("uv", " \n").to_string(), "uv failed (exit code 1)");
}

fn read(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/fixtures/cause").join(name);
    let text = fs::read_to_string(&path).unwrap();
    text.split_once("\n---\n").unwrap().1.to_owned()
}

#[test]
fn a_cooldown_of_npm_that_is_no_time_is_named() {
    let said = "npm error Invalid time value\nnpm error A complete log of this run can be found in: /b\n";
    let warned = "npm warn invalid config min-release-age=\"abc\" set in environment\n\
                  npm warn invalid config Must be one of: null, numeric value\n";
    let wrong = failure("npm", &format!("{warned}{said}"));
    assert_eq!(wrong.to_string(), "npm failed (exit code 1): `Invalid time value`");
    assert_eq!(words(&wrong).unwrap(), "correct npm's setting `min-release-age=\"abc\" set in environment`");
    let other = "npm warn invalid config omit=\"abc\" set in environment\n";
    let unnamed = "correct npm's setting `before` or `min-release-age`, which `npm config list` shows";
    assert_eq!(words(&failure("npm", &format!("{other}{said}"))).unwrap(), unnamed);
    assert_eq!(words(&failure("uv", said)), None);
}

#[test]
fn what_this_machine_lacks_is_said_with_what_helps() {
    for (program, name, direct, through) in [
        ("npm", "npm-dead-dns.txt", Some(remedy::NETWORK), true),
        ("npm", "npm-no-network.txt", Some(remedy::NETWORK), true),
        ("npm", "npm-dead-proxy.txt", None, true),
        ("npm", "npm-proxy-403.txt", None, true),
        ("npm", "npm-proxy-407.txt", None, true),
        ("npm", "npm-proxy-502.txt", None, true),
        ("npm", "npm-e404.txt", None, false),
        ("npm", "npm-script.txt", None, false),
        ("npm", "npm-nested.txt", None, false),
        ("uv", "uv-dead-dns.txt", Some(remedy::NETWORK), true),
        ("uv", "uv-no-network.txt", Some(remedy::NETWORK), true),
        ("uv", "uv-0.8-no-network.txt", Some(remedy::NETWORK), true),
        ("uv", "uv-dead-proxy.txt", None, true),
        ("uv", "uv-proxy-403.txt", None, true),
        ("uv", "uv-proxy-407.txt", None, true),
        ("uv", "uv-no-version.txt", None, false),
        ("uv", "uv-build.txt", None, false),
    ] {
        let mut failure = failure(program, &read(name));
        assert_eq!(words(&failure).as_deref(), direct, "{name}");
        failure.proxy = Some("http://proxy.example:3128".to_owned());
        assert_eq!(words(&failure).as_deref(), through.then_some(remedy::PROXY), "{name}");
        let is_named =
            failure.to_string().ends_with(&format!("`; {program} asked through the proxy http://proxy.example:3128"));
        assert_eq!(is_named, through, "{name}: {failure}");
        assert_eq!(failure.addresses().next().is_some(), through || name == "npm-e404.txt", "{name}");
        assert!(!failure.is_of_disk());
    }
}

#[test]
fn a_registry_that_is_configured_is_named_with_its_setting() {
    const SCRIPT: &str = "npm error code E404\nnpm error 404 Not Found - GET https://h.example/x";
    let base = "http://127.0.0.1:9/";
    let not_found = format!("npm error code E404\nnpm error 404 Not Found - GET {base}p\n");
    let denied = format!("npm error code E403\nnpm error 403 403 Forbidden - GET {base}p\n");
    let who = "npm error code E401\nnpm error Incorrect or missing password.\nnpm error   https://h.example/x\n";
    let page = format!("npm error code FETCH_ERROR\nnpm error invalid json response body at {base}p reason: x\n");
    let down = format!("npm error code ENOTFOUND\nnpm error network request to {base}p failed, reason: x\n");
    let index = format!(
        "error: No solution found when resolving: x\n\nhint: An index ({base}) returned a 403 Forbidden error\n"
    );
    let broken = format!("npm error code E500\nnpm error 500 Internal Server Error - GET {base}p - no\n");
    let closed = index.replace("403 Forbidden", "401 Unauthorized");
    let answers = "correct SETTING, or see whether that address answers";
    let other = "correct SETTING if that is not where the package is";
    let token = "give npm its token, with `//127.0.0.1:9/:_authToken=TOKEN` in ~/.npmrc, or correct SETTING";
    let netrc = "give uv its name and password, with a line for 127.0.0.1 in ~/.netrc, or correct SETTING";
    let network = format!("correct SETTING, or {}", remedy::NETWORK);
    for (program, stderr, expected) in [
        ("npm", not_found.as_str(), Some(other)),
        ("npm", &denied, Some(token)),
        ("npm", who, Some(token)),
        ("npm", &page, Some(other)),
        ("npm", &down, Some(&network)),
        ("npm", &broken, Some(answers)),
        ("npm", SCRIPT, None),
        ("npm", "npm error code 1\nnpm error path /a\n", None),
        ("uv", &index, Some(netrc)),
        ("uv", &closed, Some(netrc)),
    ] {
        let asked = Some(NamedRegistry { address: base.to_owned(), setting: "SETTING".to_owned() });
        let failure = ToolFailure { asked, ..failure(program, stderr) };
        assert_eq!(words(&failure).as_deref(), expected, "{stderr}");
        let is_named = failure.to_string().contains("; it asked http://127.0.0.1:9/, as SETTING says");
        assert_eq!(is_named, expected.is_some(), "{failure}");
        let is_closed = failure.to_string().contains(": the package index wants a name and a password (401");
        assert_eq!(is_closed, stderr.contains("401 Unauth"), "{failure}");
    }
    let asked = Some(NamedRegistry { address: "nonsense".to_owned(), setting: "SETTING".to_owned() });
    let wrong = "npm error code ERR_INVALID_URL\nnpm error Invalid URL\n";
    let wrong = ToolFailure { asked, ..failure("npm", wrong) };
    let told = "npm failed (exit code 1): SETTING is `nonsense`, which is not an address";
    assert_eq!((wrong.to_string().as_str(), words(&wrong).as_deref()), (told, Some(remedy::VARIABLE)));
}

#[test]
fn a_full_disk_is_named() {
    for (program, name, code, begin) in [
        ("npm", "npm-no-space.txt", 0, "npm did not write all files: `ENOSPC: no space left on device, write`"),
        ("npm", "npm-cache-no-space.txt", 228, "npm failed (exit code 228): `ENOSPC: no space left"),
        ("uv", "uv-no-space.txt", 2, "uv failed (exit code 2): `Failed to install: pyyaml"),
        ("uv", "uv-cache-no-space.txt", 2, "uv failed (exit code 2): `Failed to write to the client cache: "),
    ] {
        let exit = Some(Exit { how: How::Exited, code: Some(code), signal: None });
        let full = Some("/data/root".into());
        let failure = ToolFailure { exit, full, ..failure(program, &read(name)) };
        let told = failure.to_string();
        assert!(failure.is_of_disk() && told.starts_with(begin), "{told}");
        assert!(told.contains("pace left on device") && !told.contains("free space"), "{told}");
        assert_eq!(words(&failure).as_deref(), Some("free space on the disk of /data/root"));
    }
}

#[test]
fn a_package_that_is_not_there_is_the_fault_of_the_manifest() {
    for (program, name, is_absent) in [
        ("npm", "npm-11-etarget.txt", true),
        ("npm", "npm-12-etarget.txt", true),
        ("npm", "npm-10-e404.txt", true),
        ("npm", "npm-nested.txt", false),
        ("uv", "uv-no-extra.txt", true),
        ("npm", "npm-8-etarget.txt", true),
        ("npm", "npm-e404.txt", true),
        ("npm", "npm-dead-dns.txt", false),
        ("npm", "npm-script.txt", false),
        ("npm", "npm-engine.txt", false),
        ("uv", "uv-no-version.txt", true),
        ("uv", "uv-no-package.txt", true),
        ("uv", "uv-0.8-no-version.txt", true),
        ("uv", "uv-requires-python.txt", false),
        ("uv", "uv-dead-dns.txt", false),
    ] {
        let error = Error::Tool(Box::new(failure(program, &read(name))));
        let reason = if is_absent { InstallFailure::PackageNotFound } else { InstallFailure::InstallFailed };
        assert_eq!((error.reason(), error.is_of_manifest()), (reason, is_absent), "{name}: {error}");
        let has_told = failure(program, &read(name)).lacks_version("pi-acp", "99.0.0");
        assert_eq!(has_told, name.ends_with("etarget.txt"), "{name}");
        let told = failure(program, &read(name));
        let has_told = told.lacks_version("Minion_Code", "99.0.0") || told.lacks_version("aiohttp", "99.0.0");
        assert_eq!(has_told, program == "uv" && is_absent && name != "uv-no-package.txt", "{name}");
        let has_told = ["@agentclientprotocol/no-such-agent-xyzzy", "no-such-agent-xyzzy", "no_such_agent.xyzzy-q"]
            .iter()
            .any(|absent| told.lacks_name(absent));
        assert_eq!(has_told, name.contains("e404") || name == "uv-no-package.txt", "{name}");
        assert!(!told.lacks_name("no-such-agent") && !told.lacks_version("minion", "99.0.0"), "{name}");
    }
    for (program, name, package, is_down) in [
        ("npm", "npm-dead-dns.txt", "pi-acp@0.0.34", true),
        ("npm", "npm-dead-proxy.txt", "pi-acp@0.0.34", true),
        ("npm", "npm-dead-dns.txt", "other@1.0.0", false),
        ("npm", "npm-e404.txt", "@agentclientprotocol/no-such-agent-xyzzy@1.0.0", false),
        ("npm", "npm-script.txt", "scripty@1.0.0", false),
        ("uv", "uv-dead-dns.txt", "minion-code==0.1.45", true),
        ("uv", "uv-0.8-refused.txt", "Minion_Code==0.1.45", true),
        ("uv", "uv-dead-proxy.txt", "other==1.0", false),
        ("npm", "npm-no-network.txt", "pi-acp@0.0.34", true),
        ("npm", "npm-proxy-407.txt", "pi-acp@0.0.34", true),
        ("npm", "npm-proxy-403.txt", "pi-acp@0.0.34", false),
        ("uv", "uv-no-network.txt", "minion-code==0.1.45", true),
        ("uv", "uv-0.8-no-network.txt", "minion-code==0.1.45", true),
        ("uv", "uv-no-version.txt", "minion-code==99.0.0", false),
        ("uv", "uv-build.txt", "sdbad==1.0", false),
    ] {
        assert_eq!(failure(program, &read(name)).lacks_source(package), is_down, "{name} {package}");
    }
    // A script of a package cannot claim it.
    let forged = failure("npm", "npm error code 1\nnpm error command sh -c x\nnpm error code E404\n");
    assert!(!forged.lacks_package());
    let young = "npm error code ENOVERSIONS\nnpm error No versions available for liby\nnpm error A complete log: /b\n";
    assert_eq!(failure("npm", young).held_by_npm(), Some("liby"));
    assert_eq!(failure("uv", young).held_by_npm(), None);
    let closed = "No solution found when resolving x: a was not found in the package registry\nhint: 403 Forbidden";
    assert!(!failure("uv", closed).lacks_package());
}

const STRICT: &str = r#"npm error code EBADENGINE
npm error engine Unsupported engine
npm error engine Not compatible with your version of node/npm: p@12.2.0
npm error notsup Not compatible with your version of node/npm: p@12.2.0
npm error notsup Required: {"node":"^22.22.2 || >=26.0.0"}
npm error notsup Actual:   {"node":"v20.20.2","npm":"11.19.1"}
"#;

const WARNING: &str = "npm warn EBADENGINE Unsupported engine {
npm warn EBADENGINE   package: 'abbrev@5.0.0',
npm warn EBADENGINE   required: { node: '^18' },
npm warn EBADENGINE   current: { node: 'v20.20.2', npm: '11.19.1' }
npm warn EBADENGINE }
npm warn EBADENGINE Unsupported engine {
npm warn EBADENGINE   package: '@s/p@12.2.0',
npm warn EBADENGINE   required: { node: '>=22' },
npm warn EBADENGINE   current: { node: 'v20.20.2', npm: '11.19.1' }
npm warn EBADENGINE }
";

#[test]
fn npm_says_which_node_a_package_wants() {
    let told = |stderr: &str, name: &str| node_shortfall(stderr, name).map(|shortfall| shortfall.to_string());
    assert_eq!(told(STRICT, "p").as_deref(), Some("needs Node.js ^22.22.2 || >=26.0.0, found 20.20.2"));
    let script = format!("{WARNING}npm error code 1\nnpm error path /a\nnpm error command sh -c node install.js\n");
    assert_eq!(told(&script, "@s/p").as_deref(), Some("needs Node.js >=22, found 20.20.2"));
    // A download that fails has another reason, and another package is not the agent.
    assert_eq!(told(&format!("{WARNING}npm error code ECONNRESET\n"), "@s/p"), None);
    assert_eq!(told(&script, "p"), None);
    for odd in ["", "npm error code EBADENGINE\n", "npm error code EBADENGINE\nnpm error notsup Required: {\n"] {
        assert_eq!(told(odd, "p"), None, "{odd}");
    }
}

#[test]
fn uv_says_what_it_would_have_to_build() {
    let refusal = "error: No solution found when resolving dependencies
  cause: Because docopt==0.6.2 has no usable wheels and you require docopt==0.6.2, we can conclude that \
                       your requirements are unsatisfiable.

hint: Wheels are required for `docopt` because building from
      source is disabled for all packages (i.e., with `--no-build`)";
    assert!(is_of_build(refusal) && !is_of_build("error: no"));
    assert_eq!(needs_build(refusal).as_deref(), Some("docopt"));
    assert_eq!(needs_build("building from source is disabled"), None);
}

#[test]
fn uv_says_which_python_a_package_wants() {
    let told = |stderr: &str| python_shortfall(stderr).map(|shortfall| shortfall.to_string());
    let refusal = "error: No solution found when resolving dependencies
  cause: Because the current Python version (3.11.7) does not satisfy
         Python>=3.12,<3.16 and p==0.10.48 depends on Python>=3.12,<3.16, we can conclude that p cannot be used.";
    assert_eq!(told(refusal).as_deref(), Some("needs Python >=3.12,<3.16, found 3.11.7"));
    for odd in ["", "the current Python version (3.11.7) is", "current Python version (3) does not satisfy Python--x "]
    {
        assert_eq!(told(odd), None, "{odd}");
    }
}

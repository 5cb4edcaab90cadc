//! How a package manager has failed, in its own words.

use std::path::PathBuf;
use std::time::Duration;

use url::Url;

use acp_registry_core::cause;
use acp_registry_core::net::remedy;
use acp_registry_core::sys::process::Exit;
use acp_registry_core::text::quote;
use acp_registry_core::upstream::NamedRegistry;

/// What npm's codes are where it has not reached its registry, or something on the way has answered.
const CODES: [&str; 13] = [
    "ECONNREFUSED", "ECONNRESET", "ENOTFOUND", "EAI_AGAIN", "ETIMEDOUT", "ERR_SOCKET_TIMEOUT", "EHOSTUNREACH",
    "ENETUNREACH", "E403", "E407", "E502", "E503", "E504",
];

/// Of these, the ones that the registry may have given itself, so that others can be asked for all the same.
const OF_REGISTRY: [&str; 1] = ["E403"];

/// What package managers and systems write where names cannot be resolved, or no way leads to the network.
const NO_NETWORK: [&str; 9] = [
    "ENOTFOUND", "EAI_AGAIN", "ENETUNREACH", "EHOSTUNREACH", "dns error", "failed to lookup address information",
    "Temporary failure in name resolution", "Network is unreachable", "No route to host",
];

/// What they write where a disk is full.
const FULL: [&str; 5] =
    ["ENOSPC", "EDQUOT", "No space left on device", "no space left on device", "Disk quota exceeded"];

/// What helps where an installation takes longer than this limit.
pub(super) fn slow(limit: Duration) -> String {
    format!("run it again with `--install-timeout {}m`", longer(limit))
}

/// A longer limit, in minutes.
pub(super) fn longer(limit: Duration) -> u64 {
    limit.as_secs().div_ceil(60).saturating_mul(2).max(5)
}

/// How a package manager has failed.
#[derive(Debug, Clone, thiserror::Error)]
#[error("{program} {}", self.describe())]
pub struct ToolFailure {
    /// Its name.
    pub program: &'static str,
    /// How it has ended; `None` when its time was up.
    pub exit: Option<Exit>,
    /// How long it had.
    pub limit: Duration,
    /// The end of what it wrote to stderr; where that is nothing, to stdout.
    pub stderr: String,
    /// The proxy through which it asks for what its words name, without secrets.
    pub proxy: Option<String>,
    /// The directory on whose disk no space is left.
    pub full: Option<PathBuf>,
    /// How far it was when its time was up, in short words without hidden characters.
    pub phase: Option<String>,
    /// The package registry that it was told to ask.
    pub asked: Option<NamedRegistry>,
}

impl ToolFailure {
    /// Whether something was not what its digest says, in the words of npm and of uv.
    pub(super) fn is_of_integrity(&self) -> bool {
        self.stderr.contains("code EINTEGRITY") || self.stderr.contains("Hash mismatch for ")
    }

    /// Whether the registry has answered that it has no such version of this very package, and not of one that it needs.
    pub(super) fn lacks_version(&self, name: &str, version: &str) -> bool {
        if self.program == "npm" {
            let sentence = format!(" No matching version found for {name}@{version}.");
            return self.stderr.lines().any(|line| line.starts_with("npm ") && line.ends_with(&sentence));
        }
        let text = unfolded(&self.stderr);
        let Some((_, rest)) = text.split_once("Because there is no version of ") else { return false };
        let found = rest.split(' ').next().unwrap_or_default();
        // With the extras that the manifest names, which an index does not know as packages.
        let found = found.split_once("==").map(|(found, _)| found.split('[').next().unwrap_or_default());
        found == Some(acp_registry_core::upstream::pypi::normalized(name).as_str()) && !self.is_refused()
    }

    /// Whether the registry has answered that it has no package of this very name.
    pub(super) fn lacks_name(&self, name: &str) -> bool {
        if self.program == "npm" {
            let package = format!("'{name}@");
            let said = ["' is not in this registry.", "' could not be found or you do not have permission"];
            let is_said = |line: &str| line.contains(&package) && said.iter().any(|said| line.contains(said));
            return self.code() == Some("E404") && self.own_lines().any(is_said);
        }
        let name = acp_registry_core::upstream::pypi::normalized(name);
        let sentence = format!("Because {name} was not found in the package registry");
        unfolded(&self.stderr).contains(&sentence) && !self.is_refused()
    }

    /// Whether the package registry has answered that it has no such package or version, be it one that the package needs.
    ///
    /// An index that asks for credentials says nothing of what it has.
    pub(super) fn lacks_package(&self) -> bool {
        if self.program == "npm" {
            return self.code().is_some_and(|code| ["E404", "ETARGET"].contains(&code));
        }
        let text = unfolded(&self.stderr);
        let is_absent =
            text.contains("Because there is no version of ") || text.contains(" was not found in the package registry");
        text.contains("No solution found when resolving") && is_absent && !self.is_refused()
    }

    /// Whether the question for the package itself went unanswered. Addresses that a package names elsewhere, and what its
    /// scripts write, say nothing of the registry.
    pub(super) fn lacks_source(&self, package: &str) -> bool {
        let is_asked = |line: &str, path: &str| {
            line.split_whitespace()
                .any(|word| word.trim_matches(['(', ')', '`', ':', ';']).trim_end_matches('/').ends_with(path))
        };
        if self.program == "npm" {
            let name = package.rfind('@').filter(|at| *at > 0).map_or(package, |at| &package[..at]);
            let path = format!("/{}", name.replace('/', "%2f"));
            let is_down = |code: &str| CODES.contains(&code) && !OF_REGISTRY.contains(&code);
            return self.code().is_some_and(is_down) && self.own_lines().any(|line| is_asked(line, &path));
        }
        let name = package.split(['=', '[', '@', '<', '>', ' ']).next().unwrap_or_default();
        let path = format!("/{}", acp_registry_core::upstream::pypi::normalized(name));
        self.unfetched().is_some_and(|line| is_asked(line, &path))
    }

    /// What to do about it where this machine, or its way to the network, is the trouble.
    pub(super) fn remedy(&self) -> Option<String> {
        if let Some(full) = &self.full {
            return Some(format!("free space on the disk of {}", full.display()));
        }
        if self.exit.is_none() {
            return Some(slow(self.limit));
        }
        if self.wrong_address().is_some() {
            return Some(remedy::VARIABLE.to_owned());
        }
        if self.wants_credentials()
            && let Some(asked) = self.asked()
        {
            return Some(self.credentials(asked));
        }
        if !self.is_of_network() {
            return if self.is_garbled() || self.lacks_package() { self.other_registry() } else { None };
        }
        if self.proxy.is_some() {
            return Some(remedy::PROXY.to_owned());
        }
        let remedy = NO_NETWORK.iter().any(|words| self.stderr.contains(words)).then_some(remedy::NETWORK);
        match (self.asked(), remedy) {
            (Some(asked), Some(remedy)) => Some(format!("correct {}, or {remedy}", asked.setting)),
            (Some(asked), None) => Some(format!("correct {}, or see whether that address answers", asked.setting)),
            (None, remedy) => remedy.map(ToOwned::to_owned),
        }
    }

    /// What to do where a registry that is configured lacks what others have.
    pub(super) fn other_registry(&self) -> Option<String> {
        self.asked().map(|asked| format!("correct {} if that is not where the package is", asked.setting))
    }

    /// How a registry is told who asks.
    fn credentials(&self, asked: &NamedRegistry) -> String {
        let NamedRegistry { address, setting } = asked;
        let host = address.split_once("://").map_or(address.as_str(), |(_, host)| host);
        if self.program == "npm" {
            let host = host.trim_end_matches('/');
            return format!("give npm its token, with `//{host}/:_authToken=TOKEN` in ~/.npmrc, or correct {setting}");
        }
        let host = host.split(['/', ':']).next().unwrap_or_default();
        format!("give uv its name and password, with a line for {host} in ~/.netrc, or correct {setting}")
    }

    /// The registry that is configured and was asked for what its words name.
    fn asked(&self) -> Option<&NamedRegistry> {
        let asked = self.asked.as_ref()?;
        let origin = Url::parse(&asked.address).ok().map(|url| url.origin());
        let mut named = self.addresses().map(|url| Some(url.origin())).peekable();
        // Where npm lacks a name and a password, it names no address but that of its makers.
        let is_asked = self.code() == Some("E401") || named.peek().is_none() || named.any(|url| url == origin);
        is_asked.then_some(asked)
    }

    /// Where that registry is, as the rest of a sentence about it.
    pub(super) fn place(&self) -> String {
        let place = |asked: &NamedRegistry| format!(" at {}, as {} says", asked.address, asked.setting);
        self.asked().map(place).unwrap_or_default()
    }

    /// Whether the registry wants to know who asks.
    fn wants_credentials(&self) -> bool {
        if self.program == "npm" {
            return self.code() == Some("E401") || (self.code() == Some("E403") && self.proxy.is_none());
        }
        let text = unfolded(&self.stderr);
        ["401 Unauthorized", "403 Forbidden"].iter().any(|status| text.contains(status)) && self.proxy.is_none()
    }

    /// Whether uv has found nothing because its index wants to know who asks, which it only adds as a hint.
    fn is_index_closed(&self) -> bool {
        let text = unfolded(&self.stderr);
        self.program == "uv" && text.contains("No solution found when resolving") && text.contains("401 Unauthorized")
    }

    /// Whether npm only tells that it was ended, which happened because its time was up.
    fn is_of_end(&self, cause: &str) -> bool {
        self.exit.is_none() && (cause.contains("process terminated") || cause.contains("signal SIG"))
    }

    /// The registry that is configured with a text that is no address.
    fn wrong_address(&self) -> Option<&NamedRegistry> {
        let is_told = self.program == "npm" && self.code() == Some("ERR_INVALID_URL");
        self.asked.as_ref().filter(|asked| is_told && Url::parse(&asked.address).is_err())
    }

    /// Whether something else than a registry has answered npm.
    fn is_garbled(&self) -> bool {
        self.program == "npm" && self.own_lines().any(|line| line.contains("invalid json response body at "))
    }

    /// Whether it has not reached its registry, or something on the way has answered.
    fn is_of_network(&self) -> bool {
        if self.program == "npm" {
            return self.code().is_some_and(|code| CODES.contains(&code) || is_server_error(code));
        }
        self.unfetched().is_some() || self.is_refused()
    }

    /// Whether a disk was full.
    pub(super) fn is_of_disk(&self) -> bool {
        FULL.iter().any(|full| self.stderr.contains(full))
    }

    /// Where it looks for packages.
    pub(super) fn registry(&self) -> &'static str {
        if self.program == "npm" { "npm" } else { "the Python package index" }
    }

    /// The newest version in a message.
    pub(super) fn newest(&self, newest: Option<&str>) -> String {
        match newest {
            None => String::new(),
            Some(newest) if self.program == "npm" => format!("; newest {newest}"),
            // It is uv's choice, which depends on Python.
            Some(newest) => format!("; newest for this Python {newest}"),
        }
    }

    /// npm's own code. Scripts of packages write below it.
    fn code(&self) -> Option<&str> {
        const BEGINS: [&str; 2] = ["npm error code ", "npm ERR! code "];
        let code = |line: &'_ str| BEGINS.iter().find(|begin| line.starts_with(**begin)).map(|begin| begin.len());
        self.stderr.lines().find_map(|line| line.get(code(line)?..)).map(str::trim)
    }

    /// The addresses that its words say were asked.
    pub(super) fn addresses(&self) -> impl Iterator<Item = Url> {
        let begins = |line: &&str| ["npm error", "npm ERR!", "error: "].iter().any(|begin| line.starts_with(begin));
        let lines = self.stderr.lines().skip_while(move |line| !begins(line));
        let words = lines
            .flat_map(|line| line.split([' ', '(', ')', '`', '\'', '"', ',']))
            .filter(|word| word.starts_with("http"));
        words.filter_map(|word| Url::parse(word.trim_end_matches([':', ';', '.'])).ok())
    }

    fn own_lines(&self) -> impl Iterator<Item = &str> {
        self.stderr.lines().filter(|line| line.starts_with("npm "))
    }

    /// uv's line about what it has not fetched.
    fn unfetched(&self) -> Option<&str> {
        let mut lines = self.stderr.lines().skip_while(|line| !line.starts_with("error: "));
        lines.find(|line| line.contains("Failed to fetch: "))
    }

    /// Whether an index wants credentials from uv.
    fn is_refused(&self) -> bool {
        let text = unfolded(&self.stderr);
        ["401 Unauthorized", "403 Forbidden", "407 Proxy"].iter().any(|status| text.contains(status))
    }

    fn describe(&self) -> String {
        let mut text = match self.exit {
            // It only warns of files that it could not write.
            Some(exit) if exit.code == Some(0) => "did not write all files".to_owned(),
            Some(exit) => format!("failed ({})", exit.describe()),
            None => {
                let phase = self.phase.as_ref().map_or_else(String::new, |phase| format!(" ({phase})"));
                format!("did not end within {} s{phase}", self.limit.as_secs_f64())
            }
        };
        if let Some(asked) = self.wrong_address() {
            text.push_str(&format!(": {} is {}, which is not an address", asked.setting, quote(&asked.address)));
            return text;
        }
        if self.is_index_closed() {
            text.push_str(": the package index wants a name and a password (401 Unauthorized)");
        } else if let Some(cause) = cause::quoted(&self.stderr).filter(|cause| !self.is_of_end(cause)) {
            text.push_str(": ");
            text.push_str(&cause);
        }
        if let Some(asked) = self.asked()
            && (self.is_of_network() || self.wants_credentials() || self.is_garbled() || self.lacks_package())
        {
            text.push_str(&format!("; it asked {}, as {} says", asked.address, asked.setting));
        }
        if let Some(proxy) = self.proxy.as_ref().filter(|_| self.is_of_network()) {
            text.push_str(&format!("; {} asked through the proxy {proxy}", self.program));
        }
        text
    }
}

/// Whether npm's code is that of an answer by which a server says that it has failed.
fn is_server_error(code: &str) -> bool {
    code.strip_prefix("E5").is_some_and(|rest| rest.len() == 2 && rest.bytes().all(|byte| byte.is_ascii_digit()))
}

/// The words of uv, which breaks long lines.
fn unfolded(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use super::*;
    use crate::install::Error;
    use acp_registry_core::sys::process::How;

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
        assert_eq!(slow.remedy().as_deref(), Some("run it again with `--install-timeout 10m`"));
        let ended = "npm error process terminated\nnpm error signal SIGTERM\n";
        let ended = ToolFailure { exit: None, limit: Duration::from_secs(1), ..failure("npm", ended) };
        assert_eq!(ended.to_string(), "npm did not end within 1 s");
        assert_eq!(ended.remedy().as_deref(), Some("run it again with `--install-timeout 5m`"));
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
            assert_eq!(failure.remedy().as_deref(), direct, "{name}");
            failure.proxy = Some("http://proxy.example:3128".to_owned());
            assert_eq!(failure.remedy().as_deref(), through.then_some(remedy::PROXY), "{name}");
            let is_named = failure
                .to_string()
                .ends_with(&format!("`; {program} asked through the proxy http://proxy.example:3128"));
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
            assert_eq!(failure.remedy().as_deref(), expected, "{stderr}");
            let is_named = failure.to_string().contains("; it asked http://127.0.0.1:9/, as SETTING says");
            assert_eq!(is_named, expected.is_some(), "{failure}");
            let is_closed = failure.to_string().contains(": the package index wants a name and a password (401");
            assert_eq!(is_closed, stderr.contains("401 Unauth"), "{failure}");
        }
        let asked = Some(NamedRegistry { address: "nonsense".to_owned(), setting: "SETTING".to_owned() });
        let wrong = "npm error code ERR_INVALID_URL\nnpm error Invalid URL\n";
        let wrong = ToolFailure { asked, ..failure("npm", wrong) };
        let told = "npm failed (exit code 1): SETTING is `nonsense`, which is not an address";
        assert_eq!((wrong.to_string().as_str(), wrong.remedy().as_deref()), (told, Some(remedy::VARIABLE)));
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
            assert_eq!(failure.remedy().as_deref(), Some("free space on the disk of /data/root"));
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
            let reason = if is_absent { "package_not_found" } else { "install_failed" };
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
        let no_command = Error::Tool(Box::new(failure("uv", &read("uv-no-command.txt"))));
        let no_command = crate::install::uv::refused(no_command, "six==1.16.0");
        let told = no_command.to_string();
        assert!(told.starts_with("the package `six==1.16.0` has no command") && no_command.is_of_manifest(), "{told}");
        // A script of a package cannot claim it.
        let forged = failure("npm", "npm error code 1\nnpm error command sh -c x\nnpm error code E404\n");
        assert!(!forged.lacks_package());
        let closed = "No solution found when resolving x: a was not found in the package registry\nhint: 403 Forbidden";
        assert!(!failure("uv", closed).lacks_package());
    }
}

//! `login` and `logout`: the steps of each type of method, and their results.

use std::fs::{self, File};
use std::io::{Read, Write as _};
use std::path::PathBuf;
use std::process::Stdio;

use serde_json::{Value, json};

use crate::agent::left_with;
use crate::login_terminal::read_until;
use crate::people::People;
use crate::support::Run;

/// The installed agent `a`, and a home directory for its user.
pub(crate) struct Person {
    pub(crate) people: People,
    pub(crate) tag: String,
}

/// One authentication method, which the agent carries out itself.
pub(crate) fn login() -> Value {
    json!([{ "id": "login", "name": "Log in" }])
}

/// A result of `initialize` with these methods.
pub(crate) fn offering(methods: &Value) -> Value {
    json!({ "protocolVersion": 1, "agentInfo": { "name": "x", "version": "1" }, "authMethods": methods })
}

impl Person {
    /// An agent that answers `authenticate` in the way `how`.
    pub(crate) fn of(how: &str, result: &Value) -> Self {
        // Fully escaped, since arguments in manifests cannot have control characters.
        Self::with(&["account", how, &acp_registry::json::to_string(result)])
    }

    fn with(case: &[&str]) -> Self {
        let people = People::new();
        fs::create_dir(people.env.path("home")).unwrap();
        let tag = people.install_fake(case);
        Self { people, tag }
    }

    pub(crate) fn token(&self) -> PathBuf {
        self.people.env.path("home/.fake-agent")
    }

    pub(crate) fn is_signed_in(&self) -> bool {
        self.token().exists()
    }

    pub(crate) fn run(&self, arguments: &[&str]) -> Run {
        self.run_with(arguments, &[])
    }

    fn run_with(&self, arguments: &[&str], variables: &[(&str, &str)]) -> Run {
        let run = Run::of(self.people.command(arguments).envs(variables.iter().copied()));
        self.assert_clean();
        // The agent's output is shown as text.
        assert!(!run.stdout.contains('\u{1b}') && !run.stderr.contains('\u{1b}'), "{}{}", run.stdout, run.stderr);
        run
    }

    pub(crate) fn json(&self, arguments: &[&str]) -> (i32, Value) {
        let run = self.run(&[arguments, &["--json"]].concat());
        assert!(run.stdout.is_ascii());
        (run.code, serde_json::from_str(&run.stdout).unwrap())
    }

    pub(crate) fn assert_clean(&self) {
        assert_eq!(left_with("environ", &self.tag), [] as [u32; 0]);
        assert_eq!(fs::read_dir(self.people.env.path("tmp")).unwrap().count(), 0);
    }

    /// Runs on a terminal with typed input; returns the exit code and the contents of the terminal.
    pub(crate) fn at_terminal(&self, arguments: &[&str], typed: &str) -> (i32, String) {
        self.at_terminal_to(None, arguments, "", typed)
    }

    /// Like `at_terminal`, with stdout redirected to a file, and input that is typed once a question appears.
    pub(crate) fn at_terminal_to(
        &self,
        file: Option<File>,
        arguments: &[&str],
        question: &str,
        typed: &str,
    ) -> (i32, String) {
        let pty = nix::pty::openpty(None, None).unwrap();
        let end = || Stdio::from(pty.slave.try_clone().unwrap());
        let mut command = self.people.command(arguments);
        command.env("NO_COLOR", "1");
        let mut child = command.stdin(end()).stdout(file.map_or_else(end, Stdio::from)).stderr(end()).spawn().unwrap();
        drop(command);
        let mut screen = File::from(pty.master);
        let mut shown = read_until(&mut screen, question).into_bytes();
        screen.write_all(typed.as_bytes()).unwrap();
        drop(pty.slave);
        // Linux reports an error if the other end is closed.
        let _ = screen.read_to_end(&mut shown);
        let code = child.wait().unwrap().code().unwrap_or(-1);
        self.assert_clean();
        let shown = String::from_utf8(shown).unwrap().replace("\r\n", "\n");
        assert!(!shown.contains("panicked"), "{shown}");
        (code, shown)
    }
}

#[test]
fn an_agent_signs_in_by_itself_and_keeps_that_in_the_persons_home() {
    let person = Person::of("ok", &offering(&login()));
    let run = person.run(&["login", "a"]);
    assert_eq!(run.code, 0, "{}{}", run.stdout, run.stderr);
    assert_eq!(run.stdout, "signed in: a 1.0.0: it opens a session\n  method    `login` (agent): Log in\n");
    assert!(run.stderr.contains("signing in to `a` by `login`"), "{}", run.stderr);
    assert!(run.stderr.contains("  | open https://h.example/device\\u{1b}[31m\n"), "{}", run.stderr);
    assert!(person.is_signed_in());

    fs::remove_file(person.token()).unwrap();
    let (code, document) = person.json(&["login", "a", "--method", "login"]);
    assert_eq!((code, &document["schema"], &document["command"]), (0, &json!(1), &json!("login")));
    assert_eq!(
        (&document["id"], &document["version"], &document["reason"]),
        (&json!("a"), &json!("1.0.0"), &Value::Null)
    );
    assert_eq!((&document["status"], &document["session"]), (&json!("signed_in"), &json!("ok")));
    let method = json!({ "id": "login", "name": "Log in", "type": "agent", "type_source": "default" });
    assert_eq!(document["method"], method);
}

/// A session that opens without it does not show that signing in has done anything.
#[test]
fn only_a_session_that_signing_in_has_opened_shows_that_it_worked() {
    let said =
        "not confirmed: a 1.0.0: it opens a session, as it did before: that does not show whether you are signed in\n";
    let person = Person::of("ok", &offering(&login()));
    fs::write(person.token(), "").unwrap();
    let run = person.run(&["login", "a"]);
    assert!(run.code == 0 && run.stdout.starts_with(said), "{}", run.stdout);
    let (code, document) = person.json(&["login", "a"]);
    assert_eq!((code, &document["status"], &document["session"]), (0, &json!("unconfirmed"), &json!("ok")));
    let terminal = json!([{ "id": "setup", "name": "Set up", "type": "terminal", "args": ["--sign-in", "nothing"],
                            "env": { "EXAMPLE": "1" } }]);
    let person = Person::of("ok", &offering(&terminal));
    fs::write(person.token(), "").unwrap();
    let (code, shown) = person.at_terminal(&["login", "a"], "please\n");
    assert!(code == 0 && shown.contains(said), "{shown}");
    // An agent that does not know the request, and variables without a value.
    let person = Person::of("missing", &offering(&login()));
    fs::write(person.token(), "").unwrap();
    let run = person.run(&["login", "a"]);
    let said = "not confirmed: a 1.0.0: it opens a session, but does not know the request to sign in\n";
    assert!(run.code == 0 && run.stdout.starts_with(said), "{}", run.stdout);
    let vars = json!([{ "name": "FAKE_AGENT_REGION", "optional": true }]);
    let methods = json!([{ "id": "login", "name": "Key", "type": "env_var", "vars": vars }]);
    let run = Person::of("ok", &offering(&methods)).run(&["login", "a"]);
    let said = "not confirmed: a 1.0.0: it opens a session, although none of the variables is set\n";
    assert!(run.code == 0 && run.stdout.starts_with(said), "{}", run.stdout);
    // An agent that ends when it is asked for a session too early is started again.
    let person = Person::of("fragile", &offering(&login()));
    let run = person.run(&["login", "a"]);
    assert!(run.code == 0 && run.stdout.starts_with("signed in: "), "{}{}", run.stdout, run.stderr);
}

#[test]
fn a_question_of_the_agent_reaches_the_person_and_the_answer_reaches_the_agent() {
    for (typed, expected) in [("open sesame\n", 0), ("wrong\n", 1)] {
        let person = Person::of("ask", &offering(&login()));
        let (code, shown) = person.at_terminal_to(None, &["login", "a"], "  | code?", typed);
        assert_eq!((code, person.is_signed_in()), (expected, expected == 0), "{shown}");
        // Output on stderr, on stdout, and without a newline.
        for line in ["open https://h.example/device\\u{1b}[31m", "Visit https://h.example/code\\u{1b}[31m", "code?"] {
            assert!(shown.contains(&format!("  | {line}\n")), "{line} in {shown}");
        }
    }
}

#[test]
fn version_2_has_its_own_names() {
    let methods = json!([{ "methodId": "login", "name": "Log in", "type": "agent" }]);
    let result = json!({
        "protocolVersion": 2, "info": { "name": "x", "version": "1" }, "capabilities": { "session": {} },
        "authMethods": methods,
    });
    let person = Person::of("ok", &result);
    assert_eq!(person.json(&["login", "a"]).1["status"], "signed_in");
    assert!(person.is_signed_in());
    let (code, document) = person.json(&["logout", "a"]);
    assert_eq!((code, &document["status"], &document["session"]), (0, &json!("signed_out"), &json!("auth_required")));
    assert!(!person.is_signed_in());
}

#[test]
fn what_keeps_a_person_from_signing_in_is_told_with_what_helps() {
    for (how, reason, part) in [
        ("refuse", "refused", "the agent answers `authenticate` with error -32603: `\\u{1b}[31mno such person`"),
        ("missing", "method_not_found", "Method not found`, although it offers the method"),
        ("silent", "timeout", "the agent did not answer `authenticate` within 1 s"),
        ("exit", "refused", "the agent ended before it answered (exit code 7): `open https"),
        ("no-session", "session_failed", "it is not known whether it has worked: the agent answers `session/new`"),
    ] {
        let person = Person::of(how, &offering(&login()));
        let (code, document) = person.json(&["login", "a", "--timeout", "1"]);
        assert_eq!(
            (code, &document["status"], &document["reason"]),
            (1, &json!("failed"), &json!(reason)),
            "{document}"
        );
        assert!(document["message"].as_str().unwrap().contains(part), "{document}");
        assert!(!document["help"].as_str().unwrap().is_empty());
        assert_eq!((&document["error"]["exit_code"], &document["error"]["help"]), (&json!(1), &document["help"]));
        let run = person.run(&["login", "a", "--timeout", "1"]);
        assert!(run.code == 1 && run.stdout.starts_with("failed: a 1.0.0: "), "{}", run.stdout);
        let is_told = run.stdout.contains("    | open https://h.example/device\\u{1b}[31m\n");
        assert_eq!(is_told, how != "missing", "{}", run.stdout);
    }
    // An agent that does not implement `authenticate` can still be signed in.
    let person = Person::of("missing", &offering(&login()));
    let run = person.run_with(&["login", "a"], &[("FAKE_AGENT_KEY", "x")]);
    assert_eq!(run.code, 0, "{}", run.stdout);
}

#[test]
fn an_agent_that_cannot_be_spoken_to_is_told_as_doctor_does() {
    for (case, reason, part) in [
        (&["exit", "3", "$ESC[31mno key"][..], "exited", "it was started, but ended at once"),
        (&["silent"], "timeout", "did not answer in time"),
        (
            &["reply", "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":7}\n"],
            "invalid_response",
            "not the answer of an ACP agent",
        ),
    ] {
        for command in ["login", "logout"] {
            let (code, document) = Person::with(case).json(&[command, "a", "--timeout", "1"]);
            assert_eq!((code, &document["reason"], &document["command"]), (1, &json!(reason), &json!(command)));
            assert!(document["message"].as_str().unwrap().contains(part), "{document}");
        }
    }
}

/// The reason is that of this machine, not of the agent.
#[cfg(unix)]
#[test]
fn what_keeps_the_system_from_starting_an_agent_is_told_as_run_does() {
    let people = People::new();
    let shell = people.env.path("own-shell");
    std::os::unix::fs::symlink("/bin/sh", &shell).unwrap();
    people.install_script(&format!("#!{}\n", shell.display()), &[]);
    fs::remove_file(&shell).unwrap();
    let told = format!("needs {}, which its first line names, and which is not there", shell.display());
    assert!(people.run(&["run", "a"]).stderr.contains(&told));
    for command in ["login", "logout"] {
        let (code, document) = people.json(&[command, "a"]);
        assert_eq!((code, &document["reason"]), (1, &json!("spawn_failed")), "{document}");
        assert!(document["message"].as_str().unwrap().contains(&told), "{document}");
        assert!(!document["help"].as_str().unwrap().contains("for another system"), "{document}");
    }
}

#[test]
fn variables_are_named_and_their_values_never() {
    let vars = json!([
        { "name": "FAKE_AGENT_KEY", "label": "\u{1b}[31mKey" },
        { "name": "FAKE_AGENT_REGION", "label": "Region", "secret": false, "optional": true },
    ]);
    let method = |link: &str| json!([{ "id": "login", "name": "Key", "type": "env_var", "vars": vars, "link": link }]);
    let person = Person::of("ok", &offering(&method("https://h.example/keys")));
    let run = person.run_with(&["login", "a"], &[("FAKE_AGENT_REGION", "in-the-north")]);
    assert_eq!(run.code, 1);
    assert_eq!(
        run.stdout,
        "failed: a 1.0.0: it wants variables that are not set: `FAKE_AGENT_KEY`\n\
         \x20 method    `login` (env_var): Key\n\
         \x20 not set   FAKE_AGENT_KEY (secret): \\u{1b}[31mKey\n\
         \x20 set       FAKE_AGENT_REGION (optional): Region\n\
         \x20 values at https://h.example/keys\n\
         \x20 help      set them where the agent is started, say in the settings of your shell or editor, and try again\n"
    );
    assert!(!person.is_signed_in());
    let (code, document) = person.json(&["login", "a"]);
    assert_eq!((code, &document["reason"], &document["session"]), (1, &json!("variables_missing"), &Value::Null));
    let region =
        json!({ "name": "FAKE_AGENT_REGION", "label": "Region", "secret": false, "optional": true, "set": false });
    assert_eq!((&document["variables"][1], &document["link"]), (&region, &json!("https://h.example/keys")));
    // An empty variable does not count.
    assert_eq!(person.run_with(&["login", "a"], &[("FAKE_AGENT_KEY", "")]).code, 1);

    for how in ["ok", "missing"] {
        let person = Person::of(how, &offering(&method("http://h.example/keys")));
        let run = person.run_with(&["login", "a", "-v"], &[("FAKE_AGENT_KEY", "top-secret")]);
        assert_eq!(run.code, 0, "{}", run.stdout);
        // The agent accepts any value.
        let said = "not confirmed: a 1.0.0: it opens a session, which does not show that it accepts the values\n";
        assert!(run.stdout.starts_with(said), "{}", run.stdout);
        assert!(run.stdout.contains("  set       FAKE_AGENT_KEY (secret)"), "{}", run.stdout);
        assert!(!run.stdout.contains("h.example/keys"), "{}", run.stdout);
        assert!(!run.stdout.contains("top-secret") && !run.stderr.contains("top-secret"));
    }
}

#[test]
fn a_variable_that_belongs_to_others_is_not_recommended() {
    let vars = json!([{ "name": "FAKE_AGENT_KEY" }, { "name": "NODE_OPTIONS", "optional": true }]);
    let methods = json!([{ "id": "login", "name": "Key", "type": "env_var", "vars": vars }]);
    let person = Person::of("ok", &offering(&methods));
    let run = person.run(&["login", "a"]);
    assert!(run.code == 1 && !run.stdout.contains("NODE_OPTIONS"), "{}", run.stdout);
    let warning =
        "warning: `login` also offers to set `NODE_OPTIONS`, which belongs to the system or to another program";
    assert!(run.stderr.contains(warning), "{}", run.stderr);
    let (_, document) = person.json(&["login", "a"]);
    assert_eq!(document["variables"].as_array().unwrap().len(), 1, "{document}");
    assert_eq!(person.run_with(&["login", "a"], &[("FAKE_AGENT_KEY", "x")]).code, 0);
}

#[test]
fn of_several_methods_one_must_be_named_or_chosen() {
    let methods = json!([
        { "id": "other", "name": "Other", "type": "env_var", "vars": [{ "name": "NEVER_SET" }] },
        { "id": "login", "name": "Log\u{1b}[31m in", "description": "by browser" },
    ]);
    let person = Person::of("ok", &offering(&methods));
    let run = person.run(&["login", "a"]);
    assert_eq!((run.code, run.stdout.as_str()), (2, ""));
    let told = "in several ways: `other` (env_var), `login` (agent)\nhelp: name one with --method\n";
    assert!(run.stderr.ends_with(told), "{}", run.stderr);
    let (code, document) = person.json(&["login", "a"]);
    assert_eq!((code, &document["error"]["exit_code"], &document["methods"][1]["id"]), (2, &json!(2), &json!("login")));
    assert_eq!(document["error"]["suggestions"], json!(["other", "login"]));
    let run = person.run(&["login", "a", "--method", "logim"]);
    assert_eq!(run.code, 2);
    let part = "there is no method `logim`; there is `other` (env_var), `login` (agent)\nhelp: did you mean `login`?";
    assert!(run.stderr.contains(part), "{}", run.stderr);
    let (_, far) = person.json(&["login", "a", "--method", "zzz"]);
    assert_eq!(far["error"]["help"], "name one with --method", "{far}");
    assert_eq!(far["error"]["suggestions"], json!(["other", "login"]));
    let (_, only) =
        Person::of("ok", &offering(&json!([{ "id": "key", "name": "Key" }]))).json(&["login", "a", "--method", "zzz"]);
    assert_eq!(only["error"]["help"], "run it with `--method key`", "{only}");
    assert_eq!(only["error"]["suggestions"], json!(["key"]));
    assert!(!person.is_signed_in());
    assert_eq!(person.run(&["login", "a", "--method", "login"]).code, 0);
    assert!(person.is_signed_in());

    let person = Person::of("ok", &offering(&methods));
    let (code, shown) = person.at_terminal(&["login", "a"], "7\n2\n");
    assert_eq!((code, shown.contains('\u{1b}')), (0, false), "{shown}");
    let list = "`a` can be signed in to in several ways:\n  1  `other` (env_var): Other\n  \
                2  `login` (agent): Log\\u{1b}[31m in: by browser\n1 to 2, or a name: ";
    assert!(shown.contains(list) && person.is_signed_in(), "{shown}");
    fs::remove_file(person.token()).unwrap();
    let (code, shown) = person.at_terminal(&["login", "a"], "logi\n login \n");
    assert!(code == 0 && person.is_signed_in(), "{shown}");
    let (code, shown) = person.at_terminal(&["login", "a"], "x\n0\n3\n");
    assert_eq!(code, 2, "{shown}");
    assert!(shown.contains("nothing was chosen"), "{shown}");
}

#[test]
fn without_a_method_the_session_tells() {
    let person = Person::of("ok", &offering(&json!([])));
    let (code, document) = person.json(&["login", "a"]);
    assert_eq!((code, &document["reason"]), (1, &json!("auth_required")));
    assert!(document["message"].as_str().unwrap().starts_with("it names no way to sign in; it still wants you to"));
    fs::write(person.token(), "").unwrap();
    let (code, document) = person.json(&["login", "a"]);
    assert_eq!((code, &document["message"]), (0, &json!("it names no way to sign in; it opens a session")));
    assert_eq!(document["status"], "unconfirmed");
}

#[test]
fn an_agent_that_is_not_installed_is_told_with_the_way_to_install_it() {
    let person = Person::of("ok", &offering(&login()));
    person.people.publish(&[person.people.agent("b", "1.0.0")]);
    assert_eq!(person.people.run(&["list", "--refresh"]).code, 0);
    for command in ["login", "logout"] {
        let unknown = person.run(&[command, "nosuch"]);
        assert!(unknown.stderr.contains("help: `acp-registry list --installed` shows"), "{}", unknown.stderr);
        let run = person.run(&[command, "b"]);
        assert_eq!((run.code, run.stdout.as_str()), (2, ""));
        assert!(
            run.stderr.contains("`b` is not installed in ")
                && run.stderr.contains("help: run `acp-registry install b`")
        );
        assert_eq!(person.json(&[command, "../a"]).1["error"]["exit_code"], 2);
    }
    let folder = fs::read_dir(person.people.root().join("agents/a")).unwrap().map(|item| item.unwrap().path());
    let folder = folder.into_iter().find(|path| path.is_dir()).unwrap();
    fs::write(folder.join("files/bin/agent"), "short").unwrap();
    let run = person.run(&["login", "a"]);
    assert_eq!(run.code, 3);
    assert!(run.stderr.contains("`a` is damaged: "), "{}", run.stderr);
}

#[test]
fn a_person_signs_out_where_the_agent_offers_it() {
    let mut result = offering(&login());
    let person = Person::of("ok", &result);
    fs::write(person.token(), "").unwrap();
    let (code, document) = person.json(&["logout", "a"]);
    assert_eq!((code, &document["reason"], &document["error"]["code"]), (1, &json!("not_offered"), &json!("findings")));
    assert_eq!((&document["error"]["message"], &document["error"]["help"]), (&document["message"], &document["help"]));
    assert!(person.is_signed_in());
    result["agentCapabilities"] = json!({ "auth": { "logout": {} } });
    let person = Person::of("ok", &result);
    fs::write(person.token(), "").unwrap();
    let run = person.run(&["logout", "a"]);
    assert_eq!(
        (run.code, run.stdout.as_str()),
        (0, "signed out: a 1.0.0: it opens no session without signing in\n"),
        "{}",
        run.stderr
    );
    assert!(!person.is_signed_in());
    // An agent cannot remove a key from the environment.
    let run = person.run_with(&["logout", "a"], &[("FAKE_AGENT_KEY", "x")]);
    assert!(run.code == 0 && run.stdout.contains("but goes on opening sessions\n  help      it may"), "{}", run.stdout);
    let (code, document) = Person::of("refuse", &result).json(&["logout", "a"]);
    assert_eq!((code, &document["reason"]), (1, &json!("refused")));
    assert!(document["message"].as_str().unwrap().contains("`logout` with error -32603: `not now`"), "{document}");
}

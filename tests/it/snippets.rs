//! Reads settings back in the language of an editor, for other tests, and tests hostile names in them.

use std::io::Write as _;
use std::process::{Command, Stdio};

use acp_registry::config::SiteConfig;
use acp_registry::history::History;
use acp_registry::revocations::Revocations;
use acp_registry::settings::{elisp, lua, shell};
use acp_registry::site::{Known, SiteOptions};
use acp_registry::verify::Snapshot;
use serde_json::{Value, json};

use crate::site::render;
use crate::support::skipped;

/// Texts that are difficult to quote.
pub(crate) const TEXTS: [&str; 12] = [
    "plain", "", "it's", "a\"b\\c", "$HOME `id` $(id)", "a\nb\tc", "]] --[[ x", "?\\C-x #1=", "\u{202e}bidi\u{0}1",
    "é 😀 עברית", "%s {{x}} ${y}", "-n",
];

/// Runs a script; returns the output, or `None` if the program is not installed.
fn output(program: &str, args: &[&str], script: &str) -> Option<Vec<u8>> {
    let child =
        Command::new(program).args(args).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
    let Ok(mut child) = child else {
        skipped("snippets", &format!("{program} is not installed"));
        return None;
    };
    child.stdin.take().unwrap().write_all(script.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{program}: {}\n{script}", String::from_utf8_lossy(&output.stderr));
    Some(output.stdout)
}

/// Runs a script of Lua in Neovim.
fn neovim(script: &str) -> Option<Vec<u8>> {
    let file = tempfile::Builder::new().suffix(".lua").tempfile().unwrap();
    std::fs::write(file.path(), format!("{script}\nvim.cmd('qall!')")).unwrap();
    let run = format!("luafile {}", file.path().display());
    // An error in the file goes on to the next command.
    output("nvim", &["--headless", "-u", "NONE", "-c", &run, "-c", "cquit"], "")
}

/// The texts in hexadecimal, one per line.
fn hexadecimal(texts: &[&str]) -> String {
    let line = |text: &&str| text.bytes().map(|byte| format!("{byte:02x}")).collect::<String>() + "\n";
    texts.iter().map(line).collect()
}

#[test]
fn lua_reads_back_what_was_written() {
    let script = format!(
        "for _, text in ipairs({}) do io.write((text:gsub('.', function(c) return ('%02x'):format(c:byte()) end)), '\\n') end",
        lua::list(TEXTS)
    );
    if let Some(bytes) = neovim(&script) {
        assert_eq!(String::from_utf8(bytes).unwrap(), hexadecimal(&TEXTS));
    }
}

#[test]
fn emacs_reads_back_what_was_written() {
    let script = format!(
        "(dolist (text {}) (princ (mapconcat (lambda (c) (format \"%02x\" c)) (encode-coding-string text 'utf-8 t) \"\")) (terpri))",
        elisp::list(TEXTS)
    );
    let file = tempfile::Builder::new().suffix(".el").tempfile().unwrap();
    std::fs::write(file.path(), format!(";; -*- coding: utf-8; lexical-binding: t -*-\n{script}")).unwrap();
    if let Some(bytes) = output("emacs", &["--batch", "-Q", "-l", file.path().to_str().unwrap()], "") {
        assert_eq!(String::from_utf8(bytes).unwrap(), hexadecimal(&TEXTS));
    }
}

#[test]
fn the_shell_reads_back_what_was_written() {
    let kept: Vec<&str> = TEXTS.into_iter().filter(|text| shell::word(text).is_some()).collect();
    assert_eq!(kept.len(), TEXTS.len() - 2, "only line ends and hidden characters have no form");
    let words: Vec<String> = kept.iter().filter_map(|text| shell::word(text)).collect();
    let script = format!("printf '%s\\0' {}", words.join(" "));
    if let Some(bytes) = output("sh", &["-s"], &script) {
        let read: Vec<&[u8]> = bytes.split(|byte| *byte == 0).collect();
        let expected: Vec<&[u8]> = kept.iter().map(|text| text.as_bytes()).chain([&b""[..]]).collect();
        assert_eq!(read, expected);
    }
    let env = [("K".to_owned(), "it's $x".to_owned())];
    let script = shell::command(&env, ["sh", "-c", "printf %s \"$K\""]).unwrap();
    if let Some(bytes) = output("sh", &["-s"], &script) {
        assert_eq!(bytes, b"it's $x");
    }
}

fn owned(words: &[&str]) -> Vec<String> {
    words.iter().map(|&word| word.to_owned()).collect()
}

/// The program with its arguments, and the variable `K` if set.
type Read = (Vec<String>, Option<String>);

const END: char = '\u{2}';

/// Splits words that each end in a separator, followed by `K=` and its value if set.
fn parts(bytes: Vec<u8>) -> Read {
    let text = String::from_utf8(bytes).unwrap();
    let (words, variable) = text.split_at(text.rfind(END).unwrap());
    (owned(&words.split(END).collect::<Vec<_>>()), variable[1..].strip_prefix("K=").map(ToOwned::to_owned))
}

/// Reads settings like a plugin for Neovim. The functions that settings call are replaced by ones that print their
/// arguments.
pub(crate) fn read_by_lua(settings: &str) -> Option<Read> {
    let script = format!(
        "local function show(t)\n\
         if t.command then io.write(t.command, '\\2') end\n\
         for _, word in ipairs(t.args or t.commands.default) do io.write(word, '\\2') end\n\
         local k = t.env.K\n\
         if k then io.write('K=', type(k) == 'function' and k() or k) end end\n\
         package.preload.codecompanion = function() return {{ setup = function(o) for _, f in pairs(o.adapters.acp) do show(f()) end end }} end\n\
         package.preload['codecompanion.adapters'] = function() return {{ extend = function(_, o) return o end }} end\n\
         package.preload.avante = function() return {{ setup = function(o) show(o.acp_providers[o.provider]) end }} end\n{settings}"
    );
    neovim(&script).map(parts)
}

/// Reads settings like Jupyter AI: the program with its arguments. Its modules are replaced by ones that keep what they get.
pub(crate) fn read_by_python(settings: &str) -> Option<Vec<String>> {
    let script = format!(
        "import asyncio, sys, types\n\
         class BaseAcpPersona:\n    def __init__(self, executable):\n        self.words = executable\n\
         def module(name, **members):\n    \
             made = sys.modules[name] = types.ModuleType(name)\n    made.__dict__.update(members)\n\
         module('jupyter_ai_acp_client', __file__='/package/__init__.py')\n\
         module('jupyter_ai_acp_client.base_acp_persona', BaseAcpPersona=BaseAcpPersona)\n\
         module('jupyter_ai_persona_manager', PersonaDefaults=dict)\n{settings}\n\
         persona = AgentPersona()\n\
         assert persona.defaults['name'] and asyncio.run(persona.is_authed())\n\
         sys.stdout.buffer.write('\\2'.join([*persona.words, '']).encode())\n"
    );
    output("python3", &["-"], &script).map(|bytes| parts(bytes).0)
}

/// Reads settings like agent-shell.
pub(crate) fn read_by_emacs(id: &str, settings: &str) -> Option<Read> {
    let script = format!(
        ";; -*- coding: utf-8; lexical-binding: t -*-\n(setq locale-coding-system 'utf-8)\n(defun agent-shell-make-agent-config (&rest plist) plist)\n\
         (defun acp-make-client (&rest plist) plist)\n\
         (defun show (client)\n (dolist (word (cons (plist-get client :command) (plist-get client :command-params)))\n  \
           (princ word) (princ \"\\2\"))\n \
          (dolist (pair (plist-get client :environment-variables))\n  \
           (when (string-prefix-p \"K=\" pair) (princ pair))))\n\
         (cl-defun agent-shell-start (&key config) (show (funcall (plist-get config :client-maker) nil)))\n\
         {settings}\n(agent-shell-start-{id})"
    );
    let file = tempfile::Builder::new().suffix(".el").tempfile().unwrap();
    std::fs::write(file.path(), script).unwrap();
    output("emacs", &["--batch", "-Q", "-l", "cl-lib", "-l", file.path().to_str().unwrap()], "").map(parts)
}

/// Reads a command like a shell.
#[cfg(unix)]
pub(crate) fn read_by_shell(command: &str) -> Option<Read> {
    // After another word, assignments are plain words, and no program is started.
    let script = format!("show() {{ printf '%s\\2' \"$@\"; }}\nshow {command}");
    let (mut words, _) = parts(output("sh", &["-s"], &script)?);
    let variable = words[0].strip_prefix("K=").map(ToOwned::to_owned);
    words.drain(..usize::from(variable.is_some()));
    Some((words, variable))
}

/// The snippets on an agent's page, by name.
fn snippets(agent: &Value) -> Vec<(String, String)> {
    known_snippets(agent, &Snapshot::default())
}

/// The same, where the last start is known.
fn known_snippets(agent: &Value, snapshot: &Snapshot) -> Vec<(String, String)> {
    let index = json!({ "agents": [agent] }).to_string();
    let (config, history) = (SiteConfig::default(), History::default());
    let options = SiteOptions {
        registry_url: None,
        signer: None,
        config: &config,
        history: &history,
        index: index.as_bytes(),
        base_url: "https://example.com",
        known: &Known::of(snapshot),
        icon: &|_| None,
        revocations: &Revocations::default(),
        earlier: &|_| None,
    };
    let page = String::from_utf8(render(options)["agents/x/index.html"].clone()).unwrap();
    let unescape = |text: &str| {
        let text = text.replace("&#60;", "<").replace("&#62;", ">").replace("&#34;", "\"").replace("&#39;", "'");
        text.replace("&#38;", "&")
    };
    page.split("<pre ")
        .skip(1)
        .map(|part| {
            let name = part.split_once("aria-label=\"").unwrap().1.split_once('"').unwrap().0;
            let text = part.split_once("<code>").unwrap().1.split_once("</code>").unwrap().0;
            (name.to_owned(), unescape(text))
        })
        .collect()
}

#[test]
fn settings_on_pages_start_what_the_manifest_says() {
    let args: Vec<&str> = TEXTS.to_vec();
    let agent = json!({ "id": "x", "name": "X <\"'&> \\", "distribution": {
        "npx": { "package": "@a/b@1.0.0", "args": args, "env": { "K": "it's <\"v\">" } } } });
    let snippets = snippets(&agent);
    let named = |name: &str| {
        &snippets.iter().find(|(known, _)| known == name).unwrap_or_else(|| panic!("{name}: {snippets:?}")).1
    };
    let direct: Vec<&str> = ["npx", "-y", "@a/b@1.0.0"].into_iter().chain(args).collect();
    let ways = [
        ("With the acp-registry program", vec!["acp-registry", "run", "x"], None),
        ("With npx", direct, Some("it's <\"v\">")),
    ];
    for (way, words, expected) in ways {
        for (client, pointer) in [
            ("Zed", "/agent_servers/x"),
            ("JetBrains", "/agent_servers/X <\"'&> \\"),
            ("VS Code", "/acp.agents/X <\"'&> \\"),
        ] {
            let settings: Value = serde_json::from_str(named(&format!("{client}, {way}"))).unwrap();
            let server = settings.pointer(pointer).unwrap();
            assert_eq!(
                (&server["command"], &server["args"], server["env"]["K"].as_str()),
                (&json!(words[0]), &json!(words[1..]), expected),
                "{client}, {way}"
            );
        }
        for client in ["Neovim (CodeCompanion)", "Neovim (avante)"] {
            if let Some((read, variable)) = read_by_lua(named(&format!("{client}, {way}"))) {
                assert_eq!((read, variable.as_deref()), (owned(&words), expected), "{client}, {way}");
            }
        }
    }
    let registry: Value = serde_json::from_str(named("Zed, From the registry")).unwrap();
    assert_eq!(registry["agent_servers"]["x"]["type"], "registry");
    // A word with hidden characters cannot be written for a shell, so that there is no command to copy.
    assert!(!snippets.iter().any(|(name, _)| name.contains("PowerShell") || name.contains("POSIX")));
    assert_eq!(named("Shell, With the acp-registry program"), "acp-registry run x");
}

/// The plugin signs in by the method of the adapter, and opens no session if the agent does not offer it; without one, by
/// the first that the agent offers; by none if the adapter says that it is done. The adapter of Goose has no method.
const SIGN_IN: &str = r"
package.preload['codecompanion.adapters'] = function()
  return { extend = function(name, own)
    assert(name == 'goose', name)
    return vim.tbl_deep_extend('force', { defaults = { mcpServers = {} }, handlers = {} }, own)
  end }
end
package.preload.codecompanion = function()
  return { setup = function(settings)
    local adapter = settings.adapters.acp.x()
    local wanted, chosen = adapter.defaults.auth_method, OFFERED[1]
    if adapter.handlers.auth and adapter.handlers.auth(adapter) then
      chosen = 'nothing'
    elseif wanted then
      chosen = vim.tbl_contains(OFFERED, wanted) and wanted or 'an error'
    end
    io.stdout:write(tostring(chosen))
  end }
end
";

#[test]
fn codecompanion_signs_in_as_the_last_start_has_shown() {
    let agent =
        json!({ "id": "x", "name": "X", "version": "1.0.0", "distribution": { "npx": { "package": "x@1.0.0" } } });
    for (methods, chosen) in [
        (json!([]), "nil"),
        (json!([{ "id": "tty", "type": "terminal" }, { "id": "it's", "type": "agent" }, { "id": "b" }]), "it's"),
        (json!([{ "id": "tty", "type": "terminal" }, { "id": "key", "type": "env_var" }]), "nothing"),
    ] {
        let row =
            json!({ "id": "x", "version": "1.0.0", "protocol_version": 1, "features": {}, "auth_methods": methods });
        let snapshot = Snapshot::parse(json!({ "agents": [row] }).to_string().as_bytes()).unwrap();
        let snippets = known_snippets(&agent, &snapshot);
        let name = "Neovim (CodeCompanion), With the acp-registry program";
        let (_, settings) = snippets.iter().find(|(known, _)| known == name).unwrap();
        let ids: Vec<&str> = methods.as_array().unwrap().iter().map(|one| one["id"].as_str().unwrap()).collect();
        let script = format!("OFFERED = {}\n{SIGN_IN}\n{settings}", lua::list(ids));
        if let Some(read) = neovim(&script) {
            assert_eq!(String::from_utf8(read).unwrap(), chosen, "{methods}");
        }
    }
}

#[test]
fn emacs_takes_the_settings_for_agent_shell() {
    let agent = json!({ "id": "x", "name": "X \"y\" \\", "distribution": { "uvx": { "package": "p==1", "args": ["a\"b\\"], "env": { "K": "v w" } } } });
    let snippets = snippets(&agent);
    let text = |way: &str| &snippets.iter().find(|(name, _)| *name == format!("Emacs, {way}")).unwrap().1;
    if let Some((words, variable)) = read_by_emacs("x", text("With uvx")) {
        assert_eq!(words, owned(&["uvx", "p==1", "a\"b\\"]));
        assert_eq!(variable.as_deref(), Some("v w"));
    }
    if let Some(read) = read_by_emacs("x", text("With the acp-registry program")) {
        assert_eq!(read, (owned(&["acp-registry", "run", "x"]), None));
    }
}

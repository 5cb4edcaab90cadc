//! `acp-registry config`

use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use acp_registry::host::fs::temporary;
use acp_registry::index::Missing;
use acp_registry::manifest::{Agent, AgentId, Distribution, NpmSpec, Package, PackageKind, PypiSpec, env_name};
use acp_registry::session::{AgentSpec, Session};
use acp_registry::settings::{
    AgentCommand, CLIENTS, EditorClient, PROGRAM, SettingsAction, SettingsEdit, SettingsEditError, SettingsOwner,
    SignIn, display_name, find,
};
use acp_registry::text::{printable, quote};
use acp_registry::{install, ops, provenance, session, store};
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use serde_json::{Map, Value, json};

use crate::commands::elsewhere::OnArgs;
use crate::documents::{Document, IndexOrigin};
use crate::flags::candidates;
use crate::flags::global::{FormatArgs, Global};
use crate::flags::isolation::GrantArgs;
use crate::flags::network::environment;
use crate::flags::session::{PackageArgs, SessionArgs, in_settings, open};
use crate::terminal::progress::events;
use crate::terminal::signals;
use crate::terminal::ui::Ui;
use acp_registry::failure::{Exit, Failure};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The client
    #[arg(value_name = "CLIENT", value_parser = client())]
    client: &'static EditorClient,

    /// The agent
    ///
    /// With a version, the settings always start that version.
    #[arg(value_name = "ID[@VERSION]", add = candidates::offered())]
    agent: AgentSpec,

    /// Name the agent's own program
    ///
    /// The settings then start it, or its package runner, instead of `acp-registry run ID`: no update changes what is
    /// started.
    #[arg(long, conflicts_with = "on")]
    direct: bool,

    #[command(flatten)]
    on: OnArgs,

    /// Start the agent in a sandbox, see `run --sandbox`
    #[arg(long, conflicts_with = "direct")]
    sandbox: bool,

    #[command(flatten)]
    grants: GrantArgs,

    #[command(flatten)]
    edit: EditArgs,

    #[command(flatten)]
    place: SessionArgs,

    #[command(flatten)]
    pub(crate) format: FormatArgs,
}

/// How the editor's own file is edited.
#[derive(Debug, clap::Args)]
struct EditArgs {
    /// Merge the settings into the editor's file
    ///
    /// For editors with settings in JSON. Comments and all other settings stay, and the text before the last change is kept in
    /// FILE`.before-acp-registry`.
    #[arg(long, conflicts_with = "remove")]
    write: bool,

    /// Remove the settings of the agent from the editor's file
    #[arg(long)]
    remove: bool,

    /// With --write or --remove, change nothing; show what would be changed
    #[arg(long)]
    dry_run: bool,

    /// The editor's file [default: where the editor looks for it]
    #[arg(long, value_name = "FILE")]
    file: Option<PathBuf>,
}

fn client() -> impl TypedValueParser<Value = &'static EditorClient> {
    let ids = CLIENTS.iter().map(|client| PossibleValue::new(client.id).help(client.about));
    let editors = ["neovim", "nvim"].map(|id| PossibleValue::new(id).hide(true));
    PossibleValuesParser::new(ids.chain(editors))
        .try_map(|id| find(&id).ok_or("Neovim has two plugins for agents: write `codecompanion` or `avante`"))
}

/// The help if settings cannot name the program itself.
const INDIRECT: &str = "leave out --direct";

/// What the printed settings start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum StartForm {
    /// The program of the installed version.
    Program,
    /// A package, through its runner, such as `npx`.
    Package,
    /// `acp-registry run`.
    Run,
}

/// The contents of the settings, and the version they are for.
struct SettingsText {
    launch: AgentCommand,
    form: StartForm,
    version: Option<String>,
    installed: Option<store::Version>,
    /// The index, if one could be read.
    index: Option<IndexOrigin>,
    /// Whether the version is installed but damaged.
    is_damaged: bool,
    /// The names of the agent's packages, if the index has it.
    packages: Vec<String>,
    /// Why the index does not say more about the agent.
    unknown: Option<Failure>,
}

pub(crate) fn run(args: &Args, global: &Global, ui: &Ui) -> Result<Exit, Failure> {
    let file = file(args)?;
    let session = open(&args.place, PackageArgs::default(), global)?;
    let mut answer = answer(args, global, &session, ui)?;
    answer.launch.env.retain(|(name, value)| {
        let problem = env_name::problem_with_value(name, value);
        if let Some(problem) = problem {
            ui.warning(&format!("the variable {} is left out: it {problem}", quote(name)));
        }
        problem.is_none()
    });
    if answer.form == StartForm::Run && args.on.machine().is_none() {
        answer.launch.env.extend(trusted_root()?);
    }
    let settings = args.client.settings_here(&answer.launch).map_err(|error| {
        let help = (answer.form != StartForm::Run).then_some(INDIRECT);
        let message = format!("there are no settings of {} for {}: {error}", args.agent.id, args.client.title);
        Failure::unable(message).help_if(help)
    })?;
    let names_version =
        answer.form == StartForm::Program || (answer.form == StartForm::Run && args.agent.version.is_some());
    let named = answer.installed.as_ref().filter(|_| names_version && !args.edit.remove && !args.edit.dry_run);
    if let Some(file) = file {
        let changed = change(args, &file, &answer, &settings, named, &session, ui)?;
        if args.edit.remove
            && !changed.0.had_settings
            && let Some(why) = &answer.unknown
        {
            ui.warning(&format!("only settings that start {} were looked for: {why}", args.agent.id));
            if let Some(advice) = why.advice() {
                ui.note(&advice);
            }
        }
        let is_json = args.format.is_json();
        let document = || document(args, &answer, &settings, Some(&changed));
        ui.result(&if is_json { document() } else { change_text(args, &changed) })?;
    } else {
        if let Some(version) = named {
            keep(args, &settings_owner(args, None), version, &session, ui)?;
        }
        ui.result(&if args.format.is_json() { document(args, &answer, &settings, None) } else { settings })?;
    }
    if !args.edit.remove {
        for note in notes(args, &answer) {
            ui.note(&note);
        }
    }
    Ok(Exit::Success)
}

/// What names a version: the client, and its file, of which it may have several, unless the settings are printed.
fn settings_owner(args: &Args, file: Option<&Path>) -> String {
    let file = file.map(|file| std::path::absolute(file).unwrap_or_else(|_| file.to_owned()));
    file.map_or_else(|| args.client.id.to_owned(), |file| format!("{} {}", args.client.id, file.display()))
}

/// Records that settings name a version, and returns whether that is new.
fn keep(args: &Args, owner: &str, version: &store::Version, session: &Session, ui: &Ui) -> Result<bool, Failure> {
    let wait = |holder: &str| ui.note(&format!("waiting for {holder}"));
    match signals::run(ui, session.store.keep_for(version, owner, &wait))? {
        Err(store::Error::NotInstalled { id, .. }) => {
            let message = format!("{id} {} was removed meanwhile; nothing was written", version.receipt.version);
            Err(Failure::unable(message).help("run the command again"))
        }
        Err(error) => {
            ui.warning(&format!("`gc` will remove the program once {} is updated: {error}", args.agent.id));
            Ok(false)
        }
        Ok(is_new) => Ok(is_new),
    }
}

/// Records that settings no longer name a version.
fn release(owner: &str, version: &store::Version, session: &Session, ui: &Ui) -> Result<(), Failure> {
    let wait = |holder: &str| ui.note(&format!("waiting for {holder}"));
    if let Err(error) = signals::run(ui, session.store.release_from(version, owner, &wait))? {
        let store::Receipt { id, version, .. } = &version.receipt;
        ui.warning(&format!("`gc` will keep {id} {version}, which settings no longer name: {error}"));
    }
    Ok(())
}

/// Changes the editor's file, unless this is a dry run. `named` is the version that its settings will name.
fn change(
    args: &Args,
    file: &Path,
    answer: &SettingsText,
    settings: &str,
    named: Option<&store::Version>,
    session: &Session,
    ui: &Ui,
) -> Result<SettingsChange, Failure> {
    let action = if args.edit.remove { SettingsAction::Remove } else { SettingsAction::Write };
    let place = settings_owner(args, Some(file));
    let owner = SettingsOwner { id: args.agent.id.as_str(), packages: &answer.packages };
    let failed = |error: SettingsEditError| error.failure(action);
    let plan = || SettingsEdit::plan(file, owner, settings, action).map_err(failed);
    if args.edit.dry_run || !(args.edit.write || file.exists()) {
        return Ok((plan()?, None));
    }
    let wait = |holder: &str| ui.note(&format!("waiting for {holder}"));
    let lock = signals::run(ui, SettingsEdit::lock(file, session.store.patience, &wait))?.map_err(failed)?;
    // The version is kept before the file names it, in case this process is killed, but not for a file that cannot be edited.
    let make = || {
        plan()?;
        let is_new = named.map(|version| keep(args, &place, version, session, ui)).transpose()?.unwrap_or_default();
        match (SettingsEdit::make(file, owner, settings, action), named) {
            (Err(error), Some(version)) if is_new => {
                release(&place, version, session, ui)?;
                Err(failed(error))
            }
            (made, _) => made.map_err(failed),
        }
    };
    let changed = make().and_then(|changed| {
        for version in session.store.versions(owner.id)? {
            if version.receipt.named_by.contains(&place) && was_named(&version, &changed.0) {
                release(&place, &version, session, ui)?;
            }
        }
        Ok(changed)
    });
    lock.remove();
    changed
}

/// Whether settings named a version before a change, and no longer do.
fn was_named(version: &store::Version, edit: &SettingsEdit) -> bool {
    let path = Value::from(version.directory.display().to_string()).to_string();
    let names = [path.trim_matches('"').to_owned(), format!("\"{}@{}\"", version.receipt.id, version.receipt.version)];
    let is_named = |text: &str| names.iter().any(|name| text.contains(name));
    is_named(edit.before.as_deref().unwrap_or_default()) && !is_named(&edit.after)
}

fn answer(args: &Args, global: &Global, session: &Session, ui: &Ui) -> Result<SettingsText, Failure> {
    let (named, id, events) = (&args.agent, args.agent.id.as_str(), events(ui));
    let mut installed = if AgentId::is_valid(id) { session.find_version(named, None)? } else { None };
    let index = signals::run(ui, ops::load_entry(session, id, &events))?;
    if named.is_latest
        && let Ok(index) = &index
        && let Some(agent) = index.agent(id)?
    {
        installed = session.find_version(&AgentSpec::exact(id, &agent.version), None)?;
    }
    let (installed, is_damaged) = match installed {
        Some(version) if !version.is_whole() => (None, true),
        installed => (installed, false),
    };
    let mut unknown = None;
    let (agent, index) = match index {
        Ok(index) => {
            let agent = match index.agent(id)? {
                None if args.edit.remove => {
                    unknown = Some(Failure::from(Missing::of(id, &index)));
                    None
                }
                None if installed.is_none() => return Err(Missing::of(id, &index).into()),
                // The requested version must exist.
                Some(agent) if named.version.is_some() && installed.is_none() && !args.edit.remove => {
                    let offer = ops::find_offer(session, named, &index, &events)?;
                    Some(Agent { version: offer.version, distribution: offer.distribution, ..agent })
                }
                agent => agent,
            };
            (agent, Some(IndexOrigin::of(&index)))
        }
        // Settings are found without the name, by what they start.
        Err(failure) if args.edit.remove => {
            unknown = Some(failure);
            (None, None)
        }
        // An installed version starts without the index; only the display name of the agent is unknown.
        Err(failure) if installed.is_some() => {
            ui.warning(&format!("{id} goes by its id, for its name is not known: {failure}"));
            (None, None)
        }
        Err(failure) => return Err(failure),
    };
    let name = display_name(agent.as_ref().map_or("", |agent| &agent.name), id);
    let version = match (&installed, &agent) {
        (Some(version), _) => Some(version.receipt.version.clone()),
        (None, Some(agent)) => Some(agent.version.clone()),
        (None, None) => None,
    };
    let by_run = || {
        if args.sandbox && args.on.machine().is_none() {
            let sandbox = session.sandbox().map_err(|error| session::Error::Sandbox { id: id.to_owned(), error });
            args.grants.grant(&mut sandbox?)?;
        }
        let sandbox = args.sandbox.then(|| "--sandbox".into()).into_iter().chain(args.grants.flags(|path| {
            let is_here = args.on.machine().is_none();
            is_here.then(|| std::path::absolute(path).ok()).flatten().unwrap_or_else(|| path.clone()).into_os_string()
        }));
        let sandbox = sandbox.map(OsString::into_string).collect::<Result<Vec<_>, _>>().map_err(|path| {
            Failure::unable(format!("settings cannot have the path {}, which is not Unicode", path.display()))
        })?;
        let place = if args.on.machine().is_some() {
            [args.on.flags(), args.place.root_flags()?, args.place.flags_elsewhere()?].concat()
        } else {
            args.place.flags()?
        };
        let flags = [global.network_flags(), place, sandbox].concat();
        let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
        let launch = AgentCommand::through_run(&named.to_string(), &name, &flags);
        let launch = AgentCommand { id: id.to_owned(), program: own_path()?, ..launch };
        Ok::<_, Failure>((StartForm::Run, launch))
    };
    let of_package = || start_package(id, &name, agent.as_ref()?.distribution.clone(), session, ui);
    let (form, launch) = match &installed {
        _ if !args.direct => by_run()?,
        Some(version) => (StartForm::Program, program_settings(id, &name, version, session)?),
        None => of_package().map_or_else(by_run, |launch| Ok((StartForm::Package, launch?)))?,
    };
    let packages = agent.iter().flat_map(|agent| agent.distribution.packages());
    let packages = packages.filter_map(|(kind, package)| match kind {
        PackageKind::Npx => package.package.parse::<NpmSpec>().map(|spec| spec.name).ok(),
        PackageKind::Uvx => package.package.parse::<PypiSpec>().map(|spec| spec.name).ok(),
    });
    let packages = packages.collect();
    Ok(SettingsText { launch, form, version, installed, index, is_damaged, packages, unknown })
}

/// The path of this program. If the name in `PATH` leads to this program, that path is used, since the target of a link
/// may contain a version.
fn own_path() -> Result<String, Failure> {
    let real =
        env::current_exe().map_err(|error| Failure::unable(format!("the path of {PROGRAM} is unknown: {error}")))?;
    let canonical = |path: &Path| path.canonicalize().ok();
    let named = environment().find(PROGRAM).and_then(|path| std::path::absolute(path).ok());
    let path =
        named.filter(|path| canonical(path).is_some_and(|found| Some(found) == canonical(&real))).unwrap_or(real);
    as_text(&path).map_err(|failure| failure.help(format!("install {PROGRAM} elsewhere")))
}

/// A path in settings.
fn as_text(path: &Path) -> Result<String, Failure> {
    path.to_str().map(ToOwned::to_owned).ok_or_else(|| {
        let path = quote(&path.to_string_lossy());
        Failure::unable(format!("settings cannot have the path {path}, which is not Unicode"))
    })
}

/// The agent started by its package runner, which is told a command where it needs one.
fn start_package(
    id: &str,
    name: &str,
    mut distribution: Distribution,
    session: &Session,
    ui: &Ui,
) -> Option<Result<AgentCommand, Failure>> {
    let launch = AgentCommand::from_package(id, name, &distribution)?;
    let unnamed = |uvx: &&mut Package| launch.program == "uvx" && uvx.command.is_none();
    let Some(uvx) = distribution.uvx.as_mut().filter(unnamed).filter(|_| !session.options().is_offline) else {
        return Some(Ok(launch));
    };
    let asked = session
        .installer(None)
        .map_err(Failure::from)
        .and_then(|installer| signals::run(ui, installer.command_for_uvx(uvx, &temporary())));
    match asked {
        Err(failure) => return Some(Err(failure)),
        Ok(Err(error @ install::Error::NoCommand { .. })) => {
            return Some(Err(Failure::unable(format!("{id}: {error}"))));
        }
        Ok(Err(error)) => ui.warning(&format!("it is not known whether uvx starts {id}: {error}")),
        Ok(Ok(command)) => uvx.command = command,
    }
    AgentCommand::from_package(id, name, &distribution).map(Ok)
}

/// The variable that names the trusted authorities, which an editor may not have.
fn trusted_root() -> Result<Option<(String, String)>, Failure> {
    let Some(named) = env::var_os(provenance::VARIABLE).filter(|path| !path.is_empty()) else { return Ok(None) };
    let path = in_settings(Path::new(&named))?;
    Ok(Some((provenance::VARIABLE.to_owned(), path)))
}

fn program_settings(
    id: &str,
    name: &str,
    version: &store::Version,
    session: &Session,
) -> Result<AgentCommand, Failure> {
    // The editor starts it without asking.
    session.refuse_unfit(version)?;
    let start = session.find_start(version)?;
    let program = as_text(&start.program).map_err(|failure| failure.help(INDIRECT))?;
    Ok(AgentCommand {
        id: id.to_owned(),
        name: name.to_owned(),
        program,
        args: start.args,
        env: start.env,
        sign_in: SignIn::Unknown,
    })
}

/// The file to edit, if one is.
fn file(args: &Args) -> Result<Option<PathBuf>, Failure> {
    if !args.edit.write && !args.edit.remove {
        let needs = match (&args.edit.file, args.edit.dry_run) {
            (Some(_), _) => "--file",
            (None, true) => "--dry-run",
            (None, false) => return Ok(None),
        };
        return Err(Failure::usage(format!("{needs} is for a file that is edited")).help("add --write or --remove"));
    }
    if args.client.language != "json" {
        let message = format!("the settings of {} are not JSON, and are not edited", args.client.title);
        return Err(Failure::usage(message).help("leave out --write and --remove, and copy what is printed"));
    }
    let unknown = || {
        let file = args.client.file().unwrap_or("the file");
        Failure::usage(format!("the place of {file} is not known")).help("name the file with --file")
    };
    path(args).ok_or_else(unknown).map(Some)
}

fn variable(name: &str) -> Option<PathBuf> {
    match name {
        "HOME" => env::home_dir(),
        _ => env::var_os(name).map(PathBuf::from),
    }
}

/// The file that the settings belong in, if it is known.
fn path(args: &Args) -> Option<PathBuf> {
    args.edit.file.clone().or_else(|| args.client.place(&variable).map(|(_, path)| path))
}

/// A change of an editor's file, and the path of the copy of what it was.
type SettingsChange = (SettingsEdit, Option<PathBuf>);

/// For a dry run, the difference; else what was done.
fn change_text(args: &Args, (edit, copy): &SettingsChange) -> String {
    let (id, path) = (printable(&args.agent.id), edit.path.display().to_string());
    let path = printable(&path);
    if !edit.is_change() {
        let has = if args.edit.remove { "has no settings" } else { "has these settings" };
        return format!("{path} {has} of {id}; nothing was changed\n");
    }
    if args.edit.dry_run {
        let before = edit.before.as_deref().unwrap_or_default();
        let diff = similar::TextDiff::from_lines(before, &edit.after);
        let lines = diff.unified_diff().header(&path, &path).to_string();
        return lines.lines().map(|line| format!("{}\n", printable(line))).collect();
    }
    let done = match (args.edit.remove, edit.had_settings) {
        (true, _) => "removed from",
        (false, true) => "changed in",
        (false, false) => "added to",
    };
    let name = edit.other_name.as_ref();
    let name = name.map(|name| format!("it is {} there: another entry has its name\n", quote(name)));
    let copy = copy.as_ref();
    let copy = copy.map(|copy| format!("what it was is in {}\n", printable(&copy.display().to_string())));
    format!("{id} was {done} {path}\n{}{}", name.unwrap_or_default(), copy.unwrap_or_default())
}

/// The notes to print with the settings.
fn notes(args: &Args, answer: &SettingsText) -> Vec<String> {
    let (id, client) = (&args.agent.to_string(), args.client);
    let mut notes = Vec::new();
    let lack = if answer.is_damaged { "damaged" } else { "not installed" };
    let is_edited = args.edit.write;
    let file = client.place(&variable).map(|(file, _)| file).or_else(|| client.file().map(ToOwned::to_owned));
    notes.extend(file.filter(|_| !is_edited).map(|file| {
        let file = printable(&file);
        let within = if Path::new(&*file).extension().is_some_and(|ending| ending == "vim") {
            ", between the lines `lua << EOF` and `EOF`"
        } else {
            ""
        };
        format!("for {}, this belongs in {file}{within}", client.title)
    }));
    notes.extend((!client.note.is_empty() && answer.form != StartForm::Program).then(|| client.note.to_owned()));
    let has_path = Path::new(&answer.launch.program).is_absolute();
    notes.extend((!client.path_note.is_empty() && !has_path).then(|| client.path_note.to_owned()));
    match answer.form {
        StartForm::Program => notes.push(format!(
            "this starts {} {} whatever is installed later; without --direct, the current version is started",
            args.agent.id,
            answer.version.as_deref().unwrap_or_default()
        )),
        StartForm::Package => notes.push(format!(
            "{id} is {lack}: {} fetches and starts it; `acp-registry install {id}` comes first for a program that \
             needs no network",
            answer.launch.program
        )),
        StartForm::Run if args.direct => {
            notes.push(format!(
                "--direct was not followed: {id} is {lack}, and is not a package; `{PROGRAM} install {}` comes first",
                args.agent
            ));
        }
        StartForm::Run if let (None, Some(machine)) = (&answer.installed, args.on.machine()) => {
            notes.push(if args.place.offline {
                let install = format!("`{PROGRAM} install {id} --on {machine}`");
                format!("a start with --offline installs nothing: if {id} is not on {machine} yet, {install} comes first")
            } else {
                format!("{id} starts in the version that is current on {machine}; if it has none, the first start installs it there")
            });
        }
        StartForm::Run if answer.installed.is_none() && args.place.offline => notes.push(format!(
            "{id} is {lack}, and a start with --offline fetches nothing: `{PROGRAM} install {id}` comes first"
        )),
        StartForm::Run if answer.installed.is_none() => {
            notes.push(format!("{id} is {lack}: the first start installs it, or `{PROGRAM} install {id}` does now"));
        }
        StartForm::Run => {}
    }
    notes
}

fn document(args: &Args, answer: &SettingsText, settings: &str, change: Option<&SettingsChange>) -> String {
    let AgentCommand { name, program, args: arguments, env, .. } = &answer.launch;
    let mut members = json!({
        "client": args.client.id,
        "id": args.agent.id,
        "name": name,
        "version": answer.version,
        "installed": answer.installed.is_some(),
        "language": args.client.language,
        "file": path(args).and_then(|path| std::path::absolute(path).ok()).map(|path| path.display().to_string()),
        "settings": match args.client.language {
            "json" => serde_json::from_str(settings).unwrap_or_default(),
            _ => Value::from(settings),
        },
        "starts": match answer.form {
            StartForm::Program => "program",
            StartForm::Package => "package",
            StartForm::Run => "run",
        },
        "program": program,
        "args": arguments,
        "env": env.iter().map(|(name, value)| (name.clone(), value.as_str().into())).collect::<Map<String, Value>>(),
        "index": answer.index,
    });
    if let Some((edit, copy)) = change {
        members["edit"] = json!({
            "path": edit.path.display().to_string(),
            "changed": edit.is_change(),
            "dry_run": args.edit.dry_run,
            "backup": copy.as_ref().map(|copy| copy.display().to_string()),
        });
    }
    Document::new("config", members).to_text()
}

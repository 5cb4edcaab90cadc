//! Progress of long operations: bars on a terminal, or events for programs.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use acp_registry::survey::SurveyEvent;
use acp_registry::text::printable;
use acp_registry::{install, ops, verify};
use indicatif::{MultiProgress, ProgressBar, ProgressStyle};

use crate::documents::{self, Stage};
use crate::terminal::call::EventSink;
use crate::terminal::ui::Ui;

/// A message that is cut at the width of the terminal.
const WORDS: &str = "{spinner} {wide_msg} {elapsed}";

/// The interval at which spinners move.
const TICK: Duration = Duration::from_millis(200);

/// Displays the progress of a survey. The display is removed when the survey ends.
pub(crate) struct SurveyProgress {
    bars: MultiProgress,
    questions: Count,
    downloads: Mutex<HashMap<usize, ProgressBar>>,
}

impl SurveyProgress {
    pub(crate) fn new(ui: &Ui) -> Self {
        let questions = Count::new(ui, false, "{spinner} {pos} of {len} answered {wide_bar}");
        Self { bars: ui.bars(), questions, downloads: Mutex::default() }
    }

    pub(crate) fn show(&self, event: SurveyEvent) {
        let mut downloads = self.downloads.lock().unwrap_or_else(PoisonError::into_inner);
        match event {
            SurveyEvent::Planned(count) => self.questions.plan(count),
            SurveyEvent::Answered => self.questions.step(),
            // Programs learn of requests only.
            _ if self.questions.events.is_some() => {}
            SurveyEvent::Downloading { number, url, length } => {
                let bar = length.map_or_else(ProgressBar::no_length, ProgressBar::new);
                let wide = "{bytes:>10} of {total_bytes:10} {bytes_per_sec:>12} {bar:20} {wide_msg}";
                let narrow = "{bytes:>10} of {total_bytes:10} {wide_msg}";
                let bar = bar.with_style(style(if Ui::is_narrow() { narrow } else { wide }));
                let file = url.rsplit('/').next().unwrap_or_default();
                downloads.insert(number, self.bars.add(bar.with_message(printable(file).into_owned())));
            }
            SurveyEvent::Received { number, bytes } => {
                if let Some(bar) = downloads.get(&number) {
                    bar.inc(bytes);
                }
            }
            SurveyEvent::Downloaded(number) => {
                if let Some(bar) = downloads.remove(&number) {
                    bar.finish_and_clear();
                }
            }
        }
    }
}

/// Displays which agents are being installed and checked.
pub(crate) struct AgentsProgress {
    bar: ProgressBar,
    names: Vec<String>,
    events: Option<EventSink>,
    /// The message about each running task.
    now: Mutex<BTreeMap<usize, String>>,
}

impl AgentsProgress {
    /// Creates the display. `names` are the names of the tasks.
    pub(crate) fn new(ui: &Ui, names: Vec<String>) -> Self {
        let bar = ui
            .bar(ProgressBar::new(names.len() as u64))
            .with_style(style("{spinner} {pos} of {len} checked {elapsed} {wide_msg}"));
        if !names.is_empty() {
            bar.enable_steady_tick(TICK);
        }
        Self { bar, names, events: ui.events(), now: Mutex::default() }
    }

    pub(crate) fn show(&self, event: verify::VerifyEvent) {
        let (number, phase, detail) = match event {
            verify::VerifyEvent::Installing(number) => (number, "installing", None),
            verify::VerifyEvent::Phase(number, detail) => (number, "installing", Some(detail)),
            verify::VerifyEvent::Checking(number) => (number, "starting", None),
            // Programs learn of the beginning and the end.
            verify::VerifyEvent::Examining(..) if self.events.is_some() => return,
            verify::VerifyEvent::Examining(number, done, all) => {
                (number, "examining", Some(format!("{done} of {all}")))
            }
            verify::VerifyEvent::Done(number) => (number, "done", None),
        };
        let name = |number: usize| self.names.get(number).map_or("", String::as_str);
        if let Some(events) = &self.events {
            return events.send(&documents::Event::Checking { name: name(number), phase, detail: detail.as_deref() });
        }
        let mut running = self.now.lock().unwrap_or_else(PoisonError::into_inner);
        if phase == "done" {
            running.remove(&number);
            self.bar.inc(1);
        } else {
            let detail = detail.map_or_else(String::new, |detail| format!(" ({detail})"));
            running.insert(number, format!("{phase} {}{detail}", name(number)));
        }
        let words: Vec<&str> = running.values().map(String::as_str).collect();
        self.bar.set_message(printable(&words.join(", ")).into_owned());
    }

    /// Removes the display.
    pub(crate) fn clear(&self) {
        self.bar.finish_and_clear();
    }
}

/// Returns what shows the events of a use case.
pub(crate) fn events(ui: &Ui) -> impl Fn(ops::Event<'_>) {
    let progress = Progress { ui, running: Mutex::default(), starting: Mutex::default() };
    move |event| progress.show(event)
}

/// Displays a use case: its installations and starts.
struct Progress<'a> {
    ui: &'a Ui,
    /// By the id of the agent.
    running: Mutex<BTreeMap<String, Install>>,
    /// Agents that were started, and have not answered yet.
    starting: Mutex<BTreeMap<String, ProgressBar>>,
}

impl Progress<'_> {
    fn show(&self, event: ops::Event<'_>) {
        let running = || self.running.lock().unwrap_or_else(PoisonError::into_inner);
        match event {
            ops::Event::Note(text) => self.ui.note(text),
            ops::Event::Warning(text) => self.ui.warning(text),
            ops::Event::Failed(about, failure) => self.ui.warn_about(about, failure),
            ops::Event::Detail(text) => self.ui.detail(text),
            ops::Event::Step(text) if self.ui.is_watched() => self.ui.step(text),
            ops::Event::Text(text) => self.ui.show(text),
            ops::Event::Loading(place) => self.ui.detail(&format!("the registry index is {place}")),
            ops::Event::Installing { id, version } => {
                let install = Install::start(id, version, self.ui);
                running().insert(id.to_string(), install);
            }
            ops::Event::Progress(id, progress) => {
                if let Some(install) = running().get(id.as_str()) {
                    install.show(progress);
                }
            }
            ops::Event::Installed(id) => drop(running().remove(id.as_str())),
            ops::Event::Starting { id, limit } => self.wait_for(id, limit),
            ops::Event::Started(id) => {
                if let Some(events) = self.ui.events() {
                    events.send(&documents::Event::Checking { name: id, phase: "done", detail: None });
                }
                let bar = self.starting.lock().unwrap_or_else(PoisonError::into_inner).remove(id);
                bar.inspect(ProgressBar::finish_and_clear);
            }
            _ => {}
        }
    }

    fn wait_for(&self, id: &str, limit: Duration) {
        let text = format!("starting {id}, which has {} s to answer", limit.as_secs_f64());
        self.ui.detail(&text);
        if let Some(events) = self.ui.events() {
            return events.send(&documents::Event::Checking { name: id, phase: "starting", detail: None });
        }
        let bar = self.ui.bar(ProgressBar::new_spinner()).with_style(style(WORDS));
        bar.set_message(printable(&text).into_owned());
        bar.enable_steady_tick(TICK);
        self.starting.lock().unwrap_or_else(PoisonError::into_inner).insert(id.to_owned(), bar);
    }
}

/// Displays one installation until it is dropped.
struct Install {
    bar: ProgressBar,
    name: String,
    download: Option<(EventSink, Mutex<Download>)>,
    id: String,
}

/// The progress of a download, and the part of it that was reported as events.
#[derive(Default)]
struct Download {
    received: u64,
    total: Option<u64>,
    told: u64,
}

impl Install {
    fn start(id: &str, version: &str, ui: &Ui) -> Self {
        let events = ui.events();
        if let Some(events) = &events {
            events.send(&documents::Event::Installing { id, version: Some(version), stage: Stage::Started });
        }
        let bar = ui.bar(ProgressBar::no_length()).with_style(style(WORDS));
        let name = printable(&format!("{id} {version}")).into_owned();
        bar.set_message(name.clone());
        bar.enable_steady_tick(TICK);
        Self { bar, name, download: events.map(|events| (events, Mutex::default())), id: id.to_owned() }
    }

    fn show(&self, progress: install::Progress) {
        if let Some((events, download)) = &self.download {
            return self.tell(&progress, events, &mut download.lock().unwrap_or_else(PoisonError::into_inner));
        }
        match progress {
            install::Progress::Downloading(length) => {
                let wide = "{msg} {wide_bar} {bytes:>10} of {total_bytes:10} {bytes_per_sec:>12} {eta:>4} left";
                let narrow = "{wide_msg} {bytes:>10} of {total_bytes:10}";
                let unknown = "{spinner} {wide_msg} {bytes:>10} {bytes_per_sec:>12}";
                self.bar.set_style(style(match length {
                    None => unknown,
                    Some(_) if Ui::is_narrow() => narrow,
                    Some(_) => wide,
                }));
                if let Some(length) = length {
                    self.bar.set_length(length);
                }
                self.bar.reset();
            }
            install::Progress::Received(count) => self.bar.inc(count),
            install::Progress::Unpacking => self.say("unpacking"),
            install::Progress::Running(tool) => self.say(&format!("running {tool}")),
            install::Progress::Phase(tool, phase) => self.say(&format!("{tool}: {phase}")),
            _ => {}
        }
    }

    /// Sends an event. For a download, events are sent at its start and end, and in between after every MiB or hundredth,
    /// whichever is larger.
    fn tell(&self, progress: &install::Progress, events: &EventSink, download: &mut Download) {
        let stage = match progress {
            install::Progress::Downloading(total) => {
                *download = Download { total: *total, ..Download::default() };
                Stage::Downloading { received: 0, total: download.total }
            }
            install::Progress::Received(count) => {
                download.received += count;
                let step = download.total.map_or(1 << 20, |total| (total / 100).max(1 << 20));
                let is_end = download.total == Some(download.received);
                if download.received - download.told < step && !is_end {
                    return;
                }
                download.told = download.received;
                Stage::Downloading { received: download.received, total: download.total }
            }
            install::Progress::Unpacking => Stage::Unpacking,
            install::Progress::Running(tool) => Stage::Running { program: tool, detail: None },
            install::Progress::Phase(tool, phase) => Stage::Running { program: tool, detail: Some(phase) },
            _ => return,
        };
        events.send(&documents::Event::Installing { id: &self.id, version: None, stage });
    }

    fn say(&self, what: &str) {
        self.bar.set_style(style(WORDS));
        self.bar.set_message(format!("{}: {what}", self.name));
    }
}

impl Drop for Install {
    fn drop(&mut self) {
        if let Some((events, _)) = &self.download {
            events.send(&documents::Event::Installing { id: &self.id, version: None, stage: Stage::Ended });
        }
        self.bar.finish_and_clear();
    }
}

fn style(template: &str) -> ProgressStyle {
    ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar())
}

impl Drop for SurveyProgress {
    fn drop(&mut self) {
        self.questions.clear();
    }
}

/// Displays the progress of work that is counted in items.
pub(crate) struct Count {
    bar: ProgressBar,
    events: Option<EventSink>,
    /// Whether the items are files to send; otherwise they are sources to ask.
    is_sending: bool,
}

impl Count {
    /// Displays files being sent.
    pub(crate) fn files(ui: &Ui) -> Self {
        Self::new(ui, true, "{spinner} {pos} of {len} files {wide_bar} {elapsed}")
    }

    /// Displays agents whose sources are being asked.
    pub(crate) fn agents(ui: &Ui) -> Self {
        Self::new(ui, false, "{spinner} {pos} of {len} agents {wide_bar} {elapsed}")
    }

    fn new(ui: &Ui, is_sending: bool, template: &str) -> Self {
        let bar = ui.bar(ProgressBar::new(0)).with_style(style(template));
        Self { bar, events: ui.events(), is_sending }
    }

    pub(crate) fn plan(&self, count: usize) {
        // The bar is shown once its length is above zero.
        if count > 0 {
            self.bar.inc_length(count as u64);
            self.bar.enable_steady_tick(TICK);
        }
        self.tell();
    }

    pub(crate) fn step(&self) {
        self.bar.inc(1);
        self.tell();
    }

    fn tell(&self) {
        if let Some(events) = &self.events {
            let (planned, done) = (self.bar.length().unwrap_or_default(), self.bar.position());
            events.send(&if self.is_sending {
                documents::Event::Sending { planned, sent: done }
            } else {
                documents::Event::Asking { planned, answered: done }
            });
        }
    }

    /// Removes the display.
    pub(crate) fn clear(&self) {
        self.bar.finish_and_clear();
    }
}

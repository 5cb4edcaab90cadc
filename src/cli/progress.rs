//! Progress of long work, on a terminal only.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use acp_registry::install;
use acp_registry::survey::Event;
use acp_registry::text::printable;
use acp_registry::verify;
use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::ui::Ui;

/// Shows how far a survey is; nothing is left of it when it is done.
pub(super) struct Progress {
    bars: MultiProgress,
    questions: ProgressBar,
    downloads: Mutex<HashMap<usize, ProgressBar>>,
}

impl Progress {
    pub(super) fn new(ui: &Ui) -> Self {
        let target = if ui.may_show_progress() { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
        let bars = MultiProgress::with_draw_target(target);
        let questions = ProgressBar::new(0).with_style(style("{spinner} {pos} of {len} answered {wide_bar}"));
        let questions = bars.add(questions);
        questions.enable_steady_tick(Duration::from_millis(200));
        Self { bars, questions, downloads: Mutex::default() }
    }

    pub(super) fn show(&self, event: Event) {
        let mut downloads = self.downloads.lock().unwrap_or_else(PoisonError::into_inner);
        match event {
            Event::Planned(count) => self.questions.inc_length(count as u64),
            Event::Answered => self.questions.inc(1),
            Event::Downloading { number, url, length } => {
                let bar = length.map_or_else(ProgressBar::no_length, ProgressBar::new);
                let bar = bar.with_style(style("{bytes:>10} of {total_bytes:10} {bytes_per_sec:>12} {bar:20} {msg}"));
                let file = url.rsplit('/').next().unwrap_or_default();
                downloads.insert(number, self.bars.add(bar.with_message(printable(file).into_owned())));
            }
            Event::Received { number, bytes } => {
                if let Some(bar) = downloads.get(&number) {
                    bar.inc(bytes);
                }
            }
            Event::Downloaded(number) => {
                if let Some(bar) = downloads.remove(&number) {
                    bar.finish_and_clear();
                }
            }
        }
    }
}

/// Shows which agents are being installed and checked.
pub(super) struct Running {
    bar: ProgressBar,
    names: Vec<String>,
    now: Mutex<BTreeMap<usize, &'static str>>,
}

impl Running {
    /// `names` are those of the tasks.
    pub(super) fn new(ui: &Ui, names: Vec<String>) -> Self {
        let target = if ui.may_show_progress() { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
        let bar = ProgressBar::with_draw_target(Some(names.len() as u64), target);
        let bar = bar.with_style(style("{spinner} {pos} of {len} checked {elapsed} {wide_msg}"));
        bar.enable_steady_tick(Duration::from_millis(200));
        Self { bar, names, now: Mutex::default() }
    }

    pub(super) fn show(&self, event: verify::Event) {
        let mut running = self.now.lock().unwrap_or_else(PoisonError::into_inner);
        match event {
            verify::Event::Installing(number) => drop(running.insert(number, "installing")),
            verify::Event::Checking(number) => drop(running.insert(number, "starting")),
            verify::Event::Done(number) => {
                running.remove(&number);
                self.bar.inc(1);
            }
        }
        let name = |number: usize| self.names.get(number).map_or("", String::as_str);
        let words: Vec<String> = running.iter().map(|(number, what)| format!("{what} {}", name(*number))).collect();
        self.bar.set_message(printable(&words.join(", ")).into_owned());
    }

    /// Takes it off the screen.
    pub(super) fn clear(&self) {
        self.bar.finish_and_clear();
    }
}

/// Shows the installations that are going on.
pub(super) struct Installs {
    bars: MultiProgress,
}

/// Shows one of them, until it is dropped.
pub(super) struct Install {
    bar: ProgressBar,
    name: String,
}

impl Installs {
    pub(super) fn new(ui: &Ui) -> Self {
        let target = if ui.may_show_progress() { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
        Self { bars: MultiProgress::with_draw_target(target) }
    }

    pub(super) fn start(&self, name: &str) -> Install {
        let bar = self.bars.add(ProgressBar::no_length()).with_style(style("{spinner} {msg} {elapsed}"));
        let name = printable(name).into_owned();
        bar.set_message(name.clone());
        bar.enable_steady_tick(Duration::from_millis(200));
        Install { bar, name }
    }
}

impl Install {
    pub(super) fn show(&self, progress: install::Progress) {
        match progress {
            install::Progress::Downloading(length) => {
                let known = "{msg} {wide_bar} {bytes:>10} of {total_bytes:10} {bytes_per_sec:>12} {eta:>4} left";
                let unknown = "{spinner} {msg} {bytes:>10} {bytes_per_sec:>12}";
                self.bar.set_style(style(if length.is_some() { known } else { unknown }));
                if let Some(length) = length {
                    self.bar.set_length(length);
                }
                self.bar.reset();
            }
            install::Progress::Received(count) => self.bar.inc(count),
            install::Progress::Unpacking => self.say("unpacking"),
            install::Progress::Running(tool) => self.say(&format!("{tool} is at work")),
        }
    }

    fn say(&self, what: &str) {
        self.bar.set_style(style("{spinner} {msg} {elapsed}"));
        self.bar.set_message(format!("{}: {what}", self.name));
    }
}

impl Drop for Install {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

fn style(template: &str) -> ProgressStyle {
    ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar())
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.questions.finish_and_clear();
    }
}

/// Shows how many files were sent.
pub(super) struct Sending {
    bar: ProgressBar,
}

impl Sending {
    pub(super) fn new(ui: &Ui) -> Self {
        let target = if ui.may_show_progress() { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
        let bar = ProgressBar::with_draw_target(Some(0), target);
        let bar = bar.with_style(style("{spinner} {pos} of {len} files {wide_bar} {elapsed}"));
        bar.enable_steady_tick(Duration::from_millis(200));
        Self { bar }
    }

    pub(super) fn plan(&self, count: usize) {
        self.bar.inc_length(count as u64);
    }

    pub(super) fn step(&self) {
        self.bar.inc(1);
    }

    /// Takes it off the screen.
    pub(super) fn clear(&self) {
        self.bar.finish_and_clear();
    }
}

//! Progress of long work, on a terminal only.

use std::time::Duration;

use acp_registry::survey::Event;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::ui::Ui;

/// Shows how far a survey is; nothing is left of it when it is done.
pub(super) struct Progress {
    questions: ProgressBar,
}

impl Progress {
    pub(super) fn new(ui: &Ui) -> Self {
        let target = if ui.may_show_progress() { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
        let style = ProgressStyle::with_template("{spinner} asking {pos}/{len} {wide_bar}");
        let style = style.unwrap_or_else(|_| ProgressStyle::default_bar());
        let questions = ProgressBar::with_draw_target(Some(0), target).with_style(style);
        questions.enable_steady_tick(Duration::from_millis(200));
        Self { questions }
    }

    pub(super) fn show(&self, event: Event) {
        match event {
            Event::Planned(count) => self.questions.inc_length(count as u64),
            Event::Answered => self.questions.inc(1),
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.questions.finish_and_clear();
    }
}

//! Asking the person which one is meant.

use std::io::{self, BufRead as _, IsTerminal as _, Read as _};

use super::exit::Failure;
use super::ui::Ui;

/// The longest answer that is read, in bytes.
const LIMIT: u64 = 1000;

/// How often an answer that means nothing is asked again.
const ATTEMPTS: usize = 3;

/// Whether there is somebody to ask.
pub(super) fn may_ask() -> bool {
    io::stdin().is_terminal() && io::stderr().is_terminal()
}

/// Shows a numbered list on stderr, and reads the answer. The items must be printable; returns the place of one.
pub(super) fn choose(question: &str, items: &[String], ui: &Ui) -> Result<usize, Failure> {
    let list: String = items.iter().enumerate().map(|(at, item)| format!("  {}  {item}\n", at + 1)).collect();
    ui.show(&format!("{question}\n{list}"));
    for _ in 0..ATTEMPTS {
        ui.show(&format!("1 to {}: ", items.len()));
        let mut answer = String::new();
        let read = io::stdin().lock().take(LIMIT).read_line(&mut answer).map_err(Failure::unable)?;
        if read == 0 {
            break;
        }
        match answer.trim().parse::<usize>() {
            Ok(number) if (1..=items.len()).contains(&number) => return Ok(number - 1),
            _ => {}
        }
    }
    Err(Failure::usage("nothing was chosen"))
}

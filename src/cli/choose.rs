//! Asking the person which one is meant.

use std::io::{self, BufRead as _, IsTerminal as _, Read as _};

use tokio::task::spawn_blocking;

use super::exit::Failure;
use super::signals;
use super::ui::Ui;

/// The longest answer that is read, in bytes.
const ANSWER_LIMIT: u64 = 1000;

/// How often an answer that means nothing is asked again.
const ATTEMPTS: usize = 3;

/// Whether a person can be asked.
pub(super) fn may_ask() -> bool {
    io::stdin().is_terminal() && io::stderr().is_terminal()
}

/// Shows a numbered list on stderr, and reads the answer: a number of the list, or a name in full. The items must be
/// printable, and begin the list of names, which may be longer. Returns the place of one name.
pub(super) fn choose(question: &str, items: &[String], names: &[&str], ui: &Ui) -> Result<usize, Failure> {
    let list: String = items.iter().enumerate().map(|(at, item)| format!("  {}  {item}\n", at + 1)).collect();
    signals::run_and_forget(async {
        ui.show(&format!("{question}\n{list}"));
        for _ in 0..ATTEMPTS {
            ui.show(&format!("1 to {}, or a name: ", items.len()));
            // Nothing can wake a thread that reads: when a signal ends the work, it is left behind.
            let answer = spawn_blocking(answer).await.map_err(Failure::unable)?.map_err(Failure::unable)?;
            let Some(answer) = answer else { break };
            if let Some(place) = place(answer.trim(), items.len(), names) {
                return Ok(place);
            }
        }
        Err(Failure::usage("nothing was chosen"))
    })?
}

/// One line of stdin; `None` at its end.
fn answer() -> io::Result<Option<String>> {
    let mut answer = Vec::new();
    let read = io::stdin().lock().take(ANSWER_LIMIT).read_until(b'\n', &mut answer)?;
    Ok((read > 0).then(|| String::from_utf8_lossy(&answer).into_owned()))
}

/// What an answer means. A number is always one of the list: no name can take its place.
fn place(answer: &str, numbers: usize, names: &[&str]) -> Option<usize> {
    match answer.parse::<usize>() {
        Ok(number) if (1..=numbers).contains(&number) => Some(number - 1),
        _ => names.iter().position(|name| !answer.is_empty() && *name == answer),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_counts_before_a_name_and_a_name_only_in_full() {
        let names = ["2", "login", "7", "", "beyond"];
        for (answer, expected) in [
            ("", None),
            ("0", None),
            ("log", None),
            ("LOGIN", None),
            ("-1", None),
            ("1", Some(0)),
            ("2", Some(1)),
            ("7", Some(2)),
            ("login", Some(1)),
            ("beyond", Some(4)),
        ] {
            assert_eq!(place(answer, 2, &names), expected, "{answer}");
        }
    }
}

//! Interactive choice between several items.

use std::io::{self, BufRead as _, Read as _};

use tokio::task::spawn_blocking;

use crate::terminal::signals;
use crate::terminal::ui::Ui;
use acp_registry::failure::Failure;
use acp_registry::text::quote;

/// The longest answer that is read, in bytes.
const ANSWER_LIMIT: u64 = 1000;

/// How often the question is repeated after an invalid answer.
const ATTEMPTS: usize = 3;

/// Shows a numbered list on stderr and reads the answer: a number in the list, or a full name. Returns the index of the
/// chosen name. `items` must be printable, and must correspond to the first names; there may be more names than items.
pub(crate) fn choose(question: &str, items: &[String], names: &[&str], ui: &Ui) -> Result<usize, Failure> {
    let list: String = items.iter().enumerate().map(|(at, item)| format!("  {}  {item}\n", at + 1)).collect();
    signals::run_and_forget(async {
        ui.show(&format!("{question}\n{list}"));
        for _ in 0..ATTEMPTS {
            ui.show(&format!("1 to {}, or a name: ", items.len()));
            // A blocking read cannot be cancelled: after a signal, its thread is abandoned.
            let answer = spawn_blocking(answer).await.map_err(Failure::unable)?.map_err(Failure::unable)?;
            let Some(answer) = answer else { break };
            if let Some(place) = place(answer.trim(), items.len(), names) {
                return Ok(place);
            }
            ui.show(&format!("{} is none of them\n", quote(answer.trim())));
        }
        Err(Failure::usage("nothing was chosen"))
    })?
}

/// Reads one line of stdin; `None` at end of file.
fn answer() -> io::Result<Option<String>> {
    let mut answer = Vec::new();
    let read = io::stdin().lock().take(ANSWER_LIMIT).read_until(b'\n', &mut answer)?;
    Ok((read > 0).then(|| String::from_utf8_lossy(&answer).into_owned()))
}

/// Returns the index that an answer selects. A number in the list always means that item, even if a name is equal to it.
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

//! Tells whether path data can enclose an area.

/// Whether path data consists of one move and one straight line.
pub(super) fn is_one_stroke(d: &str) -> bool {
    let mut commands = d.match_indices(|c: char| c.is_ascii_alphabetic() && !"eE".contains(c));
    let (Some((_, "M" | "m")), Some((at, command))) = (commands.next(), commands.next()) else { return false };
    let (next, end) = commands.next().map_or(("z", d.len()), |(at, command)| (command, at));
    let arguments = &d[at + 1..end];
    "Zz".contains(next)
        && match command {
            "H" | "h" | "V" | "v" => numbers(arguments) == 1,
            "L" | "l" => numbers(arguments) == 2,
            _ => false,
        }
}

/// Counts the numbers in path data without commands. A sign, a second decimal point, a comma or a space starts a new
/// number.
fn numbers(text: &str) -> usize {
    let (mut count, mut open, mut point) = (0, false, false);
    for c in text.chars() {
        let starts = match c {
            '0'..='9' => !open,
            '.' => !open || point,
            '-' | '+' => true,
            _ => false,
        };
        count += usize::from(starts);
        open = matches!(c, '0'..='9' | '.' | '-' | '+' | 'e' | 'E');
        point = open && (c == '.' || (point && !starts));
    }
    count
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_in_path_data_are_counted_as_viewers_do() {
        for (text, count) in
            [("14 14", 2), ("14-14", 2), (".5.5", 2), ("1e-5,2", 3), ("-1 -2 3", 3), ("", 0), ("1.5", 1)]
        {
            assert_eq!(numbers(text), count, "{text}");
        }
    }
}

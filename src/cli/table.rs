//! Tables for people.

use acp_registry::text::printable;

/// The widest column that is not the last, in characters.
const WIDEST: usize = 40;

/// Rows with aligned columns, without hidden characters, one line each.
pub(super) fn table<S: AsRef<str>>(header: &[&str], rows: &[impl AsRef<[S]>]) -> String {
    let length = |text: &str| text.chars().count();
    let mut widths: Vec<usize> = header.iter().map(|name| length(name)).collect();
    for row in rows {
        for (width, cell) in widths.iter_mut().zip(row.as_ref()) {
            *width = length(&printable(cell.as_ref())).min(WIDEST).max(*width);
        }
    }
    let mut out = String::new();
    let mut line = |cells: &mut dyn Iterator<Item = &str>| {
        let start = out.len();
        for (width, cell) in widths.iter().zip(cells) {
            let cell = printable(cell);
            out.push_str(&cell);
            let spaces = (width + 2).saturating_sub(length(&cell)).max(2);
            out.extend(std::iter::repeat_n(' ', spaces));
        }
        out.truncate(start + out[start..].trim_end().len());
        out.push('\n');
    };
    line(&mut header.iter().copied());
    for row in rows {
        line(&mut row.as_ref().iter().map(AsRef::as_ref));
    }
    out
}

/// Bytes, for people.
pub(super) fn bytes(count: u64) -> String {
    const UNITS: [&str; 4] = ["KiB", "MiB", "GiB", "TiB"];
    if count < 1024 {
        return format!("{count} B");
    }
    let mut unit = 0;
    // Tenths, rounded down, so that nothing is ever more than there is.
    let mut tenths = count * 10 / 1024;
    while tenths >= 10_240 && unit + 1 < UNITS.len() {
        tenths /= 1024;
        unit += 1;
    }
    format!("{}.{} {}", tenths / 10, tenths % 10, UNITS[unit])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_aligned_and_nothing_hides() {
        let rows =
            [vec!["a".to_owned(), "é\u{1b}".to_owned(), String::new()], vec!["long".into(), "x".into(), "y".into()]];
        let expected = "id    v        w\na     é\\u{1b}\nlong  x        y\n";
        assert_eq!(table(&["id", "v", "w"], &rows), expected);
        // A row of nothing stays a line.
        assert_eq!(table(&["id"], &[["a"], [""], ["b"]]), "id\na\n\nb\n");
    }

    #[test]
    fn sizes_are_read_by_people() {
        for (count, text) in
            [(0, "0 B"), (1023, "1023 B"), (1536, "1.5 KiB"), (805_000_000, "767.7 MiB"), (5 << 30, "5.0 GiB")]
        {
            assert_eq!(bytes(count), text);
        }
    }
}

//! Draws a starter icon for a new agent.

/// The size of one square of a letter, in user units of the 16×16 icon.
const SQUARE: u32 = 2;

/// The position of the letter.
const LEFT: u32 = (16 - WIDTH * SQUARE) / 2;
const TOP: u32 = 1;

/// An icon that passes all rules: the initial letter of an id, drawn with `currentColor`. An id that does not start
/// with a letter gets a square.
pub(super) fn starter_icon(id: &str) -> String {
    let initial = id.bytes().next().map(|byte| byte.to_ascii_lowercase()).filter(u8::is_ascii_lowercase);
    let shapes =
        initial.map_or_else(|| "M3 3h10v10h-10z".to_owned(), |letter| shapes(LETTERS[usize::from(letter - b'a')]));
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"16\" height=\"16\" viewBox=\"0 0 16 16\">\n  \
         <path fill=\"currentColor\" d=\"{shapes}\"/>\n</svg>\n"
    )
}

/// Path data with a rectangle for each horizontal run of filled squares.
fn shapes(rows: [u8; 7]) -> String {
    let mut shapes = String::new();
    for (row, bits) in (0_u32..).zip(rows) {
        let is_filled = |column: u32| bits & (1 << (WIDTH - 1 - column)) != 0;
        let mut column = 0;
        while column < WIDTH {
            let end = (column..WIDTH).find(|&at| !is_filled(at)).unwrap_or(WIDTH);
            if end > column {
                let (x, y, width) = (LEFT + column * SQUARE, TOP + row * SQUARE, (end - column) * SQUARE);
                shapes.push_str(&format!("M{x} {y}h{width}v{SQUARE}h-{width}z"));
            }
            column = end + 1;
        }
    }
    shapes
}

/// Width of a letter, in squares.
pub(super) const WIDTH: u32 = 5;

/// The letters A to Z as rows from top to bottom. Each bit is a square; the highest of the 5 bits is the leftmost.
#[rustfmt::skip]
pub(super) const LETTERS: [[u8; 7]; 26] = [
    [0b01110, 0b10001, 0b10001, 0b11111, 0b10001, 0b10001, 0b10001], // A
    [0b11110, 0b10001, 0b10001, 0b11110, 0b10001, 0b10001, 0b11110], // B
    [0b01111, 0b10000, 0b10000, 0b10000, 0b10000, 0b10000, 0b01111], // C
    [0b11110, 0b10001, 0b10001, 0b10001, 0b10001, 0b10001, 0b11110], // D
    [0b11111, 0b10000, 0b10000, 0b11110, 0b10000, 0b10000, 0b11111], // E
    [0b11111, 0b10000, 0b10000, 0b11110, 0b10000, 0b10000, 0b10000], // F
    [0b01111, 0b10000, 0b10000, 0b10011, 0b10001, 0b10001, 0b01111], // G
    [0b10001, 0b10001, 0b10001, 0b11111, 0b10001, 0b10001, 0b10001], // H
    [0b11111, 0b00100, 0b00100, 0b00100, 0b00100, 0b00100, 0b11111], // I
    [0b00111, 0b00001, 0b00001, 0b00001, 0b00001, 0b10001, 0b01110], // J
    [0b10001, 0b10010, 0b10100, 0b11000, 0b10100, 0b10010, 0b10001], // K
    [0b10000, 0b10000, 0b10000, 0b10000, 0b10000, 0b10000, 0b11111], // L
    [0b10001, 0b11011, 0b10101, 0b10101, 0b10001, 0b10001, 0b10001], // M
    [0b10001, 0b11001, 0b10101, 0b10011, 0b10001, 0b10001, 0b10001], // N
    [0b01110, 0b10001, 0b10001, 0b10001, 0b10001, 0b10001, 0b01110], // O
    [0b11110, 0b10001, 0b10001, 0b11110, 0b10000, 0b10000, 0b10000], // P
    [0b01110, 0b10001, 0b10001, 0b10001, 0b10101, 0b10010, 0b01101], // Q
    [0b11110, 0b10001, 0b10001, 0b11110, 0b10100, 0b10010, 0b10001], // R
    [0b01111, 0b10000, 0b10000, 0b01110, 0b00001, 0b00001, 0b11110], // S
    [0b11111, 0b00100, 0b00100, 0b00100, 0b00100, 0b00100, 0b00100], // T
    [0b10001, 0b10001, 0b10001, 0b10001, 0b10001, 0b10001, 0b01110], // U
    [0b10001, 0b10001, 0b10001, 0b10001, 0b01010, 0b01010, 0b00100], // V
    [0b10001, 0b10001, 0b10001, 0b10101, 0b10101, 0b11011, 0b10001], // W
    [0b10001, 0b10001, 0b01010, 0b00100, 0b01010, 0b10001, 0b10001], // X
    [0b10001, 0b10001, 0b01010, 0b00100, 0b00100, 0b00100, 0b00100], // Y
    [0b11111, 0b00001, 0b00010, 0b00100, 0b01000, 0b10000, 0b11111], // Z
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_letter_stays_inside_the_icon() {
        for letter in 'a'..='z' {
            let icon = starter_icon(&letter.to_string());
            let numbers = icon.split("d=\"").nth(1).unwrap().split('"').next().unwrap();
            for corner in numbers.split('M').skip(1) {
                let (x, rest) = corner.split_once(' ').unwrap();
                let (y, rest) = rest.split_once('h').unwrap();
                let width: u32 = rest.split('v').next().unwrap().parse().unwrap();
                let (x, y): (u32, u32) = (x.parse().unwrap(), y.parse().unwrap());
                assert!(x >= 3 && x + width <= 13 && y >= 1 && y + SQUARE <= 15, "{letter}: {corner}");
            }
        }
        assert_eq!(starter_icon("l"), starter_icon("lemon"));
        assert!(starter_icon("7").contains("M3 3h10v10h-10z"));
    }
}

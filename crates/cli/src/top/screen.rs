//! As much of a text as a terminal shows: what is longer would push its beginning out of sight.

use std::io::{self, Write};

use terminal_size::{Height, Width, terminal_size_of};

use crate::text::many;

/// A terminal whose size nobody knows.
const SIZE: Size = Size { rows: 24, columns: 80 };

/// Rows and columns.
#[derive(Debug, Clone, Copy)]
pub struct Size {
    rows: usize,
    columns: usize,
}

impl Size {
    /// That of the terminal that standard output is.
    pub fn of_output() -> Self {
        terminal_size_of(io::stdout())
            .map_or(SIZE, |(Width(columns), Height(rows))| Size { rows: rows.into(), columns: columns.into() })
    }
}

/// Writes as much of these runs, each some lines, as there is room for, and how many are not shown.
pub fn write(runs: &[String], size: Size, out: &mut dyn Write) -> io::Result<()> {
    let lines: Vec<_> = runs.iter().enumerate().flat_map(|(run, text)| text.lines().map(move |it| (run, it))).collect();
    let hidden = |rows: usize| runs.len() - lines[..rows.min(lines.len())].last().map_or(0, |(run, _)| run + 1);
    // The cursor stands in the last one.
    let rows = size.rows.saturating_sub(1);
    let rows = if hidden(rows) == 0 { rows } else { rows.saturating_sub(1) };
    let note = match hidden(rows) {
        0 => None,
        hidden => Some(format!("{} not shown", many(hidden as u64, "run"))),
    };
    let texts = lines.iter().take(rows).map(|(_, line)| *line).chain(note.as_deref());
    for (row, text) in texts.enumerate() {
        // Where it is the only row, another line would push it out of sight.
        let end = if row + 1 < size.rows { "\n" } else { "" };
        write!(out, "{}{end}", cut(text, size.columns))?;
    }
    Ok(())
}

/// The beginning of a line that these columns have room for. Of other scripts than those that are old to
/// terminals it is not known which letters take two: each is taken to.
fn cut(line: &str, columns: usize) -> &str {
    const PERHAPS_WIDE: char = '\u{1100}';
    let mut taken = 0;
    let end = line.char_indices().find(|(_, letter)| {
        taken += if *letter < PERHAPS_WIDE { 1 } else { 2 };
        taken > columns
    });
    end.map_or(line, |(at, _)| &line[..at])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(runs: &[&str], rows: usize, columns: usize) -> String {
        let runs: Vec<_> = runs.iter().map(|&run| run.to_owned()).collect();
        let mut out = Vec::new();
        write(&runs, Size { rows, columns }, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn what_has_no_room_is_cut_and_runs_that_are_not_shown_are_counted() {
        let runs = ["1 cat\n  reads\n\n", "2 sed\n  reads\n\n", "3 awk\n  reads\n\n"];
        assert_eq!(shown(&runs, 24, 80), runs.concat());
        assert_eq!(shown(&runs, 10, 80), runs.concat());
        // Of the last one the end is missing, but it is shown.
        assert_eq!(shown(&runs, 9, 80), "1 cat\n  reads\n\n2 sed\n  reads\n\n3 awk\n  reads\n");
        assert_eq!(shown(&runs, 7, 80), "1 cat\n  reads\n\n2 sed\n  reads\n1 run not shown\n");
        assert_eq!(shown(&runs, 3, 5), "1 cat\n2 run\n");
        assert_eq!(shown(&runs, 2, 80), "3 runs not shown\n");
        assert_eq!(shown(&runs, 1, 80), "3 runs not shown");
        for rows in 0..3 {
            assert!(shown(&runs, rows, 80).lines().count() < rows.max(2));
        }
    }

    #[test]
    fn lines_are_cut_at_letters() {
        for (line, columns, is) in
            [("abc", 3, "abc"), ("abc", 2, "ab"), ("äöü", 2, "äö"), ("日本語", 5, "日本"), ("a", 0, "")]
        {
            assert_eq!(cut(line, columns), is, "{line} in {columns}");
        }
    }
}

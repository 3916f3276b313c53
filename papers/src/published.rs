//! A paper's published numbers, as data.
//!
//! A CSV file with one number a line, without quotes, so without commas in names:
//!
//! ```text
//! experiment,cell,value,unit,source
//! X11 includes,no TIP; 1 disk,3.21,s,Table 1
//! ```

/// One number.
#[derive(Debug, Clone, PartialEq)]
struct Entry {
    experiment: String,
    cell: String,
    value: f64,
    unit: String,
}

/// The numbers of one paper.
#[derive(Debug, Clone, Default)]
pub struct Published {
    entries: Vec<Entry>,
}

impl Published {
    /// From the text of a CSV file.
    ///
    /// # Errors
    /// If a line is none of five fields, names no source or holds no number, or two lines are of
    /// one cell.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut entries: Vec<Entry> = Vec::new();
        for (line, number) in text.lines().zip(1..).skip(1).filter(|(line, _)| !line.is_empty()) {
            let bad = |what: &str| format!("published numbers, line {number}: '{line}' {what}");
            let fields: Vec<&str> = line.split(',').collect();
            let [experiment, cell, value, unit, source] = fields[..] else { return Err(bad("has not five fields")) };
            let value = value.parse().map_err(|_| bad("holds no number"))?;
            if source.is_empty() {
                return Err(bad("names no source"));
            }
            let [experiment, cell, unit] = [experiment, cell, unit].map(str::to_owned);
            if entries.iter().any(|entry| entry.experiment == experiment && entry.cell == cell) {
                return Err(bad("is of a cell that was there before"));
            }
            entries.push(Entry { experiment, cell, value, unit });
        }
        Ok(Published { entries })
    }

    /// What was published of a cell, in this unit.
    pub fn value(&self, experiment: &str, cell: &str, unit: &str) -> Option<f64> {
        let is_it = |entry: &&Entry| entry.experiment == experiment && entry.cell == cell && entry.unit == unit;
        self.entries.iter().find(is_it).map(|entry| entry.value)
    }

    /// Every (experiment, cell, unit), in the order of the file.
    pub fn cells(&self) -> impl Iterator<Item = (&str, &str, &str)> {
        self.entries.iter().map(|entry| (entry.experiment.as_str(), entry.cell.as_str(), entry.unit.as_str()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_is_found_by_its_cell() {
        let published = Published::parse("experiment,cell,value,unit,source\na,b; c,1.5,s,Table 1\n").unwrap();
        assert_eq!(published.value("a", "b; c", "s"), Some(1.5));
        assert_eq!(published.value("a", "b; c", "ms"), None);
        assert_eq!(published.value("a", "b", "s"), None);
        assert_eq!(published.cells().collect::<Vec<_>>(), [("a", "b; c", "s")]);
    }

    #[test]
    fn what_is_no_number_with_a_source_is_refused() {
        let error = |line: &str| Published::parse(&format!("header\n{line}\n")).unwrap_err();
        assert!(error("a,b,1,s").contains("line 2: 'a,b,1,s' has not five fields"));
        assert!(error("a,b,x,s,Table 1").contains("no number"));
        assert!(error("a,b,1,s,").contains("no source"));
        assert!(error("a,b,1,s,T\na,b,2,s,T").contains("line 3"));
    }
}

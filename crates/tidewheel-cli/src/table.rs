//! [`Table`]: rows whose columns stand under each other.
//!
//! Cells are made harmless by whoever fills them.

use std::fmt;

use tidewheel_client::text::columns;

/// Rows whose columns stand under each other.
#[derive(Debug)]
pub(crate) struct Table<const N: usize> {
    rows: Vec<[String; N]>,
}

impl<const N: usize> Table<N> {
    pub fn new(heads: [&str; N]) -> Self {
        Self { rows: vec![heads.map(str::to_owned)] }
    }

    pub fn row(&mut self, cells: [String; N]) {
        self.rows.push(cells);
    }
}

impl<const N: usize> fmt::Display for Table<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let width = |column: usize| {
            let cells = self.rows.iter().map(|row| columns(&row[column]));
            cells.max().unwrap_or_default()
        };
        let widths: [usize; N] = std::array::from_fn(width);
        for (number, row) in self.rows.iter().enumerate() {
            if number > 0 {
                writeln!(f)?;
            }
            let mut line = String::new();
            for (cell, width) in row.iter().zip(widths) {
                line.push_str(cell);
                line.extend(std::iter::repeat_n(' ', width - columns(cell) + 2));
            }
            f.write_str(line.trim_end())?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_stand_under_each_other() {
        let mut table = Table::new(["A", "LONG"]);
        table.row(["wide".to_owned(), "x".to_owned()]);
        assert_eq!(table.to_string(), "A     LONG\nwide  x");
    }
}

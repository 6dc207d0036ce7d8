//! Histories as .csv: one row per iteration, one column per field of a record.

use std::io::{self, Write};

use codiag::Record;

/// Writes the history of one solve.
pub fn write(out: &mut dyn Write, records: &[Record]) -> io::Result<()> {
    let mut table = csv::Writer::from_writer(out);
    for record in records {
        table.serialize(record)?;
    }
    table.flush()
}

/// Writes the histories of several solves to one table. The first columns of each row identify its
/// solve.
pub fn write_labelled<'a, L: serde::Serialize>(
    out: &mut dyn Write,
    columns: &[&str],
    rows: impl IntoIterator<Item = (L, &'a Record)>,
) -> io::Result<()> {
    // Serde cannot combine the labels and the fields of a record into one header.
    let mut table = csv::WriterBuilder::new()
        .has_headers(false)
        .from_writer(out);
    for (k, (labels, record)) in rows.into_iter().enumerate() {
        if k == 0 {
            let fields = record.fields();
            let names = fields.iter().map(|(name, _)| *name);
            table.write_record(columns.iter().copied().chain(names))?;
        }
        table.serialize((labels, record))?;
    }
    table.flush()
}

#[cfg(test)]
mod tests {
    use codiag::{Settings, diagonalize, synthetic};

    #[test]
    fn header_has_the_fields_of_a_record() {
        let set = synthetic::noisy(20, 3, 0.1, 0);
        let history = diagonalize(&set, &Settings::default()).unwrap().history;
        let names = history[0].fields().map(|(name, _)| name).join(",");
        let mut plain = Vec::new();
        super::write(&mut plain, &history).unwrap();
        let plain = String::from_utf8(plain).unwrap();
        assert_eq!(plain.lines().next().unwrap(), names);
        assert_eq!(plain.lines().count(), history.len() + 1);
        // Numbers are written with full precision.
        let second = plain.lines().nth(1).unwrap().split(',').nth(4).unwrap();
        assert_eq!(second.parse(), Ok(history[0].loss));

        let mut labelled = Vec::new();
        let rows = history.iter().map(|record| (("b", 7), record));
        super::write_labelled(&mut labelled, &["experiment", "seed"], rows).unwrap();
        let labelled = String::from_utf8(labelled).unwrap();
        let expected: Vec<String> = std::iter::once(format!("experiment,seed,{names}"))
            .chain(plain.lines().skip(1).map(|line| format!("b,7,{line}")))
            .collect();
        assert_eq!(labelled.lines().collect::<Vec<_>>(), expected);
    }
}

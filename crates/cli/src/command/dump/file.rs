//! Prints the records of a single database file as text.

use std::io;

use sstkit_inspect::{
    BatchOperation, BatchRecord, FileRecord, LogSettings, ProblemRecord, TransactionMarker,
};

use super::manifest;
use crate::output::page::{BAD, FAINT, HEADING};
use crate::output::{Page, records, units};

pub(super) fn print(page: &mut Page, record: &FileRecord<'_>) -> io::Result<()> {
    match record {
        FileRecord::LogSettings(settings) => print_settings(page, settings),
        FileRecord::Batch(batch) => print_batch(page, batch),
        FileRecord::Edit(edit) => manifest::print_edit(page, edit),
        FileRecord::State(state) => manifest::print_state(page, state),
        FileRecord::Section(section) => {
            let title = match &section.name {
                Some(name) => format!("[{} \"{name}\"]", section.kind),
                None => format!("[{}]", section.kind),
            };
            page.styled_line(HEADING, title)?;
            section.options.iter().try_for_each(|(name, value)| writeln!(page, "  {name}={value}"))
        }
        FileRecord::Current { manifest } => writeln!(page, "{manifest}"),
        FileRecord::Identity { db_id } => writeln!(page, "{db_id}"),
        FileRecord::BlobHeader(header) => writeln!(
            page,
            "header: column family {}, compression {}, {} in all",
            header.column_family,
            header.compression,
            units::size(header.size)
        ),
        FileRecord::Blob(blob) => {
            let place = page.paint(
                FAINT,
                format!("{} {} {} ", blob.offset, blob.value_offset, blob.stored_size),
            );
            writeln!(page, "{place}{} => {}", blob.key, blob.value)
        }
        FileRecord::BlobFooter { blobs } => {
            writeln!(page, "footer: {}", units::counted(*blobs, "value"))
        }
        FileRecord::Problem(problem) => print_problem(page, problem),
        _ => Ok(()),
    }
}

fn print_settings(page: &mut Page, settings: &LogSettings) -> io::Result<()> {
    let mut texts = Vec::new();
    if settings.compressed {
        texts.push("compressed".to_owned());
    }
    if settings.recycled {
        texts.push("recyclable".to_owned());
    }
    for (family, size) in &settings.timestamp_sizes {
        texts.push(format!("timestamps of {size} bytes in column family {family}"));
    }
    if let Some(number) = settings.predecessor {
        texts.push(format!(
            "follows {number:06}.log of {} bytes, last sequence number {}",
            settings.predecessor_size.unwrap_or(0),
            settings.predecessor_last_seq.unwrap_or(0)
        ));
    }
    writeln!(page, "records: {}", texts.join(", "))
}

fn print_batch(page: &mut Page, batch: &BatchRecord<'_>) -> io::Result<()> {
    let place = match batch.fragment_count {
        1 => format!("{} bytes", batch.length),
        count => {
            let mut shown: Vec<String> = batch
                .fragments
                .iter()
                .map(|fragment| format!("{}+{}", fragment.offset, fragment.length))
                .collect();
            if count > batch.fragments.len() as u64 {
                shown.push("…".into());
            }
            format!("{} bytes in {count} fragments: {}", batch.length, shown.join(", "))
        }
    };
    let writes = units::counted(batch.count.into(), "write");
    let title = page.paint(HEADING, format!("batch at {}", batch.offset));
    writeln!(
        page,
        "{title}  sequence number {}, {writes}, {} bytes ({place})",
        batch.seq, batch.bytes
    )?;
    for operation in batch.operations.iter() {
        match operation {
            BatchOperation::Write(write) => {
                let family = write.column_family.unwrap_or(0);
                write!(page, "  ")?;
                if family > 0 {
                    write!(page, "[{family}] ")?;
                }
                records::print(page, &write)?;
            }
            BatchOperation::Marker(marker) => print_marker(page, &marker)?,
            _ => {}
        }
    }
    Ok(())
}

fn print_marker(page: &mut Page, marker: &TransactionMarker) -> io::Result<()> {
    write!(page, "  {}", marker.kind.replace('_', " "))?;
    for text in [&marker.xid, &marker.data].into_iter().flatten() {
        write!(page, " {text}")?;
    }
    if let Some(timestamp) = &marker.timestamp {
        write!(page, " @{timestamp}")?;
    }
    writeln!(page)
}

fn print_problem(page: &mut Page, problem: &ProblemRecord) -> io::Result<()> {
    let mut text = String::new();
    if let Some(offset) = problem.offset.filter(|_| problem.skipped.is_some()) {
        text.push_str(&format!("at {offset}: "));
    }
    text.push_str(&problem.message);
    if let Some(skipped) = problem.skipped.filter(|&bytes| bytes > 0) {
        text.push_str(&format!("; {skipped} bytes skipped"));
    }
    page.styled_line(BAD, text)
}

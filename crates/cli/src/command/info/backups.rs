//! Prints the description of a folder of backups.

use std::io;

use sstkit_inspect::BackupFolderInfo;

use crate::output::page::{BAD, HEADING};
use crate::output::{Align, Grid, Page, units};

pub(super) fn print(page: &mut Page, info: &BackupFolderInfo) -> io::Result<()> {
    let title = page.paint(HEADING, &info.file);
    writeln!(page, "{title}  {}", units::size(info.size))?;
    let mut grid = Grid::pairs();
    grid.pair("kind", info.kind);
    grid.pair("backups", units::count(info.entries));
    grid.print(page)?;
    let mut grid = Grid::new(&[
        ("backup", Align::Right),
        ("made on", Align::Left),
        ("sequence number", Align::Right),
        ("files", Align::Right),
        ("size", Align::Right),
        ("not in older ones", Align::Right),
        ("metadata", Align::Shorten),
    ])
    .indent(2);
    for backup in &info.backups {
        grid.row([
            backup.id.to_string(),
            backup.timestamp.map(units::date).unwrap_or_default(),
            backup.seq.map(|it| it.to_string()).unwrap_or_default(),
            units::count(backup.files),
            units::size(backup.size),
            units::size(backup.new_bytes),
            backup.app_metadata.clone().unwrap_or_default(),
        ]);
    }
    writeln!(page)?;
    grid.print(page)?;
    info.problems.iter().try_for_each(|it| page.styled_line(BAD, &it.message))
}

//! A limit on file sizes: the system ends the writer at that byte (`SIGXFSZ`), or the write fails.

use std::os::unix::process::ExitStatusExt;
use std::process::Command;

use sstkit_testkit::faults::Kind;

use crate::state::{Found, Place, places};

/// Bytes in a unit of `ulimit -f`.
const UNIT: u64 = 512;

/// Runs the writer in a shell that sets the limit, `units` of 512 bytes.
fn limited(place: &Place, units: u64, refuse: bool) -> std::process::Output {
    let trap = if refuse { "trap '' XFSZ; " } else { "" };
    let script = format!("{trap}ulimit -f {units}; exec \"$0\" \"$@\"");
    let writer = place.command();
    let mut command = Command::new("sh");
    command.arg("-c").arg(script).arg(writer.get_program()).args(writer.get_args());
    command.output().unwrap()
}

#[test]
fn files_of_limited_size() {
    let (mut ended, mut refused) = (0, 0);
    for (kind, _) in Kind::ALL {
        for (work, before) in places(kind, 6000, 2) {
            for units in [0, 1, 40, 95, 200] {
                for refuse in [false, true] {
                    let place = Place::new(&work, before);
                    let what = format!("{kind:?} {before:?}, up to {} bytes", units * UNIT);
                    let output = limited(&place, units, refuse);
                    let found = place.check(&what);
                    if output.status.success() {
                        assert_eq!(found, Found::New, "{what}");
                        continue;
                    }
                    assert_ne!(found, Found::New, "{what}: {output:?}");
                    if refuse {
                        assert_eq!(output.status.code(), Some(1), "{what}: {output:?}");
                        place.check_clean(&what);
                        refused += 1;
                    } else {
                        assert!(output.status.signal().is_some(), "{what}: {output:?}");
                        ended += 1;
                    }
                    place.run_again(found, &what);
                }
            }
        }
    }
    println!("{ended} writers ended at a byte, {refused} writes refused");
    assert!(ended > 0 && refused > 0);
}

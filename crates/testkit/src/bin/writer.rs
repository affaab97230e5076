//! `writer kind,seed,count,threads,replace,pause OUT`: writes, says how far it is, and may be killed.

use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use sstkit_testkit::faults::Work;

fn say(text: &str) {
    // The parent may have exited, or this may be the write that is made to fail.
    let _ = writeln!(io::stdout(), "{text}").and_then(|()| io::stdout().flush());
}

fn main() -> ExitCode {
    let mut arguments = std::env::args_os().skip(1);
    let work = arguments.next().and_then(|work| work.to_str()?.parse::<Work>().ok());
    let (Some(work), Some(out)) = (work, arguments.next().map(PathBuf::from)) else {
        say("writer kind,seed,count,threads,replace,pause OUT");
        return ExitCode::from(2);
    };
    match work.run(&out, &say) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            say(&format!("failed: {error}"));
            ExitCode::FAILURE
        }
    }
}

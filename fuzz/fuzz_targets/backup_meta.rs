#![no_main]
libfuzzer_sys::fuzz_target!(|data: &[u8]| sstkit_fuzzing::backup_meta(data));

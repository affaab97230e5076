#![no_main]
libfuzzer_sys::fuzz_target!(|data: &[u8]| sstkit_fuzzing::salvage_table(data));

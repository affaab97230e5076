//! x86-64: AVX2, and AVX-512 where it is significantly faster.

mod avx2;
mod avx512;
mod avx512_probes;

pub(crate) use avx2::Avx2;
pub(crate) use avx512::Avx512;

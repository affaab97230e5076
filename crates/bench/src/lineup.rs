//! Who is measured.

use xorf::{BinaryFuse8, Xor8};

use crate::candidate::{
    Candidate, FastBloom, FastLocalBloom, FoldHash, FullFilter, LegacyBloom, LevelDbBloom,
    Ribbon128, SipHash, XorFilter,
};
use crate::keys::Keys;
use crate::subject::{Many, One, Subject};

/// One kind of filter. The rest of the crate knows it by these functions alone.
#[derive(Clone, Copy, Debug)]
pub struct Entrant {
    /// What the tables call it.
    pub name: &'static str,
    /// Whether [`Mode::Batch`](crate::Mode::Batch) differs from probing one by one.
    pub batches: bool,
    /// One filter of all keys.
    pub build: fn(&Keys) -> Box<dyn Subject>,
    /// This number of filters, each of one of the sets of keys.
    pub build_many: fn(&[Keys], usize) -> Box<dyn Subject>,
}

impl Entrant {
    const fn new<C: Candidate + 'static>() -> Self {
        Self {
            name: C::NAME,
            batches: C::BATCHES,
            build: |keys| Box::new(One::<C>::build(keys)),
            build_many: |sets, filters| Box::new(Many::<C>::build(sets, filters)),
        }
    }
}

/// All of them, in the order of the tables: ours, then the peers.
pub const LINEUP: [Entrant; 8] = [
    Entrant::new::<LevelDbBloom>(),
    Entrant::new::<FullFilter<LegacyBloom>>(),
    Entrant::new::<FullFilter<FastLocalBloom>>(),
    Entrant::new::<FullFilter<Ribbon128>>(),
    Entrant::new::<FastBloom<SipHash>>(),
    Entrant::new::<FastBloom<FoldHash>>(),
    Entrant::new::<XorFilter<BinaryFuse8>>(),
    Entrant::new::<XorFilter<Xor8>>(),
];

/// The peers that ratios are taken against: the Bloom filter, and the one that is solved like a Ribbon.
pub const PEERS: [&str; 2] = ["fastbloom", "binary_fuse8"];

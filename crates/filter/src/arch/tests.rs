//! Every kernel of this machine against the scalar one.

use proptest::prelude::*;

use super::*;

const MAX_PROBES: u8 = 30;

fn answer(kernel: Kernel, block: &Block, x: u32, num_probes: u8) -> bool {
    kernel.bloom_contains(std::slice::from_ref(block), u64::from(x) << 32, num_probes)
}

/// A block with exactly the bits of `x`, and the same with each one of them cleared.
#[test]
fn each_single_bit_counts() {
    let kernel = Kernel::best();
    let mut x = 1u32;
    for _ in 0..if cfg!(miri) { 5 } else { 500 } {
        x = x.wrapping_mul(747_796_405).wrapping_add(2_891_336_453);
        for num_probes in 1..=MAX_PROBES {
            let mut block = [0; 64];
            scalar::insert(&mut block, x, num_probes);
            assert!(answer(kernel, &block, x, num_probes));
            for bit in 0..512 {
                let mask = 1 << (bit % 8);
                if block[bit / 8] & mask != 0 {
                    block[bit / 8] ^= mask;
                    assert!(!answer(kernel, &block, x, num_probes), "{x:#x} {num_probes} {bit}");
                    block[bit / 8] ^= mask;
                }
            }
        }
    }
}

#[test]
fn no_blocks_may_contain_anything() {
    let mut answers = [false; 1];
    Kernel::best().bloom_contains_batch(&[], &[7], 6, &mut answers);
    assert!(answers[0]);
    assert!(Kernel::best().bloom_contains(&[], 7, 6));
    Kernel::best().bloom_insert_all(&mut [], &[7], 6);
}

proptest! {
    #[test]
    fn kernels_agree(
        // Blocks from sparse to nearly full, so that both answers are common.
        seeds in prop::collection::vec((any::<[u8; 32]>(), any::<[u8; 32]>(), 0u8..4), 1..5),
        hashes in prop::collection::vec(any::<u64>(), 0..100),
        num_probes in 0..=MAX_PROBES,
    ) {
        let blocks: Vec<Block> = seeds
            .iter()
            .map(|(low, high, density)| {
                let mut block = [0; 64];
                block[..32].copy_from_slice(low);
                block[32..].copy_from_slice(high);
                let turned = block;
                for (i, byte) in block.iter_mut().enumerate() {
                    for step in 1..=usize::from(*density) {
                        *byte |= turned[(i + 11 * step) % 64];
                    }
                }
                block
            })
            .collect();
        let expected: Vec<bool> = hashes
            .iter()
            .map(|&hash| Kernel::Scalar.bloom_contains(&blocks, hash, num_probes))
            .collect();
        for kernel in [Kernel::Scalar, Kernel::best()] {
            let single: Vec<bool> =
                hashes.iter().map(|&hash| kernel.bloom_contains(&blocks, hash, num_probes)).collect();
            prop_assert_eq!(&single, &expected);
            let mut batch = vec![false; hashes.len()];
            kernel.bloom_contains_batch(&blocks, &hashes, num_probes, &mut batch);
            prop_assert_eq!(&batch, &expected);
        }
    }

    #[test]
    fn kernels_agree_on_equations(
        segments in prop::collection::vec(any::<Segment>(), 0..90),
        columns in 0usize..=32,
        row in any::<u128>(),
        shift in 0..128u32,
        // The column that does not hold, if it is one.
        wrong in 0usize..40,
    ) {
        let under = |half: u128, at: usize| {
            segments.get(at).map_or(0, |segment| u128::from_le_bytes(*segment) & half)
        };
        let result = (0..columns).fold(0, |result, column| {
            let [low, high] = [row << shift, row.unbounded_shr(128 - shift)];
            let terms = under(low, column) ^ under(high, columns + column);
            result | (terms.count_ones() & 1 ^ u32::from(column == wrong)) << column
        });
        for kernel in [Kernel::Scalar, Kernel::best()] {
            let holds = kernel.ribbon_holds(&segments, columns, row, shift, result);
            prop_assert_eq!(holds, wrong >= columns);
        }
    }

    #[test]
    fn kernels_set_the_same_bits(
        num_blocks in 1usize..40,
        hashes in prop::collection::vec(any::<u64>(), 1..200),
        num_probes in 1..=MAX_PROBES,
    ) {
        let [expected, blocks] = [Kernel::Scalar, Kernel::best()].map(|kernel| {
            let mut blocks = vec![[0; 64]; num_blocks];
            kernel.bloom_insert_all(&mut blocks, &hashes, num_probes);
            blocks
        });
        prop_assert_eq!(&blocks, &expected);
        let mut answers = vec![false; hashes.len()];
        Kernel::best().bloom_contains_batch(&blocks, &hashes, num_probes, &mut answers);
        prop_assert!(answers.iter().all(|&answer| answer));
    }
}

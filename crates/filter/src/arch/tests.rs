//! Compares all kernels of this machine with the scalar one.

use proptest::prelude::*;

use super::*;

const MAX_PROBES: u8 = 30;

impl Kernel {
    /// All kernels that this machine supports.
    fn all() -> Vec<Self> {
        let mut kernels = vec![Self::Scalar];
        #[cfg(target_arch = "x86_64")]
        kernels.extend(x86_64::Avx2::new().map(Self::Avx2));
        #[cfg(target_arch = "x86_64")]
        kernels.extend(x86_64::Avx512::new().map(Self::Avx512));
        #[cfg(target_arch = "aarch64")]
        kernels.extend(aarch64::Neon::new().map(Self::Neon));
        kernels
    }
}

fn answer(kernel: Kernel, block: &BloomBlock, x: u32, num_probes: u8) -> bool {
    kernel.bloom_contains(block, x, Probes::new(num_probes))
}

/// A block with exactly the bits of `x` passes. With any one of them cleared, it fails.
#[test]
fn every_bit_matters() {
    let kernels = Kernel::all();
    let mut x = 1u32;
    for _ in 0..if cfg!(miri) { 5 } else { 500 } {
        x = x.wrapping_mul(747_796_405).wrapping_add(2_891_336_453);
        for (num_probes, &kernel) in
            (1..=MAX_PROBES).flat_map(|n| kernels.iter().map(move |k| (n, k)))
        {
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
    Kernel::best().bloom_contains_batch(&[], &[7], Probes::new(6), &mut answers);
    assert!(answers[0]);
    Kernel::best().bloom_insert_all(&mut [], &[7], 6, false);
}

proptest! {
    #[test]
    fn kernels_agree(
        // Blocks from sparse to nearly full, so that both results are common.
        seeds in prop::collection::vec((any::<[u8; 32]>(), any::<[u8; 32]>(), 0u8..4), 1..5),
        hashes in prop::collection::vec(any::<u64>(), 0..100),
        num_probes in 0..=MAX_PROBES,
    ) {
        let blocks: Vec<BloomBlock> = seeds
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
        let each = |kernel: Kernel| -> Vec<bool> {
            let one = |&hash: &u64| {
                let block = &blocks[block_index(&blocks, hash)];
                answer(kernel, block, (hash >> 32) as u32, num_probes)
            };
            hashes.iter().map(one).collect()
        };
        let expected = each(Kernel::Scalar);
        for kernel in Kernel::all() {
            prop_assert_eq!(&each(kernel), &expected);
            let mut batch = vec![false; hashes.len()];
            kernel.bloom_contains_batch(&blocks, &hashes, Probes::new(num_probes), &mut batch);
            prop_assert_eq!(&batch, &expected);
        }
    }

    #[test]
    fn kernels_agree_on_equations(
        segments in prop::collection::vec(any::<Segment>(), 0..90),
        columns in 0usize..=32,
        row in any::<u128>(),
        shift in 0..128u32,
        // The column that is wrong, if it exists.
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
        for kernel in Kernel::all() {
            let holds = kernel.ribbon_holds(&segments, columns, row, shift, result);
            prop_assert_eq!(holds, wrong >= columns);
        }
    }

    #[test]
    fn kernels_agree_on_solutions(
        slots in prop::collection::vec((any::<Option<Row>>(), any::<u32>()), 0..=64),
        columns in prop::collection::vec(any::<(u64, u64)>(), 0..=32),
    ) {
        // An empty slot has no coefficients and no result.
        let (rows, results): (Vec<Row>, Vec<u32>) = slots
            .into_iter()
            .map(|(row, result)| row.map_or(([0; 2], 0), |[low, high]| ([low | 1, high], result)))
            .unzip();
        let (here, behind): (Vec<u64>, Vec<u64>) = columns.into_iter().unzip();
        let mut expected = here.clone();
        Kernel::Scalar.ribbon_solve(&rows, &results, &mut expected, &behind);
        for kernel in Kernel::all() {
            let mut solved = here.clone();
            kernel.ribbon_solve(&rows, &results, &mut solved, &behind);
            prop_assert_eq!(&solved, &expected);
        }
        // Every equation holds. Its slots are first the solved ones, then those of `behind`, then
        // the previous values of `here`.
        for (slot, (&[low, high], &result)) in rows.iter().zip(&results).enumerate() {
            let row = u128::from(low) | u128::from(high) << 64;
            for (column, (&solved, (&before, &behind))) in
                expected.iter().zip(here.iter().zip(&behind)).enumerate()
            {
                let slot = slot as u32;
                let unknowns = u128::from(solved >> slot)
                    | u128::from(behind) << (64 - slot)
                    | u128::from(before).unbounded_shl(128 - slot);
                prop_assert_eq!((row & unknowns).count_ones() & 1, result >> column & 1);
                prop_assert!(row != 0 || unknowns & 1 == 0);
            }
        }
    }

    #[test]
    fn kernels_set_the_same_bits(
        num_blocks in 1usize..40,
        // Up to several batches and a remainder.
        hashes in prop::collection::vec(any::<u64>(), 1..400),
        num_probes in 1..=MAX_PROBES,
    ) {
        let mut expected = vec![[0; 64]; num_blocks];
        for &hash in &hashes {
            let index = block_index(&expected, hash);
            scalar::insert(&mut expected[index], (hash >> 32) as u32, num_probes);
        }
        let near_and_far = |kernel| [(kernel, false), (kernel, true)];
        for (kernel, far) in Kernel::all().into_iter().flat_map(near_and_far) {
            let mut blocks = vec![[0; 64]; num_blocks];
            kernel.bloom_insert_all(&mut blocks, &hashes, num_probes, far);
            prop_assert_eq!(&blocks, &expected);
        }
        let mut answers = vec![false; hashes.len()];
        Kernel::best().bloom_contains_batch(&expected, &hashes, Probes::new(num_probes), &mut answers);
        prop_assert!(answers.iter().all(|&answer| answer));
    }
}

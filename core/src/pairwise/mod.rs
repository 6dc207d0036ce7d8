//! Pair by pair: sweeps over all pairs of components, each transformed by the best 2×2 matrix.
//!
//! What decides about a pair are the entries between its two components alone. So a sweep takes two groups of components at a
//! time: the steps of their pairs are applied to the entries among them, which stay in the caches, and
//! then to all other entries of these components at once. In effect every pair has its turn in the order (1, 0), (2, 0), (2, 1), (3, 0), …: to
//! bring pairs of the same two groups together, only pairs without a component in common are exchanged.

pub(crate) mod jacobi;
pub(crate) mod pham;

use std::ops::Range;

use crate::linalg::{Matrix, Scalar};
use crate::matrices::{PairStep, Pairs};

/// Lets `step` choose the step of every pair, if it is to have one, and applies the steps to the set and to the rows of a matrix. The
/// pair is given as numbered in the set's selection, and as numbered among all components.
fn sweep<T: Scalar>(
    set: &mut dyn Pairs<T>,
    rows: &mut Matrix<T>,
    mut step: impl FnMut(&mut dyn Pairs<T>, [usize; 2], [usize; 2]) -> Option<PairStep<T>>,
) {
    for selection in selections(rows.rows(), set.selection_size()) {
        let components = &selection.components;
        set.select(components);
        for &[a, b] in &selection.pairs {
            let [first, second] = [components[a], components[b]];
            if let Some(step) = step(set, [a, b], [first, second]) {
                set.apply(a, b, step);
                step.apply_to_rows(rows, first, second);
            }
        }
        set.rejoin();
    }
}

/// Some components, and the pairs of them whose turn it is, numbered among them.
struct Selection {
    components: Vec<usize>,
    pairs: Vec<[usize; 2]>,
}

/// The selections of a sweep over p components, of at most so many, by which every pair has its turn once.
fn selections(p: usize, most: usize) -> impl Iterator<Item = Selection> {
    let groups = p.div_ceil(most.div_ceil(2)).max(2);
    let group = move |g: usize| g * p / groups..(g + 1) * p / groups;
    (1..groups).flat_map(move |second| {
        (0..second).map(move |first| selection(group(first), group(second)))
    })
}

/// Of two groups, the first of which comes before the second.
fn selection(first: Range<usize>, second: Range<usize>) -> Selection {
    let own = first.len();
    // The pairs within a group come before all others of later components, and after all of earlier ones.
    let (foremost, adjacent) = (first.start == 0, first.end == second.start);
    let turn = |a: usize, b: usize| match (a < own, b < own) {
        (true, _) => foremost && adjacent,
        (false, true) => true,
        (false, false) => adjacent,
    };
    let components: Vec<usize> = first.chain(second).collect();
    let pairs = (1..components.len()).flat_map(|a| (0..a).map(move |b| [a, b]));
    Selection {
        pairs: pairs.filter(|&[a, b]| turn(a, b)).collect(),
        components,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pair_has_its_turn_once_and_after_those_before_it_with_which_it_shares_a_component() {
        for (p, most) in [
            (1, 1),
            (2, 2),
            (3, 16),
            (9, 9),
            (16, 16),
            (17, 16),
            (30, 4),
            (41, 16),
        ] {
            let turns = selections(p, most).flat_map(|selection| {
                let Selection { components, pairs } = selection;
                assert!(components.len() <= most.next_multiple_of(2) && components.is_sorted());
                pairs
                    .into_iter()
                    .map(move |[a, b]| [components[a], components[b]])
            });
            let turns: Vec<[usize; 2]> = turns.collect();
            let mut expected: Vec<[usize; 2]> = turns.clone();
            expected.sort_unstable();
            let all = (1..p).flat_map(|a| (0..a).map(move |b| [a, b]));
            assert_eq!(expected, all.collect::<Vec<_>>());
            // Then the steps are those of the plain order, in which pairs are sorted.
            for (k, pair) in turns.iter().enumerate() {
                let late = turns[..k].iter().filter(|other| *other > pair);
                let mut late = late.flatten();
                assert!(late.all(|component| !pair.contains(component)), "{pair:?}");
            }
        }
    }
}

//! The rearrangements of an edge: a branch moved to the other end, or two branches swapped.

use super::local::through_leaf;
use super::{Column, Columns, Leaf, Local, Source, turned};
use crate::information;

/// Maximum number of branches of each end to move.
const MAX_TRIED: usize = 4;
/// Maximum number of these to swap.
const MAX_SWAPPED: usize = 2;

impl Local {
    /// The number of branches at each end of an edge.
    pub(crate) fn sizes(&self) -> [usize; 2] {
        let below = (0..self.branches.len()).filter(|&branch| self.is_below(branch)).count();
        [self.branches.len() - below, below]
    }

    /// Moves and swaps of the branches that lose least according to the present tables, sorted by `look`, best first. `look`
    /// scores an arrangement and may fit it.
    pub(crate) fn rearrangements(&self, columns: &Columns, look: impl Fn(&mut Self) -> f64) -> Vec<(f64, Self)> {
        let sizes = self.sizes();
        let looked_at = |mut local: Self| (look(&mut local), local);
        let by_loss = |below: bool| {
            let own = (0..self.branches.len()).filter(|&branch| self.is_below(branch) == below);
            let mut own: Vec<(f64, usize)> = own.map(|branch| (loss(self, branch, columns), branch)).collect();
            own.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
            own.truncate(MAX_TRIED);
            own
        };
        let mut found: Vec<(f64, Self)> = Vec::new();
        let mut sides: [Vec<(f64, usize)>; 2] = [Vec::new(), Vec::new()];
        for (side, below) in sides.iter_mut().zip([false, true]) {
            for (_, branch) in by_loss(below) {
                let (value, local) = looked_at(self.with_moved_branch(branch, columns));
                side.push((value, branch));
                if sizes[usize::from(below)] >= 3 {
                    found.push((value, local));
                }
            }
            side.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
            side.truncate(MAX_SWAPPED);
        }
        for (at, &(_, a)) in sides[0].iter().enumerate() {
            // With two branches per end, either swap gives the same partition.
            if sizes == [2, 2] && at > 0 {
                break;
            }
            let moved = self.with_moved_branch(a, columns);
            found.extend(sides[1].iter().map(|&(_, b)| looked_at(moved.with_moved_branch(b, columns))));
        }
        found.sort_by(|a, b| b.0.total_cmp(&a.0));
        found
    }
}

/// The information about its own end that a branch loses at the other end, according to the present tables, in nats per row.
fn loss(present: &Local, branch: usize, columns: &Columns) -> f64 {
    let [first, second] = [&present.patch.nodes[0], &present.patch.nodes[1]];
    let (of_second, above) = turned(&first.table, &second.table, second.n_states);
    let (own, other, table, n) = if present.is_below(branch) {
        (&of_second, &first.table, &second.table, second.n_states)
    } else {
        (&first.table, &of_second, &above, first.n_states)
    };
    let leaves = &present.patch.leaves[present.branches[branch].1.clone()];
    let of_leaf = |leaf: &Leaf| {
        let there = through_leaf(table, &leaf.values, n, &leaf.source, columns);
        told(own, &leaf.values, &leaf.source, columns) - told(other, &there, &leaf.source, columns)
    };
    leaves.iter().map(of_leaf).sum()
}

/// The mutual information between a leaf and its node; approximate for numbers.
fn told(shares: &[f64], values: &[f64], source: &Source, columns: &Columns) -> f64 {
    let weighted = |numbers: &mut dyn Iterator<Item = f64>| shares.iter().zip(numbers).map(|(share, it)| share * it).sum::<f64>();
    match source {
        Source::Column(column) if !columns.columns[*column].is_discrete() => {
            let is_count = matches!(columns.columns[*column], Column::Numbers { is_count: true, .. });
            let step = if is_count { 1 } else { 2 };
            let mean = weighted(&mut values.iter().step_by(step).copied());
            let between = weighted(&mut values.iter().step_by(step).map(|own| (own - mean).powi(2)));
            let within = if is_count { mean } else { weighted(&mut values.iter().skip(1).step_by(2).copied()) };
            information::of_variances(between, within.max(1e-300))
        }
        Source::Column(_) | Source::Soft(_) => information::of_table(shares, values, values.len() / shares.len()),
        Source::Fixed(_) | Source::Identity(_) => 0.0,
    }
}

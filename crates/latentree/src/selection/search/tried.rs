//! Remembers failed trials of a search, so that an unchanged neighbourhood is not tried over and over.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};

use crate::patch::Context;

/// Maximum number of trials of the same neighbourhood. Random splits differ between trials, and so do the messages of the
/// rest.
const MAX_TRIALS: u8 = 2;

/// A place to look for moves, given by a hidden node.
#[derive(Debug, Clone, Copy, Hash)]
pub(super) enum Task {
    Around(usize),
    /// The edge to its parent.
    Across(usize),
    Rearrange(usize),
}

/// How often each neighbourhood was tried without a gain, by its digest.
#[derive(Debug, Default)]
pub(super) struct Tried(HashMap<u64, u8>);

impl Tried {
    /// The tasks that are worth a trial, with their digests.
    pub(super) fn open(&self, context: &Context<'_>, rearranges: bool) -> Vec<(Task, u64)> {
        let n = context.net.n_hidden();
        let own: Vec<u64> =
            (0..n).map(|node| digest(&(context.net.states[node], &context.leaves[node], context.net.observed[node]))).collect();
        let stars: Vec<u64> = (0..n)
            .map(|node| {
                let mut near: Vec<u64> =
                    context.children[node].iter().chain(&context.net.parent[node]).map(|&ix| own[ix]).collect();
                near.sort_unstable();
                digest(&(own[node], near))
            })
            .collect();
        let above = |node: usize| context.net.parent[node].map(|parent| stars[parent]);
        let tasks: Vec<(Task, u64)> = if rearranges {
            (0..n).map(|node| (Task::Rearrange(node), digest(&(2, stars[node], above(node))))).collect()
        } else {
            let around = (0..n).map(|node| (Task::Around(node), digest(&(0, stars[node]))));
            around.chain((0..n).map(|node| (Task::Across(node), digest(&(1, stars[node], above(node)))))).collect()
        };
        tasks.into_iter().filter(|(_, digest)| self.0.get(digest).is_none_or(|&trials| trials < MAX_TRIALS)).collect()
    }

    /// Records trials that failed.
    pub(super) fn add(&mut self, digests: impl Iterator<Item = u64>) {
        digests.for_each(|digest| *self.0.entry(digest).or_insert(0) += 1);
    }
}

fn digest(value: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}

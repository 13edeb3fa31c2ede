//! What a search has tried in vain: a neighbourhood that is still the same is not tried again and again.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};

use crate::patch::Context;

/// Trials of the same neighbourhood. Random splits differ from one to the next, and so do the messages of the rest.
const MAX_TRIALS: u8 = 2;

/// A place where moves are looked for, by the number of a hidden node.
#[derive(Debug, Clone, Copy, Hash)]
pub(super) enum Task {
    Around(usize),
    /// The edge to its parent.
    Across(usize),
    Rearrange(usize),
}

/// How often each neighbourhood was tried without a gain, by a digest of it.
#[derive(Debug, Default)]
pub(super) struct Tried(HashMap<u64, u8>);

impl Tried {
    /// What is worth a trial, with its digest.
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

    /// These were tried in vain.
    pub(super) fn add(&mut self, digests: impl Iterator<Item = u64>) {
        digests.for_each(|digest| *self.0.entry(digest).or_insert(0) += 1);
    }
}

fn digest(value: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}

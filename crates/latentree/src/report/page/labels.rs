//! The labels of all nodes and members of groups; each set is stored once.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::payload::{Entry, LabelSet, Member, Rows, cut};
use crate::index::{ColIx, NodeIx};
use crate::model::LatentTree;

/// Maximum size of label sets that are written in full.
const WHOLE_SET: usize = 50;
/// Maximum number of characters of a label.
const LABEL_LENGTH: usize = 120;

/// Sets of labels, and the set used by each node and each member of a group.
#[derive(Debug, Default)]
pub(super) struct Labels {
    pub(super) sets: Vec<LabelSet>,
    /// For each node, its set; −1 for none.
    pub(super) of_node: Vec<i64>,
    pub(super) members: Vec<Member>,
    by_labels: HashMap<Vec<String>, usize>,
}

impl Labels {
    /// No labels.
    pub(super) fn none(n_nodes: usize) -> Self {
        Self { of_node: vec![-1; n_nodes], ..Self::default() }
    }

    /// The labels that a page with these profiles, shown states and rows needs. `member_columns` are the members of groups, in
    /// order.
    pub(super) fn new(
        model: &LatentTree,
        profiles: &[Vec<Entry>],
        shown_states: &BTreeMap<usize, Vec<usize>>,
        member_columns: &[ColIx],
        rows: &BTreeMap<usize, Rows>,
    ) -> Self {
        let mut used: BTreeSet<(usize, usize)> = BTreeSet::new();
        let mut used_of_member: BTreeSet<(usize, usize)> = BTreeSet::new();
        used.extend(shown_states.iter().flat_map(|(&node, states)| states.iter().map(move |&state| (node, state))));
        for entry in profiles.iter().flatten() {
            let set = if entry.member.is_some() { &mut used_of_member } else { &mut used };
            set.extend(entry.labels.iter().map(|&label| (entry.member.unwrap_or(entry.node), label)));
        }
        for (&node, rows) in rows {
            for row in rows.typical.iter().flatten() {
                // The cells belong to the first entries of the profile.
                for (entry, cell) in profiles[node].iter().zip(&row.2) {
                    let set = if entry.member.is_some() { &mut used_of_member } else { &mut used };
                    set.extend(cell.map(|cell| (entry.member.unwrap_or(entry.node), cell as usize)));
                }
            }
        }
        let mut all = Self::default();
        for node in 0..model.tree().n_nodes() {
            let set = match model.domain(NodeIx::new(node)).labels() {
                Some(labels) => all.add(labels, &used, node),
                None => -1,
            };
            all.of_node.push(set);
        }
        for (ix, &column) in member_columns.iter().enumerate() {
            let column = model.schema().column(column);
            let labels = column.kind.labels().map_or(-1, |labels| all.add(labels, &used_of_member, ix));
            all.members.push(Member { name: cut(&column.name, 2 * LABEL_LENGTH), labels });
        }
        all
    }

    fn add(&mut self, labels: &[String], used: &BTreeSet<(usize, usize)>, owner: usize) -> i64 {
        if labels.len() > WHOLE_SET {
            let own = used.range((owner, 0)..(owner, labels.len())).map(|&(_, label)| (label, cut(&labels[label], LABEL_LENGTH)));
            self.sets.push(LabelSet::Some(own.collect()));
            return self.sets.len() as i64 - 1;
        }
        let texts: Vec<String> = labels.iter().map(|label| cut(label, LABEL_LENGTH)).collect();
        let sets = &mut self.sets;
        let set = self.by_labels.entry(texts).or_insert_with_key(|texts| {
            sets.push(LabelSet::All(texts.clone()));
            sets.len() - 1
        });
        *set as i64
    }
}

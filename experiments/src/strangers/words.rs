//! How well the words of a group go together, and how much groups repeat each other.

use std::collections::{BTreeMap, BTreeSet};

/// In which documents each of these words is, by document number in ascending order.
fn postings<'a>(names: &'a [String], rows: &[Vec<u32>], words: &BTreeSet<&str>) -> BTreeMap<&'a str, Vec<usize>> {
    let is_wanted: Vec<bool> = names.iter().map(|name| words.contains(name.as_str())).collect();
    let mut postings: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for (document, items) in rows.iter().enumerate() {
        for &item in items.iter().filter(|&&item| is_wanted[item as usize]) {
            postings.entry(&names[item as usize]).or_default().push(document);
        }
    }
    postings
}

fn n_shared(a: &[usize], b: &[usize]) -> usize {
    a.iter().filter(|document| b.binary_search(document).is_ok()).count()
}

/// Normalised pointwise mutual information: 1 for words that are always together, 0 for independent ones, −1 for words that never are.
fn npmi(n_first: usize, n_second: usize, n_both: usize, n_documents: usize) -> f64 {
    let share = |n: usize| n as f64 / n_documents as f64;
    if n_both == 0 {
        return -1.0;
    }
    if n_both == n_documents {
        // Words of every document tell nothing of each other.
        return 0.0;
    }
    (share(n_both) / (share(n_first) * share(n_second))).ln() / -share(n_both).ln()
}

/// Mean NPMI of the pairs of each group's words, averaged over the groups of at least two.
pub(super) fn coherence(groups: &[Vec<String>], names: &[String], rows: &[Vec<u32>]) -> Option<f64> {
    let words: BTreeSet<&str> = groups.iter().flatten().map(String::as_str).collect();
    let postings = postings(names, rows, &words);
    let documents = |word: &String| postings.get(word.as_str()).map_or(&[][..], Vec::as_slice);
    let of_group = |group: &Vec<String>| {
        let pairs = group.iter().enumerate().flat_map(|(place, first)| group[..place].iter().map(move |second| (first, second)));
        let scores: Vec<f64> = pairs
            .map(|(first, second)| {
                let (first, second) = (documents(first), documents(second));
                npmi(first.len(), second.len(), n_shared(first, second), rows.len())
            })
            .collect();
        mean(&scores)
    };
    mean(&groups.iter().filter_map(of_group).collect::<Vec<_>>())
}

fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

/// Share of the words of all groups that are different.
pub(super) fn diversity(groups: &[Vec<String>]) -> Option<f64> {
    let n_words: usize = groups.iter().map(Vec::len).sum();
    let different: BTreeSet<&String> = groups.iter().flatten().collect();
    (n_words > 0).then(|| different.len() as f64 / n_words as f64)
}

#[cfg(test)]
mod tests {
    use super::{coherence, diversity};

    #[test]
    fn words_that_are_always_together_have_one_and_never_minus_one() {
        let names = ["a", "b", "c", "d"].map(str::to_owned);
        let rows = [vec![0, 1], vec![0, 1], vec![2], vec![2, 3]];
        let score = |words: &[&str]| coherence(&[words.iter().map(|&it| it.to_owned()).collect()], &names, &rows).unwrap();
        assert!((score(&["a", "b"]) - 1.0).abs() < 1e-12);
        assert!((score(&["a", "c"]) + 1.0).abs() < 1e-12);
        // P(c, d) = ¼, P(c) = ½, P(d) = ¼: ln 2 / ln 4.
        assert!((score(&["c", "d"]) - 0.5).abs() < 1e-12);
        assert_eq!(coherence(&[vec!["a".to_owned()]], &names, &rows), None);
    }

    #[test]
    fn diversity_is_the_share_of_different_words() {
        let groups = [["a", "b"], ["b", "c"]].map(|group| group.map(str::to_owned).to_vec());
        assert_eq!(diversity(&groups), Some(0.75));
        assert_eq!(diversity(&[]), None);
    }
}

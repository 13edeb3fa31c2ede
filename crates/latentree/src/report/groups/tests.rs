use rand::RngExt as _;

use super::cover::{Choice, greedy, knee};
use super::information::Says;
use super::*;
use crate::model::test_models::{Family, generator, random_model};
use crate::model::{Distribution, Domain, Marginal};
use crate::simulate::{ParameterFamily, RandomModelOptions, Shape, Simulation};

/// The joint probability of each assignment of all nodes of a discrete model.
fn enumerated(model: &LatentTree) -> Vec<(Vec<usize>, f64)> {
    let n_states: Vec<usize> = model.tree().node_ixs().map(|node| model.n_states(node).unwrap()).collect();
    let total: usize = n_states.iter().product();
    let assignment = |mut rest: usize| {
        let states: Vec<usize> = n_states
            .iter()
            .map(|n| {
                let state = rest % n;
                rest /= n;
                state
            })
            .collect();
        let p = model.tree().node_ixs().map(|node| {
            let Distribution::Discrete(table) = model.distribution(node) else { panic!("a discrete model") };
            table.given(model.parent(node).map_or(0, |parent| states[parent.get()]))[states[node.get()]]
        });
        let p = p.product();
        (states, p)
    };
    (0..total).map(assignment).collect()
}

/// The joint distribution of two nodes.
fn pair(joint: &[(Vec<usize>, f64)], model: &LatentTree, a: NodeIx, b: NodeIx) -> Vec<Vec<f64>> {
    let mut table = vec![vec![0.0; model.n_states(b).unwrap()]; model.n_states(a).unwrap()];
    joint.iter().for_each(|(states, p)| table[states[a.get()]][states[b.get()]] += p);
    table
}

fn information_of(table: &[Vec<f64>]) -> f64 {
    let rows: Vec<f64> = table.iter().map(|row| row.iter().sum()).collect();
    let columns: Vec<f64> = (0..table[0].len()).map(|b| table.iter().map(|row| row[b]).sum()).collect();
    let cells = table.iter().enumerate().flat_map(|(a, row)| row.iter().enumerate().map(move |(b, &p)| (a, b, p)));
    cells.filter(|cell| cell.2 > 0.0).map(|(a, b, p)| p * (p / (rows[a] * columns[b])).ln()).sum()
}

#[test]
fn information_is_that_of_the_enumerated_joint_distribution() {
    for seed in 0..40 {
        let model = random_model(seed, Family::Discrete, 6);
        let joint = enumerated(&model);
        let walks = Walks::new(&model);
        for node in model.hidden() {
            let mut seen = 0;
            walks.visit(&Theme::whole(node), 0.0, |other, nats| {
                seen += 1;
                let expected = information_of(&pair(&joint, &model, node, other));
                assert!((nats - expected).abs() < 1e-9, "{nats} for {expected}, seed {seed}");
            });
            let reached = model.tree().node_ixs().filter(|&it| it != node && model.tree().path(node, it).is_some()).count();
            assert_eq!(seen, reached);
            for theme in walks.themes(node) {
                let Some(inside) = theme.states.clone() else { continue };
                walks.visit(&theme, 0.0, |other, nats| {
                    let table = pair(&joint, &model, node, other);
                    let mut sides = vec![vec![0.0; table[0].len()]; 2];
                    for (state, row) in table.iter().enumerate() {
                        let side = &mut sides[usize::from(inside.contains(&state))];
                        side.iter_mut().zip(row).for_each(|(sum, p)| *sum += p);
                    }
                    assert!((nats - information_of(&sides)).abs() < 1e-9, "{inside:?}, seed {seed}");
                });
            }
        }
    }
}

#[test]
fn information_in_a_gaussian_tree_is_that_of_its_covariances() {
    for seed in 0..20 {
        let model = random_model(seed, Family::Gaussian, 12);
        let n = model.tree().n_nodes();
        // Covariances from the linear equations, node by node.
        let mut covariance = vec![vec![0.0; n]; n];
        let mut done: Vec<NodeIx> = Vec::new();
        for &node in &model.rooted().order {
            let Distribution::LinearGaussian { coefficient, variance, .. } = *model.distribution(node) else { panic!() };
            let (ix, parent) = (node.get(), model.parent(node).map(NodeIx::get));
            for other in done.iter().map(|it| it.get()) {
                let value = parent.map_or(0.0, |parent| coefficient * covariance[parent][other]);
                (covariance[ix][other], covariance[other][ix]) = (value, value);
            }
            covariance[ix][ix] = variance + parent.map_or(0.0, |parent| coefficient * coefficient * covariance[parent][parent]);
            done.push(node);
        }
        let walks = Walks::new(&model);
        for node in model.hidden() {
            walks.visit(&Theme::whole(node), 0.0, |other, nats| {
                let (a, b) = (node.get(), other.get());
                let squared = covariance[a][b] * covariance[a][b] / (covariance[a][a] * covariance[b][b]);
                let expected = -0.5 * (1.0 - squared).max(1e-12).ln();
                assert!((nats - expected).abs() < 1e-4 * (1.0 + expected), "{nats} for {expected}");
            });
        }
    }
}

fn random_says(seed: u64, n_candidates: usize, n_variables: u32) -> Vec<Vec<Says>> {
    let mut random = generator(seed);
    let mut of_candidate = || {
        let mut says = Vec::new();
        for variable in 0..n_variables {
            if random.random_bool(0.4) {
                says.push(Says { variable, share: random.random_range(0.0..1.0) });
            }
        }
        says
    };
    (0..n_candidates).map(|_| of_candidate()).collect()
}

fn coverage(says: &[Vec<Says>], chosen: &[usize], n_variables: usize) -> f64 {
    let best = |variable: usize| {
        let shares = chosen.iter().flat_map(|&it| &says[it]).filter(|it| it.variable as usize == variable).map(|it| it.share);
        f64::from(shares.fold(0.0, f32::max))
    };
    (0..n_variables).map(best).sum()
}

#[test]
fn a_greedy_cover_takes_the_best_step_and_keeps_the_bound_of_nemhauser() {
    let (n, n_variables, m) = (9, 12, 3);
    for seed in 0..60 {
        let says = random_says(seed, n, n_variables as u32);
        let all: Vec<usize> = (0..n).collect();
        let mut covered = vec![0.0; n_variables];
        let chosen = greedy(&says, |it| it, &all, &mut covered, m);
        let mut so_far: Vec<usize> = Vec::new();
        for choice in &chosen {
            let gain = |it: usize| {
                let with: Vec<usize> = so_far.iter().copied().chain([it]).collect();
                coverage(&says, &with, n_variables) - coverage(&says, &so_far, n_variables)
            };
            let best = all.iter().map(|&it| gain(it)).fold(0.0, f64::max);
            assert!((choice.gain - best).abs() < 1e-6 && (gain(choice.candidate) - best).abs() < 1e-6);
            so_far.push(choice.candidate);
        }
        let exhaustive = (0..n).flat_map(|a| (0..a).flat_map(move |b| (0..b).map(move |c| [a, b, c])));
        let best = exhaustive.map(|it| coverage(&says, &it, n_variables)).fold(0.0, f64::max);
        let reached = coverage(&says, &so_far, n_variables);
        assert!(reached >= (1.0 - (-1.0_f64).exp()) * best && reached <= best + 1e-6);
        assert!((covered.iter().map(|&it| f64::from(it)).sum::<f64>() - reached).abs() < 1e-5);
    }
}

#[test]
fn the_knee_is_where_gains_drop() {
    let choices = |gains: &[f64]| gains.iter().map(|&gain| Choice { candidate: 0, gain }).collect::<Vec<_>>();
    assert_eq!(knee(&choices(&[9.0, 8.0, 7.0, 7.0, 7.0, 1.0, 1.0, 1.0, 1.0]), 2), 5);
    assert_eq!(knee(&choices(&[9.0, 8.0]), 3), 2);
    assert_eq!(knee(&choices(&[9.0, 1.0, 1.0, 1.0]), 1), 1);
}

fn large(seed: u64) -> LatentTree {
    let family = ParameterFamily::Categorical { states: 2, hidden_states: 2, separation: 0.7 };
    Simulation::new(Shape::Random { max_degree: Some(6) }, 300).family(family).seed(seed).model().unwrap()
}

#[test]
fn groups_of_a_large_tree_are_a_hierarchy_that_holds_everything_once() {
    for seed in 0..3 {
        let model = large(seed);
        let groups = Groups::of(&model);
        let scales = Walks::new(&model).scales();
        let n_broad = groups.broad().filter(|group| group.node.is_some()).count();
        assert!((8..=20).contains(&n_broad), "{n_broad}");
        let mut nodes: Vec<NodeIx> = groups.all().iter().filter_map(|group| group.node).collect();
        nodes.sort_unstable();
        nodes.dedup();
        assert_eq!(nodes.len(), groups.all().iter().filter(|group| group.node.is_some()).count());
        let mut variables: Vec<NodeIx> = groups.broad().flat_map(|group| group.variables.iter().map(|it| it.0)).collect();
        variables.sort_unstable();
        assert!(variables.windows(2).all(|pair| pair[0] < pair[1]));
        assert_eq!(variables.len(), 300);
        let of_group = |group: &Group| group.variables.iter().map(|it| it.0).collect::<HashSet<_>>();
        for (ix, group) in groups.all().iter().enumerate() {
            assert!(!group.variables.is_empty());
            let share = |it: &(NodeIx, f64)| scales[it.0.get()].share(it.1);
            assert!(group.variables.windows(2).all(|pair| share(&pair[0]) >= share(&pair[1]) - 1e-6));
            if let Some(parent) = group.parent {
                assert!(parent < ix && groups.all()[parent].level + 1 == group.level);
                assert!(of_group(group).is_subset(&of_group(&groups.all()[parent])));
            }
        }
        for level in 2..4 {
            let mut variables: Vec<NodeIx> =
                groups.all().iter().filter(|it| it.level == level).flat_map(|it| it.variables.iter().map(|it| it.0)).collect();
            variables.sort_unstable();
            assert!(variables.windows(2).all(|pair| pair[0] < pair[1]));
        }
        assert_eq!(groups, Groups::of(&model));
    }
}

/// Eighteen hidden nodes, each with five variables that rise together, around one whose eight states raise one variable each.
fn with_months() -> LatentTree {
    use crate::data::{Kind, Schema};
    use crate::model::Table;
    let mut tree = crate::tree::Tree::new();
    let mut schema = Schema::builder();
    let mut tables = Vec::new();
    let months = tree.add_hidden("months").unwrap();
    tables.push((months, Table::new(8, vec![0.125; 8])));
    for month in 0..8 {
        let name = format!("month{month}");
        schema = schema.scalar(&name, Kind::binary());
        let leaf = tree.add_observed(&name).unwrap();
        tree.connect(months, leaf, None).unwrap();
        let rows = (0..8).flat_map(|state| if state == month { [0.02, 0.98] } else { [0.995, 0.005] });
        tables.push((leaf, Table::new(2, rows.collect())));
    }
    for theme in 0..18 {
        let hidden = tree.add_hidden(format!("theme{theme}")).unwrap();
        tree.connect(months, hidden, None).unwrap();
        tables.push((hidden, Table::new(2, (0..8).flat_map(|_| [0.8, 0.2]).collect())));
        for word in 0..5 {
            let name = format!("word{theme}-{word}");
            schema = schema.scalar(&name, Kind::binary());
            let leaf = tree.add_observed(&name).unwrap();
            tree.connect(hidden, leaf, None).unwrap();
            tables.push((leaf, Table::new(2, vec![0.97, 0.03, 0.4, 0.6])));
        }
    }
    let mut builder = LatentTree::builder(std::sync::Arc::new(schema.build().unwrap()), tree.clone()).root(months);
    for node in tree.node_ixs().filter(|&it| !tree.is_observed(it)) {
        let n_states = if node == months { 8 } else { 2 };
        builder = builder.hidden(node, Domain::numbered(n_states));
    }
    for (node, table) in tables {
        builder = builder.distribution(node, Distribution::Discrete(table));
    }
    builder.build().unwrap()
}

#[test]
fn variables_that_exclude_each_other_do_not_lead_the_groups() {
    let model = with_months();
    let groups = Groups::of(&model);
    let broad: Vec<&Group> = groups.broad().collect();
    // The node of the months has more information about its variables than any other, and no two of them go together.
    assert!(broad[..5].iter().all(|group| group.name.starts_with("theme") && group.variables.len() >= 5));
    for group in broad.iter().filter(|group| group.name.starts_with("theme")) {
        let own = group.name.replace("theme", "word");
        assert!(group.variables[..5].iter().all(|it| model.tree().name(it.0).starts_with(&format!("{own}-"))), "{}", group.name);
    }
    for group in groups.all().iter().filter(|group| group.name == "months") {
        let months: f64 = group.states[group.about.clone()].iter().map(|state| state.share).sum();
        assert!((group.share.unwrap() - months).abs() < 1e-12 && group.label.starts_with("month"));
    }
}

#[test]
fn groups_of_a_small_tree_hold_each_variable_once() {
    for (seed, family) in (0..60).zip([Family::Discrete, Family::Mixed, Family::Gaussian].into_iter().cycle()) {
        let model = random_model(seed, family, 12);
        let groups = Groups::of(&model);
        let mut variables: Vec<NodeIx> = groups.all().iter().flat_map(|group| &group.variables).map(|it| it.0).collect();
        variables.sort_unstable();
        assert_eq!(variables, model.tree().node_ixs().filter(|&it| model.tree().is_observed(it)).collect::<Vec<_>>());
        assert!(groups.all().iter().all(|group| group.level == 1 && !group.variables.is_empty()));
        assert!(groups.to_json(&model).is_array());
    }
}

#[test]
fn labels_are_unique_and_find_their_nodes() {
    for (seed, family) in (0..90).zip([Family::Discrete, Family::Mixed, Family::Gaussian].into_iter().cycle()) {
        let model = random_model(seed, family, 25);
        let groups = Groups::of(&model);
        let mut seen = HashSet::new();
        for node in model.hidden() {
            let label = groups.label(node).unwrap();
            assert!(!label.is_empty() && seen.insert(label));
            let is_name = model.tree().find(label).is_some();
            assert!(!is_name || label == model.tree().name(node));
            assert_eq!(find_node(&model, label).unwrap(), node);
        }
        assert!(model.tree().node_ixs().filter(|&it| model.tree().is_observed(it)).all(|it| groups.label(it).is_none()));
        assert!(find_node(&model, "no such label").is_err());
    }
}

/// Binary models in which everything named by a label can be checked by enumeration.
fn binary(seed: u64) -> LatentTree {
    let options = RandomModelOptions { n_observed: 8, states: (2, 2), hidden_states: (2, 2), ..RandomModelOptions::default() };
    crate::simulate::random_model(&mut generator(seed), &options).unwrap().with_ordered_states().unwrap()
}

#[test]
fn a_label_names_what_is_likelier_in_state_1_and_descriptions_are_the_models_probabilities() {
    for seed in 0..60 {
        let model = binary(seed);
        let joint = enumerated(&model);
        let groups = Groups::of(&model);
        let event = |node: NodeIx, of: NodeIx, state: usize| {
            let table = pair(&joint, &model, node, of);
            table[state][1] / (table[state][0] + table[state][1])
        };
        for node in model.hidden() {
            for part in groups.label(node).unwrap().split(SEPARATOR) {
                let named = model.tree().find(part.split(" (").next().unwrap());
                if let Some(named) = named.filter(|_| !part.starts_with("no ")) {
                    assert!(event(node, named, 1) > event(node, named, 0), "{part}, seed {seed}");
                }
            }
        }
        for group in groups.all() {
            let Some(node) = group.node else { continue };
            let Marginal::Discrete(prior) = &model.marginals()[node.get()] else { panic!() };
            assert!((group.share.unwrap() - prior[1]).abs() < 1e-12);
            for (ix, state) in group.states.iter().enumerate() {
                assert!((state.share - prior[ix]).abs() < 1e-12);
                for it in &state.differences {
                    assert!((it.inside - event(node, it.node, ix)).abs() < 1e-9);
                    assert!((it.outside - event(node, it.node, 1 - ix)).abs() < 1e-9);
                }
            }
        }
    }
}

#[test]
fn states_are_told_in_words() {
    use crate::data::{Kind, Schema};
    use crate::model::{Emission, Table};
    let mut tree = crate::tree::Tree::new();
    let h = tree.add_hidden("h1").unwrap();
    let schema = Schema::builder()
        .scalar("depression", Kind::binary())
        .scalar("colour", Kind::Categorical { labels: ["red", "green", "blue"].map(str::to_owned).to_vec() })
        .scalar("age", Kind::Continuous);
    let schema = schema.build().unwrap();
    let leaves = ["depression", "colour", "age"].map(|name| tree.add_observed(name).unwrap());
    leaves.iter().for_each(|&leaf| tree.connect(h, leaf, None).unwrap());
    let model = LatentTree::builder(std::sync::Arc::new(schema), tree)
        .root(h)
        .hidden(h, Domain::numbered(2))
        .distribution(h, Distribution::Discrete(Table::new(2, vec![0.72, 0.28])))
        .distribution(leaves[0], Distribution::Discrete(Table::new(2, vec![0.91, 0.09, 0.44, 0.56])))
        .distribution(leaves[1], Distribution::Discrete(Table::new(3, vec![0.4, 0.4, 0.2, 0.2, 0.2, 0.6])))
        .distribution(
            leaves[2],
            Distribution::Emission(Emission::Gaussian { means: vec![41.0, 63.25], variances: vec![100.0, 100.0] }),
        )
        .build()
        .unwrap();
    let groups = Groups::of(&model);
    let [group] = groups.all() else { panic!("one hidden node, one group") };
    let expected =
        "state 1, 28% of rows: mean age 63.2 instead of 41.0, depression 56% instead of 9%, colour=blue 60% instead of 20%";
    assert_eq!(group.states[1].description, expected);
    assert_eq!(group.label, "age · depression");
    assert_eq!(find_node(&model, "Age+Depression").unwrap(), h);
    assert_eq!(group.support, None);
}

#[test]
fn the_support_of_a_group_is_the_median_of_the_edges_that_cut_it_off() {
    let model = binary(3);
    let mut edges: Vec<crate::tree::Edge> = model.tree().edges().collect();
    for (ix, edge) in edges.iter_mut().enumerate() {
        edge.support = Some(ix as f64 / 100.0);
    }
    let tree = crate::tree::Tree::from_parts(model.tree().nodes().to_vec(), &edges).unwrap();
    let mut builder = LatentTree::builder(model.schema().clone(), tree.clone()).roots(&model.rooted().roots);
    for node in tree.node_ixs() {
        builder = builder.distribution(node, model.distribution(node).clone());
    }
    let groups = Groups::of(&builder.build().unwrap());
    for group in groups.all() {
        let node = group.node.unwrap();
        let mut supports: Vec<f64> =
            tree.links(node).iter().filter(|link| !tree.is_observed(link.to)).map(|link| link.support.unwrap()).collect();
        supports.sort_by(f64::total_cmp);
        let n = supports.len();
        let median = (n > 0).then(|| 0.5 * (supports[(n - 1) / 2] + supports[n / 2]));
        assert_eq!(group.support, median);
    }
}

/// Three kinds of rows, each with its own variable; most rows of each kind lack the variables of the others.
#[test]
fn a_state_is_described_by_what_its_rows_have_before_what_they_lack() {
    use crate::data::{Kind, Schema};
    use crate::model::Table;
    let names = ["heart", "lung", "skin"];
    let schema = names.iter().fold(Schema::builder(), |schema, name| schema.scalar(*name, Kind::binary())).build().unwrap();
    let mut tree = crate::tree::Tree::new();
    let h = tree.add_hidden("h1").unwrap();
    let leaves = names.map(|name| tree.add_observed(name).unwrap());
    leaves.iter().for_each(|&leaf| tree.connect(h, leaf, None).unwrap());
    let mut builder = LatentTree::builder(std::sync::Arc::new(schema), tree).root(h).hidden(h, Domain::numbered(3));
    builder = builder.distribution(h, Distribution::Discrete(Table::new(3, vec![0.6, 0.3, 0.1])));
    for (ix, leaf) in leaves.into_iter().enumerate() {
        // The heart separates state 2 better than the skin does, but by its absence.
        let have: [f64; 3] = [[0.5, 0.9, 0.0], [0.1, 0.6, 0.1], [0.1, 0.1, 0.3]][ix];
        let table = have.iter().flat_map(|&p| [1.0 - p, p]).collect();
        builder = builder.distribution(leaf, Distribution::Discrete(Table::new(2, table)));
    }
    let model = builder.build().unwrap();
    let groups = Groups::of(&model);
    let [group] = groups.all() else { panic!("one hidden node, one group") };
    let description = &group.states[2].description;
    // The lung has 0.008 nats, less than a tenth of the heart's 0.092.
    assert_eq!(description, "state 2, 10% of rows: skin 30% instead of 10%, heart 0% instead of 63%");
}

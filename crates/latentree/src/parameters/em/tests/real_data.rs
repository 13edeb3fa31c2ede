//! Public data sets; skipped where they are not at hand.

use std::sync::Arc;

use super::never_falls;
use crate::data::{Block, ColumnData, Dataset, ReadOptions, Schema, open};
use crate::distance::{DistanceOptions, estimate};
use crate::index::NodeIx;
use crate::moments::{PairMoments, fold};
use crate::observer::Silent;
use crate::parameters::em::{Em, Smoothing, Start, merge_rows, template};
use crate::structure::{ChowLiuNeighborJoining, StructureLearner as _};
use crate::test_data::data_file;
use crate::tree::Tree;

fn data(name: &str) -> Option<Dataset> {
    let path = data_file(name)?;
    Some(Dataset::read(&mut open(&path, &ReadOptions::default()).unwrap()).unwrap())
}

/// Maxima of latent class models found by poLCA (Linzer and Lewis 2011), of the columns that its documentation uses.
#[test]
fn latent_class_models_reach_their_known_maxima() {
    type Maxima<'a> = (&'a str, &'a [&'a str], &'a [(usize, f64)]);
    let sets: [Maxima<'_>; 3] = [
        ("polca_carcinoma", &["A", "B", "C", "D", "E", "F", "G"], &[(2, -317.2568), (3, -293.7050), (4, -289.2858)]),
        ("polca_gss82", &["PURPOSE", "ACCURACY", "UNDERSTA", "COOPERAT"], &[(3, -2754.545)]),
        ("polca_cheating", &["LIEEXAM", "LIEPAPER", "FRAUD", "COPYEXAM"], &[(2, -440.0271)]),
    ];
    for (name, used, maxima) in sets {
        let Some(data) = data(&format!("surveys/{name}.csv.gz")) else { return };
        let ixs: Vec<_> = used.iter().map(|name| data.schema().find_column(name).unwrap()).collect();
        let schema = ixs.iter().fold(Schema::builder(), |schema, &ix| {
            let column = data.schema().column(ix);
            schema.scalar(&column.name, column.kind.clone())
        });
        let schema = Arc::new(schema.build().unwrap());
        let columns = ixs.iter().map(|ix| {
            let mut out = ColumnData::for_kind(&data.schema().column(*ix).kind, 0);
            for batch in data.batches() {
                let Block::Dense(columns) = &batch.block else { unreachable!() };
                (0..batch.n_rows).for_each(|row| out.push_code(columns[ix.get()].code(row)));
            }
            out
        });
        let rows = Dataset::from_columns(Arc::clone(&schema), columns.collect(), None).unwrap();
        let mut tree = Tree::new();
        let leaves: Vec<NodeIx> = used.iter().map(|name| tree.add_observed(*name).unwrap()).collect();
        let hidden = tree.add_hidden("class").unwrap();
        leaves.iter().for_each(|&leaf| tree.connect(hidden, leaf, None).unwrap());
        for &(classes, maximum) in maxima {
            let model = template(Arc::clone(&schema), tree.clone(), classes).unwrap();
            let em = Em::new().smoothing(Smoothing::none()).tolerance(1e-10).iterations(3000);
            let fit = em.start(Start::Random { restarts: 20, seed: 0 }).fit(&model, &rows, &Silent).unwrap();
            never_falls(&fit, name);
            let reached = *fit.log_likelihood.last().unwrap();
            assert!((reached - maximum).abs() < 1e-3, "{name} {classes}: {reached}, not {maximum}");
        }
    }
}

/// Choi et al. (2011), Table 4: −230,858 on the tree of CLNJ, −230,575 with the best of their trees.
#[test]
fn twenty_newsgroups_reach_the_published_likelihood_from_a_latent_class_start() {
    let Some(rows) = data("news20_w100/news20_w100.csv.gz") else { return };
    let moments = fold(&mut rows.source(), PairMoments::new(Arc::clone(rows.schema())).unwrap(), &Silent).unwrap();
    let distances = estimate(&moments, &DistanceOptions::new().significance(None), &Silent).unwrap();
    let tree = ChowLiuNeighborJoining::default().learn(&distances, &Silent).unwrap();
    let model = template(Arc::clone(rows.schema()), tree, 2).unwrap();
    assert!(merge_rows(&rows).unwrap().unwrap().n_rows() < 11_000);
    let em = Em::new().smoothing(Smoothing::pseudo_count(1e-3)).start(Start::LatentClass { restarts: 3, seed: 0 });
    let fit = em.fit(&model, &rows, &Silent).unwrap();
    never_falls(&fit, "newsgroups");
    let reached = *fit.log_likelihood.last().unwrap();
    assert!(fit.converged() && reached > -230_750.0, "{reached}");
}

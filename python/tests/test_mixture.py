"""Mixtures, topics and hierarchies from Python."""

import inspect
import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from sklearn.base import clone
from sklearn.metrics import adjusted_rand_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils.estimator_checks import check_estimator

from latentree import HierarchicalClustering, LatentTreeWarning, Mixture, TopicModel, coherence, relevance, stability

#: For estimators that take sparse rows, two checks ask for the probabilities of a classifier with four classes.
NOT_A_CLASSIFIER = {name: "it is not a classifier" for name in ("check_estimator_sparse_array", "check_estimator_sparse_matrix")}


def poisson_rows(n=600, seed=0):
    rng = np.random.default_rng(seed)
    group = rng.integers(3, size=n)
    return rng.poisson(np.where(group[:, None] == np.arange(9) // 3, 6.0, 1.0)), group


def documents(n=400, seed=0):
    rng = np.random.default_rng(seed)
    topics = np.where(np.arange(12) // 4 == np.arange(3)[:, None], 5.0, 1.0)
    topics /= topics.sum(axis=1, keepdims=True)
    group = rng.integers(3, size=n)
    return np.array([rng.multinomial(40, topics[topic]) for topic in group]), group, topics


@pytest.mark.parametrize(
    "estimator", [Mixture(), Mixture(2), HierarchicalClustering(), HierarchicalClustering(3), TopicModel(2), TopicModel(2, model="lda")]
)
def test_they_pass_the_checks_of_scikit_learn(estimator):
    results = check_estimator(estimator, on_skip=None, on_fail=None)
    assert len(results) > 30
    failed = {result["check_name"]: str(result["exception"])[:200] for result in results if result["status"] == "failed"}
    known = set(NOT_A_CLASSIFIER if hasattr(estimator, "predict_proba") else ())
    if isinstance(estimator, Mixture):
        # The noise of moments is judged as that of sampling weights: by the sum of their squares.
        known |= {"check_sample_weight_equivalence_on_dense_data", "check_sample_weight_equivalence_on_sparse_data"}
    if isinstance(estimator, TopicModel):
        # Their tables have fractions or numbers below 0, which are no counts.
        known |= {
            "check_clustering",
            "check_estimators_nan_inf",
        }
    assert set(failed) <= known, failed


def test_components_are_found_and_new_rows_assigned():
    rows, group = poisson_rows()
    new, new_group = poisson_rows(seed=1)
    mixture = Mixture(3, family="poisson").fit(rows)
    assert adjusted_rand_score(group, mixture.labels_) > 0.9
    assert adjusted_rand_score(new_group, mixture.predict(new)) > 0.9
    assert np.array_equal(mixture.predict(rows), mixture.labels_)
    assert np.allclose(mixture.predict_proba(new).sum(axis=1), 1)
    assert np.array_equal(mixture.transform(new), mixture.predict_proba(new))
    assert mixture.means_.shape == (3, 9)
    assert np.allclose(np.sort(mixture.means_.ravel())[-9:], 6, atol=0.6)
    assert mixture.sizes_.sum() == len(rows)
    assert np.isclose(mixture.score_samples(rows).sum(), mixture.log_likelihood_)
    assert np.isclose(mixture.bic(rows), -2 * mixture.report_["bic"])
    assert Mixture("auto", family="poisson").fit(rows).n_components_ == 3


def test_sparse_dense_and_named_rows_give_the_same():
    rows, _ = poisson_rows()
    dense = Mixture(3, family="poisson").fit(rows)
    sparse = Mixture(3, family="poisson").fit(scipy.sparse.csr_array(rows))
    frame = Mixture(3, family="poisson").fit(pd.DataFrame(rows, columns=list("abcdefghi")))
    assert np.array_equal(dense.labels_, sparse.labels_) and np.array_equal(dense.labels_, frame.labels_)
    assert np.allclose(dense.means_, sparse.means_)
    assert all(set(names) <= set("abcdefghi") for names in frame.relevant_)
    assert set(frame.tables_) >= set("abcdefghi")
    assert frame.get_feature_names_out().tolist() == ["mixture0", "mixture1", "mixture2"]


def test_weights_are_repeated_rows():
    rows, _ = poisson_rows(200)
    counts = np.random.default_rng(2).integers(1, 4, size=200)
    for estimator in (Mixture(3, family="poisson"), HierarchicalClustering(3, family="poisson")):
        weighted = clone(estimator).fit(rows, sample_weight=counts)
        repeated = clone(estimator).fit(np.repeat(rows, counts, axis=0))
        assert np.array_equal(weighted.predict(rows), repeated.predict(rows))


def test_missing_cells_are_summed_out():
    rows, group = poisson_rows()
    holes = rows.astype(float)
    holes[np.random.default_rng(0).random(holes.shape) < 0.2] = np.nan
    mixture = Mixture(3, family="poisson", em=True).fit(holes)
    assert mixture.method_ == "multi-view"
    assert adjusted_rand_score(group, mixture.labels_) > 0.8
    assert np.isfinite(mixture.predict_proba(holes)).all()


def test_topics_are_found_by_both_models():
    counts, group, topics = documents()
    single = TopicModel(3, em=True).fit(scipy.sparse.csr_matrix(counts))
    assert adjusted_rand_score(group, single.labels_) > 0.95
    assert np.allclose(single.components_.sum(axis=1), 1)
    order = [int(np.abs(topics - found).sum(axis=1).argmin()) for found in single.components_]
    assert sorted(order) == [0, 1, 2]
    assert all({f"x{4 * topic + ix}" for ix in (1, 2, 3, 4)} == set(words) for topic, words in zip(order, single.top_words(4)))
    assert np.allclose(coherence(counts, single.components_), single.coherence_)
    lda = TopicModel(3, model="lda", alpha=0.1, random_state=1).fit(counts)
    assert adjusted_rand_score(group, lda.labels_) > 0.9
    assert np.allclose(lda.predict_proba(counts).sum(axis=1), 1)
    assert np.array_equal(lda.predict(counts), lda.labels_)
    assert np.isfinite(lda.bic(counts)) and lda.score(counts) < 0


@pytest.mark.parametrize("model", ["single-topic", "lda"])
def test_documents_without_known_words_have_the_topics_of_any_document(model):
    texts = ["red apple pie", "apple pie red", "fast car road", "road car fast"] * 5
    topics = TopicModel(2, model=model).fit(texts)
    for new, message in [
        (["cheese"], "^the document has no word"),
        (["cheese", "", "a red car"], "^2 of 3 documents have no word"),
        (np.zeros((1, 6), dtype=int), "^the document has no word"),
        (scipy.sparse.csr_matrix((1, 6)), "^the document has no word"),
    ]:
        with pytest.warns(LatentTreeWarning, match=message):
            shares = topics.transform(new)
        np.testing.assert_allclose(shares[0], topics.weights_, atol=1e-9)
        assert set(topics.predict(new)) <= {0, 1}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        topics.predict(["red car"])


def test_a_hierarchy_has_the_children_of_scikit_learn():
    counts, group, _ = documents()
    clusters = HierarchicalClustering(3, family="single-topic", method="sidiwo").fit(counts)
    assert adjusted_rand_score(group, clusters.labels_) > 0.95
    assert clusters.children_.shape == (2, 2) and sorted(clusters.children_.ravel()) == [0, 1, 2, 3]
    assert np.array_equal(clusters.predict(counts), clusters.labels_)
    indicators = clusters.transform(counts)
    names = clusters.get_feature_names_out().tolist()
    assert indicators.shape == (400, 4) and len(names) == 4
    for node in clusters.nodes_[1:]:
        assert indicators[:, names.index(node["name"])].sum() == node["size"]
    assert clusters.to_newick().startswith("(")
    assert HierarchicalClustering(depth=1, family="poisson").fit(counts).n_clusters_ == 1


@pytest.mark.parametrize("estimator", [Mixture(3, family="poisson"), TopicModel(3, model="lda"), HierarchicalClustering(3, family="poisson")])
def test_pickled_estimators_are_the_same(estimator, tmp_path):
    counts, _, _ = documents()
    fitted = estimator.fit(counts)
    again = pickle.loads(pickle.dumps(fitted))
    assert np.array_equal(again.predict(counts), fitted.predict(counts))
    assert again.to_json() == fitted.to_json()
    fitted.save(tmp_path / "model.json")
    assert (tmp_path / "model.json").read_text() == fitted.to_json()
    fitted.report(tmp_path / "page.html", counts, title="<b>")
    assert "<b>" not in (tmp_path / "page.html").read_text().split("</title>")[0]


def test_they_work_in_a_pipeline():
    rows, _ = poisson_rows()
    pipeline = make_pipeline(FunctionTransformer(), Mixture(3, family="poisson"))
    assert pipeline.fit(rows).predict(rows).shape == (600,)


def test_measures_are_their_formulas():
    found = relevance([[0.2, 0.0]], [0.1, 0.3])
    assert np.isclose(found[0, 0], 0.7 * np.log(0.2) + 0.3 * np.log(2)) and found[0, 1] == -np.inf
    # Both words in two of three documents: ln((2 + 1) / 3).
    assert np.isclose(coherence([[1, 1], [3, 1], [1, 0]], [[0.6, 0.4]])[0], np.log(3 / 3))
    rows, _ = poisson_rows()
    assert stability(Mixture(3, family="poisson"), rows, 2) > 0.9
    assert stability(HierarchicalClustering(3, family="poisson"), rows, 2) > 0.5


COUNTS = documents(60)[0]
NEGATIVE = COUNTS - 3


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: Mixture(0).fit(COUNTS), ValueError, "n_components"),
        (lambda: Mixture(-2).fit(COUNTS), ValueError, "n_components"),
        (lambda: Mixture(2.5).fit(COUNTS), TypeError, "n_components"),
        (lambda: Mixture(True).fit(COUNTS), TypeError, "n_components"),
        (lambda: Mixture(None).fit(COUNTS), TypeError, "n_components"),
        (lambda: Mixture("many").fit(COUNTS), ValueError, "n_components"),
        (lambda: Mixture(40, family="poisson").fit(COUNTS), ValueError, "HierarchicalClustering"),
        (lambda: Mixture(2, family="normal").fit(COUNTS), ValueError, "family"),
        (lambda: Mixture(2, family=7).fit(COUNTS), TypeError, "family"),
        (lambda: Mixture(2, method="em").fit(COUNTS), ValueError, "method"),
        (lambda: Mixture(2, method=3).fit(COUNTS), TypeError, "method"),
        (lambda: Mixture(2, em="yes").fit(COUNTS), TypeError, "em"),
        (lambda: Mixture(2, alpha=0.1, family="poisson").fit(COUNTS), ValueError, "alpha"),
        (lambda: Mixture(2, alpha=[1], family="lda").fit(COUNTS), TypeError, "alpha"),
        (lambda: Mixture(2, alpha=-1, family="lda").fit(COUNTS), ValueError, "alpha"),
        (lambda: Mixture(2, em=True, family="lda").fit(COUNTS), ValueError, "em"),
        (lambda: Mixture(2, family="lda", method="multi-view").fit(COUNTS), ValueError, "multi-view"),
        (lambda: Mixture(2, family="lda", method="asvtd").fit(COUNTS), ValueError, "asvtd"),
        (lambda: Mixture(2, family="poisson").fit(NEGATIVE), ValueError, "negative"),
        (lambda: Mixture(2, family="poisson").fit(COUNTS + 0.5), ValueError, "whole number"),
        (lambda: Mixture(2, family="gaussian").fit([["a", "b"], ["c", "d"]]), ValueError, "number"),
        (lambda: Mixture(2).fit(None), TypeError, "table"),
        (lambda: Mixture(2).fit([1, 2, 3]), ValueError, "2D"),
        (lambda: Mixture(2).fit(np.zeros((0, 3))), ValueError, "0 sample"),
        (lambda: Mixture(2).fit(COUNTS[:1]), ValueError, "1 sample"),
        (lambda: Mixture(2, family="poisson").fit(np.zeros((10, 4))), ValueError, "zero"),
        (lambda: Mixture(2, family="gaussian").fit(np.full((10, 3), np.inf)), ValueError, "infinite"),
        (lambda: Mixture(2, kind="text").fit(COUNTS), ValueError, "kind"),
        (lambda: Mixture(2, random_state=-1).fit(COUNTS), ValueError, "random_state"),
        (lambda: Mixture(2, n_jobs=0).fit(COUNTS), ValueError, "n_jobs"),
        (lambda: Mixture(2, handle_unknown="drop").fit(COUNTS), ValueError, "handle_unknown"),
        (lambda: Mixture(2).fit(COUNTS, sample_weight=[1, 2]), ValueError, "sample_weight"),
        (lambda: Mixture(2).fit(COUNTS, sample_weight=-np.ones(60)), ValueError, "weight"),
        (lambda: Mixture(2).predict(COUNTS), ValueError, "not fitted"),
        (lambda: Mixture(2, family="poisson").fit(COUNTS).predict(COUNTS[:, :3]), ValueError, "features"),
        (lambda: Mixture(2, family="poisson").fit(COUNTS).save("model.bif"), ValueError, "json"),
        (lambda: Mixture(2, family="poisson").fit(COUNTS).report("page.txt"), ValueError, "html"),
        (lambda: TopicModel(2, model="hdp").fit(COUNTS), ValueError, "model"),
        (lambda: TopicModel(2, model=None).fit(COUNTS), TypeError, "model"),
        (lambda: TopicModel(2).fit(NEGATIVE), ValueError, "Negative values"),
        (lambda: TopicModel(2).fit(np.where(COUNTS > 5, np.nan, COUNTS)), ValueError, "missing"),
        (lambda: TopicModel(20).fit(COUNTS), ValueError, "12"),
        (lambda: TopicModel(2, model="lda").fit(COUNTS).predict(np.full((2, 12), np.nan)), ValueError, "missing"),
        (lambda: HierarchicalClustering(0).fit(COUNTS), ValueError, "n_clusters"),
        (lambda: HierarchicalClustering(2.0).fit(COUNTS), TypeError, "n_clusters"),
        (lambda: HierarchicalClustering(depth=0).fit(COUNTS), ValueError, "depth"),
        (lambda: HierarchicalClustering(depth=40).fit(COUNTS), ValueError, "depth"),
        (lambda: HierarchicalClustering(3, depth=3).fit(COUNTS), ValueError, "depth"),
        (lambda: HierarchicalClustering(3, method="ward").fit(COUNTS), ValueError, "method"),
        (lambda: HierarchicalClustering(3, min_size=0).fit(COUNTS), ValueError, "min_size"),
        (lambda: HierarchicalClustering(3, min_size="2").fit(COUNTS), TypeError, "min_size"),
        (lambda: HierarchicalClustering(3, family="lda").fit(COUNTS), ValueError, "lda"),
        (lambda: HierarchicalClustering(2).fit(np.where(COUNTS > 5, np.nan, COUNTS)), ValueError, "missing"),
        (lambda: HierarchicalClustering(2, family="poisson").fit(COUNTS).save("tree.bif"), ValueError, "extension"),
        (lambda: stability(COUNTS, COUNTS), TypeError, "estimator"),
        (lambda: stability(Mixture(2), COUNTS, 0), ValueError, "n_runs"),
        (lambda: stability(Mixture(2, family="poisson"), COUNTS[:5]), ValueError, "n_runs"),
        (lambda: coherence(COUNTS, [[0.5, 0.5]]), ValueError, "topics"),
        (lambda: coherence(COUNTS, [0.5] * 12), ValueError, "topics"),
        (lambda: coherence(COUNTS, "topics"), TypeError, "topics"),
        (lambda: relevance([[0.5, 0.5]], [0.5]), ValueError, "overall"),
        (lambda: relevance([[-1.0]], [0.5]), ValueError, "probabilities"),
        (lambda: relevance([[0.5]], [0.5], 2), ValueError, "weight"),
        (lambda: relevance([[0.5]], [0.5], "0.7"), TypeError, "weight"),
    ],
)
def test_wrong_calls_are_refused_with_the_argument(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_every_argument_is_documented():
    for kind in (Mixture, TopicModel, HierarchicalClustering):
        for name in inspect.signature(kind.__init__).parameters:
            assert name == "self" or name in kind.__doc__

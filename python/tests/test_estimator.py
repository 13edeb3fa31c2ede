"""The estimator among scikit-learn's."""

import copy
import pickle

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import check_estimator

from conftest import draw
from latentree import LatentTree, LatentTreeWarning, Moments, from_networkx, read_model


def test_it_passes_the_checks_of_scikit_learn():
    # Without a search, columns of numbers give a Gaussian tree.
    results = check_estimator(LatentTree(effort="quick"), on_skip=None)
    assert len(results) > 30
    assert not [result for result in results if result["status"] in ("failed", "xfail")]
    # The search finds hidden states in the same numbers, so that there is `predict_proba`. For estimators that take sparse rows, two checks ask for the
    # probabilities of a classifier with four classes.
    known = ("check_estimator_sparse_array", "check_estimator_sparse_matrix")
    reasons = {name: "it is not a classifier" for name in known}
    results = check_estimator(LatentTree(), on_skip=None, expected_failed_checks=reasons)
    assert not [result for result in results if result["status"] == "failed"]
    assert {result["check_name"] for result in results if result["status"] == "xfail"} <= set(known)


def test_it_works_in_a_pipeline_and_a_grid_search():
    rows, causes = draw(n_rows=600)
    pipeline = make_pipeline(LatentTree(), LogisticRegression()).fit(rows, causes[:, 0])
    assert pipeline.score(rows, causes[:, 0]) > 0.85
    search = GridSearchCV(LatentTree(), {"structure": ["chow-liu", "auto"], "n_states": ["auto", 3]}, cv=2).fit(rows)
    assert search.best_params_["structure"] == "auto"
    assert isinstance(search.best_estimator_, LatentTree)


def test_pandas_output_has_names(fitted, answers):
    tree = clone(fitted).set_output(transform="pandas").fit(answers)
    assert list(tree.transform(answers).columns) == list(fitted.get_feature_names_out())


def test_copies_answer_as_the_original_does(fitted, answers):
    for twin in (pickle.loads(pickle.dumps(fitted)), copy.copy(fitted), copy.deepcopy(fitted)):
        assert twin.to_json() == fitted.to_json()
        np.testing.assert_array_equal(twin.transform(answers), fitted.transform(answers))
        assert twin.report_ == fitted.report_
    assert not hasattr(clone(fitted), "model_")
    assert (
        clone(LatentTree(n_states=3, kind={"a": "count"})).get_params()
        == LatentTree(n_states=3, kind={"a": "count"}).get_params()
    )


@pytest.mark.parametrize("kind", ["binary", "continuous", "mixed"])
def test_the_number_of_threads_does_not_show(answers, kind):
    rng = np.random.default_rng(0)
    X = {
        "binary": lambda: answers,
        "continuous": lambda: answers + rng.normal(size=answers.shape),
        "mixed": lambda: np.column_stack([answers[:, :4], answers[:, 4:] + rng.normal(size=(len(answers), 4))]),
    }[kind]()
    trees = [LatentTree(n_jobs=n_jobs, random_state=3, bootstrap=5).fit(X) for n_jobs in (1, 2, 5)]
    assert len({tree.to_json() for tree in trees}) == 1
    assert all((trees[0].transform(X) == tree.transform(X)).all() for tree in trees)
    assert all((trees[0].sample(50) == tree.sample(50)).all() for tree in trees)


def test_seeds_are_seeds(fitted, answers):
    assert (fitted.sample(50, random_state=1) == fitted.sample(50, random_state=1)).all()
    assert (fitted.sample(50, random_state=1) != fitted.sample(50, random_state=2)).any()
    for make in (np.random.RandomState, np.random.default_rng):
        once = LatentTree(random_state=make(0), start="random").fit(answers)
        assert LatentTree(random_state=make(0), start="random").fit(answers).to_json() == once.to_json()
        assert (once.sample(50) != once.sample(50)).any(), "a generator goes on"


def test_samples_without_a_seed_differ_and_models_do_not(fitted, answers):
    assert fitted.random_state is None
    assert (fitted.sample(50) != fitted.sample(50)).any()
    assert LatentTree().fit(answers).to_json() == fitted.to_json()
    seeded = LatentTree(random_state=4).fit(answers)
    assert (seeded.sample(50) == seeded.sample(50)).all()


def test_weights_are_repeated_rows(answers):
    weights = np.random.default_rng(0).integers(1, 4, size=len(answers))
    weighted = LatentTree(structure="chow-liu").fit(answers, sample_weight=weights)
    repeated = LatentTree(structure="chow-liu").fit(np.repeat(answers, weights, axis=0))
    np.testing.assert_allclose(weighted.score_samples(answers), repeated.score_samples(answers), rtol=1e-6)
    np.testing.assert_allclose(
        weighted.score(answers, sample_weight=weights), weighted.score_samples(np.repeat(answers, weights, axis=0)).mean()
    )


def test_the_scale_of_sampling_weights_does_not_matter(answers):
    weights = np.random.default_rng(0).uniform(0.5, 2.0, size=len(answers))
    large, small = (LatentTree().fit(answers, sample_weight=weights * factor) for factor in (1.0, 0.0002))
    np.testing.assert_allclose(large.score_samples(answers), small.score_samples(answers), rtol=1e-6)
    np.testing.assert_allclose(large.report_["bic"], small.report_["bic"], rtol=1e-9)
    whole = np.random.default_rng(0).integers(1, 4, size=len(answers))
    sampling, scaled = (LatentTree(weight_kind="sampling").fit(answers, sample_weight=whole * factor) for factor in (1, 0.0002))
    np.testing.assert_allclose(sampling.report_["bic"], scaled.report_["bic"], rtol=1e-9)
    constant = LatentTree().fit(answers, sample_weight=0.0002)
    assert constant.to_json() == LatentTree().fit(answers).to_json()


def test_posteriors_predictions_and_queries_agree(fitted, answers):
    rows = answers[:50]
    posterior = fitted.transform(rows)
    names = fitted.get_feature_names_out().tolist()
    assert posterior.shape == (50, len(names))
    np.testing.assert_allclose(posterior.reshape(50, -1, 2).sum(axis=2), 1)
    hidden = fitted.central_
    assert hidden in fitted.hidden_
    np.testing.assert_array_equal(fitted.predict_proba(rows), fitted.predict_proba(rows, of=hidden))
    np.testing.assert_array_equal(fitted.predict(rows), fitted.predict(rows, of=hidden))
    np.testing.assert_array_equal(fitted.predict_proba(rows, of=hidden), posterior[:, names.index(f"{hidden}=0") :][:, :2])
    np.testing.assert_array_equal(fitted.predict(rows, of=hidden), fitted.predict_proba(rows, of=hidden).argmax(axis=1))
    together = fitted.predict(rows, of="*")
    assert together.shape == (50, len(fitted.hidden_))
    np.testing.assert_array_equal(fitted.predict(rows, of=fitted.hidden_[::-1]), together[:, ::-1])
    np.testing.assert_array_equal(fitted.predict(rows, of=["x1", "x2"]), rows[:, :2])
    for row in range(3):
        given = {f"x{ix + 1}": value for ix, value in enumerate(rows[row])}
        answer = fitted.query(given=given, of=hidden)[hidden]
        np.testing.assert_allclose(list(answer.values()), fitted.predict_proba(rows[[row]], of=hidden)[0])
    joint = fitted.query(given={"x1": 1}, of=["x2", "x3"], joint=True)
    np.testing.assert_allclose(joint.sum(axis=1), list(fitted.query(given={"x1": True}, of="x2")["x2"].values()))
    holes = rows.astype(float)
    holes[:, 0] = np.nan
    guesses = fitted.predict(holes, of="x1")
    np.testing.assert_array_equal(guesses, fitted.impute(holes)[:, 0])
    np.testing.assert_allclose(np.exp(fitted.score_samples(np.array([[1.0] + [np.nan] * 7]))), fitted.query(of="x1")["x1"]["1"])


def test_criteria_are_those_of_scikit_learn(fitted, answers):
    n_parameters = fitted.report_["free_parameters"]
    total = fitted.score_samples(answers).sum()
    np.testing.assert_allclose(total, fitted.log_likelihood_)
    np.testing.assert_allclose(fitted.bic(answers), -2 * total + n_parameters * np.log(len(answers)))
    np.testing.assert_allclose(fitted.aic(answers), -2 * total + 2 * n_parameters)
    np.testing.assert_allclose(fitted.bic(answers), -2 * fitted.report_["bic"])
    np.testing.assert_allclose(fitted.score(answers), total / len(answers))


def test_numbers_alone_make_a_gaussian_tree():
    rng = np.random.default_rng(0)
    cause = rng.normal(size=(2000, 1))
    X = cause + rng.normal(size=(2000, 5))
    tree = LatentTree().fit(X)
    assert tree.hidden_ == ["h1"]
    assert tree.get_feature_names_out().tolist() == ["h1.mean", "h1.variance"]
    assert abs(np.corrcoef(tree.transform(X)[:, 0], cause[:, 0])[0, 1]) > 0.85
    assert not hasattr(tree, "predict_proba")
    assert tree.predict(X).dtype.kind == "f"
    mean = tree.query(given={"x1": 1.5}, of="x2")["x2"]["mean"]
    assert 0.5 < mean < 1.0
    means, covariances = tree.query(of=["x1", "x2"], joint=True)
    np.testing.assert_allclose(covariances, np.cov(X[:, :2].T), atol=0.15)
    states = LatentTree(n_states=3).fit(X)
    assert all(labels is not None for _, observed, _, labels in states.model_.nodes() if not observed)


def test_a_given_tree_is_kept(answers):
    newick = "(x1,x2,x3,x4,(x5,x6,x7,x8)b)a;"
    tree = LatentTree(tree=newick).fit(answers)
    assert sorted(tree.hidden_) == ["a", "b"]
    assert LatentTree(tree=tree).fit(answers).hidden_ == tree.hidden_
    assert LatentTree(tree=tree.to_networkx()).fit(answers).hidden_ == tree.hidden_


def test_a_tree_comes_from_distances(fitted):
    distances, names = fitted.distances()
    tree = LatentTree().fit_distances(distances, names)
    graphs = [nx.Graph(it.to_networkx()) for it in (tree, fitted)]
    assert nx.is_isomorphic(*graphs)


@pytest.mark.parametrize("ending", ["json", "json.gz", "bif", "xmlbif"])
def test_files_hold_the_model(fitted, answers, tmp_path, ending):
    fitted.save(tmp_path / f"model.{ending}")
    again = read_model(tmp_path / f"model.{ending}")
    np.testing.assert_allclose(again.score_samples(answers), fitted.score_samples(answers), rtol=1e-12)
    np.testing.assert_allclose(again.transform(pd.DataFrame(answers, columns=again.feature_names_in_)), fitted.transform(answers))


def test_trees_are_exported(fitted, tmp_path):
    for ending in ("nwk", "dot", "graphml", "txt"):
        fitted.save(tmp_path / f"tree.{ending}")
    assert nx.read_graphml(tmp_path / "tree.graphml").number_of_nodes() == len(fitted.model_.nodes())
    assert read_model(tmp_path / "tree.nwk").hidden_ == fitted.hidden_ or set(read_model(tmp_path / "tree.nwk").hidden_) == set(
        fitted.hidden_
    )
    assert fitted.to_newick().strip().endswith(";") and fitted.to_bif().startswith("network")


def test_graphs_hold_the_model(fitted, answers):
    graph = fitted.to_networkx()
    assert nx.is_tree(nx.Graph(graph))
    assert {name for name, it in graph.nodes(data=True) if not it["observed"]} == set(fitted.hidden_)
    again = from_networkx(graph)
    np.testing.assert_array_equal(again.score_samples(answers), fitted.score_samples(answers))
    plain = nx.Graph(
        [("h", "x1"), ("h", "x2"), ("h", "x3"), ("h", "g"), ("g", "x4"), ("g", "x5"), ("g", "x6"), ("g", "x7"), ("g", "x8")]
    )
    assert sorted(from_networkx(plain).fit(answers).hidden_) == ["g", "h"]
    with pytest.raises(ValueError, match="cycle"):
        from_networkx(nx.cycle_graph(4))


def test_moments_merge_to_those_of_all_rows(answers):
    X = pd.DataFrame(answers).add_prefix("item")
    whole = Moments().update(X)
    parts = [Moments().update(part) for part in (X[:300], X[300:301], X[301:])]
    merged = parts[0] + pickle.loads(pickle.dumps(parts[1])) + parts[2]
    assert (merged.n_rows, merged.names) == (whole.n_rows, list(X.columns))
    assert merged.to_bytes() == whole.to_bytes()
    assert parts[0].n_rows == 300
    stepwise = Moments()
    for start in range(0, len(X), 400):
        stepwise.update(X[start : start + 400])
    assert stepwise.to_bytes() == whole.to_bytes()
    trees = [LatentTree(structure="clrg").fit(it) for it in (merged, whole)]
    assert trees[0].edges() == trees[1].edges()
    assert [edge[:2] for edge in trees[0].edges()] == [
        edge[:2] for edge in LatentTree(structure="clrg", parameters="none").fit(X).edges()
    ]


def test_counts_that_are_to_be_binary_are_so_in_every_part(answers):
    counts = answers * 3
    parts = Moments(kind="binary").update(answers[:500]).update(counts[500:])
    assert parts.to_bytes() == Moments().update(answers).to_bytes()


def test_moments_of_numbers_give_a_whole_model(tmp_path):
    X = np.random.default_rng(0).normal(size=(500, 1)) + np.random.default_rng(1).normal(size=(500, 4))
    moments = Moments().update(X)
    moments.save(tmp_path / "a.moments")
    tree = LatentTree().fit(Moments.load(tmp_path / "a.moments"))
    np.testing.assert_allclose(tree.score(X), LatentTree(parameters="auto").fit(X).score(X), rtol=1e-9)


@pytest.mark.parametrize("options", [{"select": "bic"}, {"structure": "hclt"}, {"structure": "reg-clnj"}, {}], ids=str)
def test_distances_are_there_whatever_found_the_tree(answers, options):
    tree = LatentTree(**options, n_states=2).fit(answers)
    distances, names = tree.distances()
    assert names == [f"x{ix + 1}" for ix in range(8)] and (np.diag(distances) == 0).all()
    np.testing.assert_array_equal(distances, distances.T)
    if options and all(length is None for _, _, length, _ in tree.edges()):
        # Without lengths of their own, two-state trees have those of the correlations in the model.
        for i, j in ((0, 1), (0, 5), (3, 7)):
            p = tree.query(of=[names[i], names[j]], joint=True)
            a, b = p[1].sum(), p[:, 1].sum()
            correlation = (p[1, 1] - a * b) / np.sqrt(a * (1 - a) * b * (1 - b))
            assert np.exp(-distances[i, j]) == pytest.approx(abs(correlation), rel=1e-6)
    within = distances[:4, :4][np.triu_indices(4, 1)].mean()
    assert within < distances[:4, 4:].mean()


def test_without_hidden_variables_there_is_one_constant_column():
    noise = np.random.default_rng(0).integers(2, size=(300, 4))
    with pytest.warns(LatentTreeWarning, match="no significant hidden variable.*constant column"):
        tree = LatentTree().fit(noise)
    assert tree.hidden_ == []
    np.testing.assert_array_equal(tree.transform(noise), np.ones((300, 1)))
    assert tree.get_feature_names_out().tolist() == ["constant"]
    assert list(clone(tree).set_output(transform="pandas").fit(noise).transform(noise)) == ["constant"]
    pipeline = make_pipeline(LatentTree(), LogisticRegression()).fit(noise, noise[:, 0])
    assert set(pipeline.predict(noise)) == {int(noise[:, 0].mean() > 0.5)}


def test_a_file_is_written_in_the_format_of_its_ending(fitted, tmp_path):
    fitted.save(tmp_path / "model")
    assert (tmp_path / "model").read_text() == fitted.to_json()
    for name in ("model.foo", "model.html", "model.json.xz", "model.png.gz"):
        with pytest.raises(ValueError, match="extension"):
            fitted.save(tmp_path / name)
    assert [path.name for path in tmp_path.iterdir()] == ["model"]


def test_pictures_are_drawn(fitted):
    import matplotlib

    matplotlib.use("Agg")
    for layout in ("radial", "layered"):
        ax = fitted.plot(layout=layout, n_items=2)
        texts = {text.get_text() for text in ax.texts}
        assert "x1" in texts and len(texts) == len(fitted.model_.nodes())
        ax.figure.canvas.draw()
    html = fitted._repr_html_()
    assert fitted.hidden_[0] in html and "log-likelihood" in html
    assert "LatentTree" in LatentTree()._repr_html_()

"""The classifier: a model for each class."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import cross_val_score
from sklearn.utils.estimator_checks import check_estimator

from latentree import LatentTree, LatentTreeClassifier, NotFittedError, _latentree, read_model


def sequences(n_rows=1500, seed=0):
    """Two classes of chains with the same marginals: cells repeat the one before, or do not."""
    rng = np.random.default_rng(seed)
    kind = rng.integers(2, size=n_rows)
    cells = [rng.integers(3, size=n_rows)]
    for _ in range(5):
        step = np.where(rng.random(n_rows) < 0.8, np.where(kind == 1, 0, 1), rng.integers(3, size=n_rows))
        cells.append((cells[-1] + step) % 3)
    letters = np.array(list("ACG"), dtype=object)[np.column_stack(cells)]
    return letters, np.array(["donor", "acceptor"], dtype=object)[kind]


def test_it_passes_the_checks_of_scikit_learn():
    results = check_estimator(LatentTreeClassifier(options={"effort": "quick"}), on_skip=None)
    assert len(results) > 40
    assert not [result for result in results if result["status"] in ("failed", "xfail")]


@pytest.mark.parametrize("parameters", ["spectral", "hierarchical", "moments+em"])
def test_classes_of_equal_marginals_are_told_apart(parameters):
    rows, kind = sequences()
    model = LatentTreeClassifier(structure="chain", n_states=3, parameters=parameters)
    # Two classes of equal marginals: by chance half of the rows are right, with a standard error of 0.013.
    assert cross_val_score(model, rows, kind, cv=3).mean() > 0.8
    fitted = model.fit(rows, kind)
    assert fitted.classes_.tolist() == ["acceptor", "donor"]
    chances = fitted.predict_proba(rows)
    np.testing.assert_allclose(chances.sum(axis=1), 1.0)
    assert (fitted.predict(rows) == fitted.classes_[chances.argmax(axis=1)]).all()


def test_pickles_and_clones_answer_as_the_original_does():
    rows, kind = sequences(400)
    model = LatentTreeClassifier(structure="chain", parameters="spectral").fit(rows, kind)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).predict_proba(rows), model.predict_proba(rows))
    assert not hasattr(clone(model), "models_")
    with pytest.raises(NotFittedError):
        clone(model).predict(rows)


def test_missing_cells_are_summed_out():
    rows, kind = sequences()
    holes = rows.copy()
    holes[np.random.default_rng(1).random(rows.shape) < 0.2] = None
    model = LatentTreeClassifier(structure="chain", n_states=3, parameters="spectral").fit(holes, kind)
    assert model.score(rows, kind) > 0.8
    # A row of which nothing is known has the priors.
    nothing = np.full((1, rows.shape[1]), None, dtype=object)
    np.testing.assert_allclose(model.predict_proba(nothing)[0], model.priors_, atol=1e-12)


def test_priors_shift_the_probabilities_by_their_ratio():
    rows, kind = sequences(600)
    by_share = LatentTreeClassifier(structure="chain", parameters="spectral").fit(rows, kind)
    given = LatentTreeClassifier(structure="chain", parameters="spectral", priors=[0.9, 0.1]).fit(rows, kind)
    odds = by_share.predict_proba(rows) / by_share.priors_ * np.array([0.9, 0.1])
    np.testing.assert_allclose(given.predict_proba(rows), odds / odds.sum(axis=1, keepdims=True), atol=1e-9)


def test_what_is_wrong_is_said():
    rows, kind = sequences(60)
    for model, y, expected in [
        (LatentTreeClassifier(), kind[:-1], "60 rows"),
        (LatentTreeClassifier(), np.full(60, "donor", dtype=object), "greater than one"),
        (LatentTreeClassifier(), np.linspace(0.5, 3.2, 60), "continuous"),
        (LatentTreeClassifier(priors=[0.5, 0.6]), kind, "sum to 1"),
        (LatentTreeClassifier(priors="even"), kind, "uniform"),
        (LatentTreeClassifier(options={"colour": 1}), kind, "further option"),
        (LatentTreeClassifier(parameters="spectral", kind="continuous"), np.arange(60) % 2, "kind|number"),
    ]:
        with pytest.raises((ValueError, TypeError), match=expected):
            model.fit(rows, y)


def test_files_are_those_of_the_command_line(tmp_path):
    rows, kind = sequences(400)
    model = LatentTreeClassifier(structure="chain", parameters="spectral").fit(rows, kind)
    path = tmp_path / "classifier.json"
    model.save(path)
    target, labels, priors, models = _latentree.read_classifier(path)
    assert (target, labels) == ("class", ["acceptor", "donor"])
    np.testing.assert_allclose(priors, model.priors_)
    assert [it.render("json") for it in models] == [it.render("json") for it in model.models_]


def test_spectral_models_score_query_and_impute():
    rows, _ = sequences(2000)
    for parameters in ("spectral", "hierarchical"):
        tree = LatentTree(structure="chain", parameters=parameters).fit(rows)
        assert np.isfinite(tree.score_samples(rows)).all()
        assert abs(sum(tree.query(given={"x1": "A"}, of="x2")["x2"].values()) - 1.0) < 1e-9
        holes = rows.copy()
        holes[0, 2] = None
        assert tree.impute(holes)[0, 2] in ("A", "C", "G")


def test_a_file_is_read_again_as_a_classifier(tmp_path):
    rows, kind = sequences(400)
    model = LatentTreeClassifier(structure="chain", parameters="spectral").fit(rows, kind)
    model.save(tmp_path / "classifier.json")
    again = read_model(tmp_path / "classifier.json")
    assert isinstance(again, LatentTreeClassifier)
    np.testing.assert_array_equal(again.predict(rows), model.predict(rows))
    np.testing.assert_allclose(again.predict_proba(rows), model.predict_proba(rows))
    model.fit(rows, (kind == "donor").astype(int)).save(tmp_path / "classifier.json.gz")
    assert read_model(tmp_path / "classifier.json.gz").classes_.tolist() == [0, 1]
    with pytest.raises(ValueError, match="classifier.xlsx"):
        model.save(tmp_path / "classifier.xlsx")

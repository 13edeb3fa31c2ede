"""Groups, labels, tables and the page."""

import warnings

import numpy as np
import pytest

import latentree


def table(n_rows=4000, seed=3):
    """Two hidden causes of four named items each."""
    rng = np.random.default_rng(seed)
    first = rng.random(n_rows) < 0.3
    second = np.where(rng.random(n_rows) < 0.6, first, rng.random(n_rows) < 0.5)
    names = ["cough", "fever", "phlegm", "wheeze", "rash", "itch", "hives", "swelling"]
    causes = [first] * 4 + [second] * 4
    cells = {name: np.where(rng.random(n_rows) < np.where(cause, 0.8, 0.1), 1, 0) for name, cause in zip(names, causes)}
    return names, np.column_stack([cells[name] for name in names])


@pytest.fixture(scope="module")
def named():
    pandas = pytest.importorskip("pandas")
    names, cells = table()
    frame = pandas.DataFrame(cells, columns=names)
    return frame, latentree.LatentTree().fit(frame)


def test_groups_hold_every_variable_once_and_have_labels(named):
    frame, tree = named
    groups = tree.groups_
    assert sorted(groups["name"]) == sorted(tree.hidden_)
    assert sorted(name for names in groups["variables"] for name in names) == sorted(frame.columns)
    assert groups["label"].is_unique
    assert ((groups["share"] > 0) & (groups["share"] < 1)).all()


def test_a_label_is_as_good_as_a_name(named):
    _, tree = named
    for name, label in zip(tree.groups_["name"], tree.groups_["label"]):
        assert tree.query(given={"cough": 1}, of=label) == tree.query(given={"cough": 1}, of=name)
        assert tree.query(given={label: 1}, of="cough") == tree.query(given={name: 1}, of="cough")
    with pytest.raises(ValueError, match="no node"):
        tree.query(of="no such label")


def test_tables_are_the_conditional_distributions(named):
    _, tree = named
    tables = tree.tables_
    assert set(tables) == {name for name, *_ in tree.model_.nodes()}
    for frame in tables.values():
        np.testing.assert_allclose(frame.sum(axis=1), 1.0, rtol=1e-9)
    parents = {child: parent for parent, child, _, _ in tree.edges()}
    for name, parent in parents.items():
        for state in tables[name].index:
            answer = tree.query(given={parent: state}, of=name)[name]
            np.testing.assert_allclose(tables[name].loc[state], list(answer.values()), atol=1e-9)


def test_kinds_summary_and_page(named, tmp_path):
    frame, tree = named
    assert tree.kinds_ == dict.fromkeys(frame.columns, "binary")
    text = tree.summary()
    assert "8 observed" in text and "instead of" in text and all(label in text for label in tree.groups_["label"])
    for rows in (None, frame):
        page = tmp_path / "page.html"
        tree.report(page, rows)
        assert page.read_text(encoding="utf-8").startswith("<!doctype html>")
    with pytest.raises(ValueError, match="html"):
        tree.report(tmp_path / "page.png")


def test_what_depends_on_a_badly_explained_pair_is_told():
    pandas = pytest.importorskip("pandas")
    rng = np.random.default_rng(5)
    # One hidden variable of two states is the cause of the first five columns, and holds the last three independent.
    causes = rng.random((3000, 2)) < 0.4
    names = ["a1", "a2", "a3", "a4", "a5", "b1", "b2", "b3"]
    cells = [rng.random(3000) < np.where(causes[:, ix // 5], 0.85, 0.1) for ix in range(8)]
    frame = pandas.DataFrame(np.column_stack(cells).astype(int), columns=names)
    tree = latentree.LatentTree(tree=f"({','.join(names)})h1;", parameters="em").fit(frame)
    with pytest.warns(latentree.LatentTreeWarning, match="b1 and b2"):
        tree.query(given={"b1": 1}, of="b2")
    with pytest.warns(latentree.LatentTreeWarning, match="explains badly"):
        tree.predict(frame, of="h1")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        tree.query(given={"a1": 1}, of="a2")

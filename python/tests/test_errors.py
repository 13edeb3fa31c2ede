"""Wrong calls raise ValueError or TypeError with a message that says what to try; nothing else gets over the border."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse

import latentree
from conftest import draw
from latentree import (
    LatentTree,
    LatentTreeClassifier,
    Moments,
    NotFittedError,
    from_networkx,
    read_events,
    read_meds,
    read_model,
    read_text,
    topics,
)
from latentree.distributed import merge, observe

ROWS = np.random.default_rng(0).integers(2, size=(60, 4))
FRAME = pd.DataFrame(ROWS, columns=list("abcd"))


ANSWERS = draw(n_rows=500)[0]
GROUPS = LatentTree().fit(ANSWERS)


def fit(X=ROWS, **options):
    return LatentTree(**options).fit(X)


def ask(method, *arguments, **options):
    return getattr(fit(FRAME), method)(*arguments, **options)


def broken_csr():
    csr = scipy.sparse.csr_matrix(ROWS)
    csr.indices[0] = 99
    return csr


WRONG = {
    # tables
    "no table": (lambda: fit(None), TypeError, "table"),
    "a text": (lambda: fit("table.csv"), TypeError, "table"),
    "a dict": (lambda: fit({"a": [1]}), TypeError, "table"),
    "one dimension": (lambda: fit(ROWS[0]), ValueError, "Reshape your data"),
    "three dimensions": (lambda: fit(ROWS[None]), ValueError, "dim 3"),
    "no rows": (lambda: fit(ROWS[:0]), ValueError, "0 sample"),
    "no columns": (lambda: fit(ROWS[:, :0]), ValueError, "0 feature"),
    "ragged": (lambda: fit([[1, 2], [3]]), ValueError, "same length"),
    "complex": (lambda: fit(ROWS * 1j), ValueError, "Complex data not supported"),
    "infinite": (lambda: fit(np.where(ROWS == 1, np.inf, 0.5)), ValueError, r'row \d+, column "x\d".*infinite'),
    "a cell that is a dict": (lambda: fit(np.array([[1, {}]], dtype=object)), TypeError, 'row 1, column "x2".*\'?dict'),
    "dates": (lambda: fit(np.array([["2026-01-01"]], dtype="M8[D]")), TypeError, "datetime64"),
    "lazy": (lambda: fit(pl.LazyFrame({"a": [1]})), TypeError, "collect"),
    "nested": (lambda: fit(pl.DataFrame({"a": [[1], [2]], "b": [1, 2]})), TypeError, "column 'a'"),
    "a name twice": (lambda: fit(pd.DataFrame(ROWS, columns=list("abca"))), ValueError, "same name"),
    "all missing": (lambda: fit(np.full((5, 2), np.nan)), ValueError, "no column remains"),
    "negative counts": (lambda: fit(ROWS - 1, kind="count"), ValueError, "negative"),
    "sparse columns that are not there": (lambda: fit(broken_csr()), ValueError, "sparse"),
    "sparse objects": (lambda: fit(scipy.sparse.csr_matrix(ROWS.astype(float)).astype(complex)), ValueError, "Complex"),
    # weights
    "few weights": (lambda: LatentTree().fit(ROWS, sample_weight=[1.0]), ValueError, "sample_weight"),
    "negative weights": (lambda: LatentTree().fit(ROWS, sample_weight=-np.ones(60)), ValueError, "negative"),
    "missing weights": (lambda: LatentTree().fit(ROWS, sample_weight=np.full(60, np.nan)), ValueError, "weight"),
    "no weight at all": (lambda: LatentTree().fit(ROWS, sample_weight=np.zeros(60)), ValueError, "weight"),
    "weights in two dimensions": (lambda: LatentTree().fit(ROWS, sample_weight=np.ones((60, 2))), ValueError, "1D"),
    "weights that are texts": (lambda: LatentTree().fit(ROWS, sample_weight=["heavy"] * 60), TypeError, "sample_weight"),
    # options
    "an unknown learner": (lambda: fit(structure="magic"), ValueError, "structure: .*magic.* is not one of auto"),
    "a learner that is a number": (lambda: fit(structure=3), TypeError, "structure"),
    "unknown parameters": (lambda: fit(parameters="guess"), ValueError, "parameters"),
    "an unknown distance": (lambda: fit(distance="far"), ValueError, "distance"),
    "an unknown decomposition": (lambda: fit(decomposition="x"), ValueError, "decomposition"),
    "an unknown start": (lambda: fit(start="there"), ValueError, "start"),
    "an unknown kind": (lambda: fit(kind="colour"), ValueError, "kind"),
    "a kind of an unknown column": (lambda: fit(FRAME, kind={"e": "binary"}), ValueError, 'kind: the data have no column "e"'),
    "a kind that is a number": (lambda: fit(kind={"x1": 2}), TypeError, "kind"),
    "kinds in a list": (lambda: fit(kind=["binary"]), TypeError, "kind"),
    "no states": (lambda: fit(n_states=0), ValueError, "n_states"),
    "negative states": (lambda: fit(n_states=-2), ValueError, "n_states"),
    "half a state": (lambda: fit(n_states=2.5), TypeError, "n_states"),
    "states by a wrong name": (lambda: fit(n_states="many"), ValueError, "n_states"),
    "a true number of states": (lambda: fit(n_states=True), TypeError, "n_states"),
    "states of no tree": (lambda: fit(states={"h1": 3}), ValueError, "states: .*tree"),
    "states of a column": (lambda: fit(tree="(x1,x2,x3,x4)h1;", states={"x1": 3}), ValueError, "states: .*x1.* is observed"),
    "states of no node": (lambda: fit(tree="(x1,x2,x3,x4)h1;", states={"h2": 3}), ValueError, "states: .*h2"),
    "one state of a node": (lambda: fit(tree="(x1,x2,x3,x4)h1;", states={"h1": 1}), ValueError, "states: 1"),
    "states that are no numbers": (lambda: fit(tree="(x1,x2,x3,x4)h1;", states={"h1": "many"}), TypeError, "states"),
    "no replicates": (lambda: fit(bootstrap=0), ValueError, "bootstrap"),
    "no tolerance": (lambda: fit(em_tolerance=float("nan")), ValueError, "em_tolerance"),
    "negative passes": (lambda: fit(em_iterations=-1), ValueError, "em_iterations"),
    "a contraction above 1": (lambda: fit(contract=2), ValueError, "contract"),
    "a negative seed": (lambda: fit(random_state=-1), ValueError, "random_state"),
    "a seed that is a text": (lambda: fit(random_state="dice"), ValueError, "random_state"),
    "no jobs": (lambda: fit(n_jobs=0), ValueError, "n_jobs"),
    "half a job": (lambda: fit(n_jobs=0.5), TypeError, "n_jobs"),
    "a tree that is none": (lambda: fit(tree="((x1,x2);"), ValueError, "Newick"),
    "a tree of other columns": (lambda: fit(tree="(a,b,c,d);"), ValueError, "x1"),
    "a tree that is a number": (lambda: fit(tree=7), TypeError, "tree"),
    "a tree with a cycle": (
        lambda: fit(
            tree='{"nodes":[{"name":"a","observed":true},{"name":"b","observed":true}],"edges":['
            '{"source":"a","target":"b"},{"source":"b","target":"a"}]}'
        ),
        ValueError,
        "joined by two edges",
    ),
    # asking
    "not fitted": (lambda: LatentTree().predict(ROWS), NotFittedError, "not fitted"),
    "other columns": (lambda: ask("predict", FRAME[["a", "b"]]), ValueError, "feature names"),
    "too few columns": (lambda: fit().predict(ROWS[:, :2]), ValueError, "expecting 4 features"),
    "an unknown label": (
        lambda: fit(FRAME, handle_unknown="error").transform(FRAME + 5),
        ValueError,
        'row 1, column "a".*is not a label of this column.*handle_unknown="missing"',
    ),
    "an unknown way with unknown labels": (lambda: fit(handle_unknown="guess"), ValueError, "handle_unknown"),
    "an unknown node": (lambda: ask("predict", FRAME, of="h99"), ValueError, "no node"),
    "a node that is a number": (lambda: ask("predict", FRAME, of=1), TypeError, "of"),
    "probabilities of several nodes": (lambda: GROUPS.predict_proba(ANSWERS, of=["x1"]), TypeError, "of"),
    "unknown evidence": (lambda: ask("query", given={"z": 1}), ValueError, "no node"),
    "impossible evidence": (lambda: ask("query", given={"a": 7}), ValueError, "values"),
    "evidence in a list": (lambda: ask("query", given=["a"]), TypeError, "given"),
    "no samples": (lambda: ask("sample", 0), ValueError, "n_samples"),
    "samples by name": (lambda: ask("sample", "many"), TypeError, "n_samples"),
    "a wrong layout": (lambda: ask("plot", layout="spiral"), ValueError, "layout"),
    "parameters of a tree alone": (lambda: fit(parameters="none").score(ROWS), ValueError, "tree without tables"),
    # files, moments, graphs
    "a file of no format": (lambda: ask("save", "/nowhere/model.foo"), ValueError, "model.foo.*nwk"),
    "a compressed file of no format": (lambda: ask("save", "/nowhere/model.png.gz"), ValueError, "model.png.gz"),
    "moments as a table": (lambda: Moments().update(ROWS).save("/nowhere/moments.csv"), ValueError, r"\.moments"),
    "no file": (lambda: read_model("/nowhere/model.json"), FileNotFoundError, "nowhere"),
    "a file that is no model": (lambda: read_model(__file__), ValueError, "model"),
    "no moments": (lambda: LatentTree().fit(Moments()), ValueError, "no rows"),
    "broken moments": (lambda: Moments.from_bytes(b"nothing like it"), ValueError, "moments"),
    "moments from a text": (lambda: Moments.from_bytes("text"), TypeError, "bytes"),
    "moments of other columns": (lambda: Moments().update(ROWS).merge(Moments().update(ROWS[:, :2])), ValueError, "incompatible"),
    "merging what is no moments": (lambda: Moments().merge(ROWS), TypeError, "Moments"),
    "weights that are no frequencies": (
        lambda: LatentTree(weight_kind="frequency").fit(ROWS, sample_weight=np.full(60, 0.5)),
        ValueError,
        "weight_kind",
    ),
    "an unknown kind of weights": (lambda: LatentTree(weight_kind="survey").fit(ROWS), ValueError, "weight_kind"),
    "memory that is no size": (lambda: LatentTree(memory="lots").fit(ROWS), ValueError, "memory"),
    "too many states": (lambda: LatentTree(n_states=2**32).fit(ROWS), ValueError, "n_states"),
    "states beyond signed numbers": (lambda: LatentTree(n_states=2**63).fit(ROWS), ValueError, "n_states"),
    "too many replicates": (lambda: LatentTree(bootstrap=10**10).fit(ROWS), ValueError, "bootstrap"),
    "too many restarts": (lambda: LatentTree(restarts=10**10).fit(ROWS), ValueError, "restarts"),
    "too many passes": (lambda: LatentTree(em_iterations=10**10).fit(ROWS), ValueError, "em_iterations"),
    "too many threads": (lambda: LatentTree(n_jobs=10**6).fit(ROWS), ValueError, "n_jobs"),
    "too many rows to draw": (lambda: LatentTree().fit(ROWS).sample(10**15), ValueError, "rows"),
    "weights beside moments": (lambda: LatentTree().fit(Moments().update(ROWS), sample_weight=1), ValueError, "weights"),
    "no graph": (lambda: from_networkx([1, 2]), TypeError, "networkx"),
    "distances that differ": (lambda: LatentTree().fit_distances([[0, 1.0], [2.0, 0]]), ValueError, "symmetric"),
    "distances that are not square": (lambda: LatentTree().fit_distances(np.ones((2, 3))), ValueError, "shape"),
    "distances that are no numbers": (lambda: LatentTree().fit_distances([["a"]]), TypeError, "distances"),
    "a contraction in a dict": (lambda: fit(contract={}), ValueError, "contract: a correlation or none is needed"),
    "more samples than numbers": (lambda: ask("sample", 10**20), ValueError, "n_samples"),
    "items by name": (lambda: GROUPS.items("many"), TypeError, "n: 'many' given"),
    # one name instead of a list of names
    "names of distances in a text": (lambda: LatentTree().fit_distances(np.zeros((3, 3)), names="abc"), TypeError, r"names: .*\['abc'\]"),
    "hidden nodes in a text": (lambda: read_model("model.bif", hidden="h1"), TypeError, r"hidden: .*\['h1'\]"),
    "columns in a text": (lambda: LatentTree().fit_passes(bytes, columns="abc"), TypeError, r"columns: .*\['abc'\]"),
    "documents in a text": (lambda: read_text(texts="a b"), TypeError, r"texts: .*\['a b'\]"),
    "words in a text": (lambda: read_text(texts=["a b"], vocabulary="abc"), TypeError, r"vocabulary: .*\['abc'\]"),
    # passes
    "no function": (lambda: LatentTree().fit_passes(None), TypeError, "run"),
    "no function for validation": (lambda: LatentTree().fit_passes(bytes, validation="rows"), TypeError, "validation"),
    "a weight column by number": (lambda: LatentTree().fit_passes(bytes, weight_col=3), TypeError, "weight_col"),
    "bytes in words": (lambda: LatentTree().fit_passes(bytes, sample_bytes="64M"), TypeError, "sample_bytes"),
    "an answer that is a text": (lambda: LatentTree().fit_passes(lambda task: "x"), TypeError, "run must return"),
    "a task that is a text": (lambda: observe("task", [FRAME]), TypeError, "task: str given"),
    "a task that is none": (lambda: observe(b"task", [FRAME]), ValueError, "task"),
    "no batches": (lambda: observe(b"task", None), TypeError, "batches: NoneType given"),
    "answers in a text": (lambda: merge("abc"), TypeError, "answers"),
    "answers that are texts": (lambda: merge(["abc"]), TypeError, "answers: str given"),
    "no answers": (lambda: merge([]), ValueError, "answers"),
    # classes
    "no class": (lambda: classify([None, *"ab" * 29, "a"]), ValueError, "y: 1 rows have no class"),
    "a class that is NA": (lambda: classify(pd.array([None, *[1, 0] * 29, 1], dtype="Int64")), ValueError, "y: 1 rows have no class"),
    "classes of two types": (lambda: classify(np.array(["a", 1] * 30, dtype=object)), TypeError, r"y: .*\(int, str\)"),
    "options in a text": (lambda: classify([0, 1] * 30, options="effort=quick"), TypeError, "options: .*dict"),
    "priors in a dict": (lambda: classify([0, 1] * 30, priors={"a": 1}), TypeError, "priors"),
    # events, texts and topics
    "a column by number": (lambda: read_events(__file__, 0, "c"), TypeError, "row: 0 given"),
    "codes by number": (lambda: read_events(__file__, "p", "c", codes=3), TypeError, "codes"),
    "few rows": (lambda: read_events(__file__, "p", "c", min_rows=-1), ValueError, "min_rows"),
    "a share in words": (lambda: read_events(__file__, "p", "c", coverage="most"), TypeError, "coverage"),
    "a group file and one column": (lambda: read_events(__file__, "p", "c", rollup=("f.csv", "c")), TypeError, "rollup"),
    "a split by number": (lambda: read_meds(".", split=3), TypeError, "split"),
    "stop words in a list": (lambda: read_text(texts=["a b"], stop=["a"]), TypeError, "stop"),
    "a share of words in words": (lambda: read_text(texts=["a b"], coverage="most"), TypeError, "coverage"),
    "a column of texts": (lambda: read_text(texts=["a b"], column="x"), ValueError, "column: .*texts"),
    "no files": (lambda: read_text([]), ValueError, "source"),
    "bytes that are no text": (lambda: fit(np.array([[b"a", b"\xff"]] * 9)), ValueError, "UTF-8"),
    "tables of a tree": (lambda: fit(ANSWERS, structure="clnj", parameters="none").tables_, ValueError, "a tree alone has no tables"),
    "topics of a number": (lambda: topics(3), TypeError, "model: int given"),
    "no words of topics": (lambda: topics(GROUPS, n_words=0), ValueError, "n_words"),
}


def classify(y, **options):
    return LatentTreeClassifier(structure="chain", **options).fit(ROWS, y)


@pytest.mark.parametrize("case", WRONG)
def test_a_wrong_call_raises_what_it_should(case):
    call, error, message = WRONG[case]
    with pytest.raises(error, match=message) as caught:
        call()
    assert "--" not in str(caught.value), "options have the names of Python's arguments"
    assert not isinstance(caught.value, RuntimeError), "a bug is not a message"


def test_an_estimator_stays_as_it_was_when_fitting_fails():
    tree = fit()
    before = tree.to_json()
    with pytest.raises(ValueError):
        tree.fit(np.full((3, 2), np.nan))
    assert tree.to_json() == before


def test_moments_stay_as_they_were_when_updating_fails():
    moments = Moments().update(ROWS)
    before = moments.to_bytes()
    with pytest.raises(ValueError):
        moments.update(ROWS + 7)
    assert moments.to_bytes() == before


def test_hostile_names_are_only_names(tmp_path):
    names = ["<script>alert(1)</script>", "quo\"te's", "x" * 10_000, "🙂‮", "a,b;(c):d"]
    rows = np.where(np.random.default_rng(0).random((400, 1)) < 0.5, 1, 0)
    rows = np.where(np.random.default_rng(1).random((400, 5)) < 0.85, rows, 1 - rows)
    tree = LatentTree().fit(pd.DataFrame(rows, columns=names))
    assert "<script>" not in tree._repr_html_()
    tree.save(tmp_path / "model.json")
    again = read_model(tmp_path / "model.json")
    assert again.feature_names_in_.tolist() == names
    assert again.to_json() == tree.to_json()
    assert latentree.LatentTree(tree=tree.to_newick()).fit(pd.DataFrame(rows, columns=names)).hidden_ == tree.hidden_

"""The same table in any container is the same table."""

import decimal
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse

from latentree import LatentTree, LatentTreeWarning

NAMES = [f"item{ix}" for ix in range(8)]


def with_holes(answers):
    table = answers.astype(float)
    table[np.random.default_rng(5).random(table.shape) < 0.1] = np.nan
    return table


def model_of(X, **options):
    return LatentTree(**options).fit(X).to_json()


@pytest.fixture(scope="module")
def frame(answers):
    return pd.DataFrame(with_holes(answers), columns=NAMES)


@pytest.mark.parametrize("dtype", ["f8", "f4", "f2", "g", "i8", "i4", "i2", "i1", "u8", "u4", "u2", "u1", ">f8", ">i4", object])
def test_numbers_of_any_width_are_the_same_numbers(answers, dtype):
    assert model_of(answers.astype(dtype)) == model_of(answers)


def test_any_strides_are_read(answers):
    expected = model_of(answers)
    assert model_of(np.asfortranarray(answers)) == expected
    wide = np.repeat(answers, 2, axis=1)
    assert model_of(wide[:, ::2]) == expected
    assert model_of(answers[::-1][::-1]) == expected
    read_only = answers.copy()
    read_only.setflags(write=False)
    assert model_of(read_only) == expected


def test_lists_are_arrays(answers):
    assert model_of(answers.tolist()) == model_of(answers)
    assert model_of([tuple(row) for row in answers.tolist()]) == model_of(answers)


def test_missing_cells_are_missing_however_they_are_written(answers):
    table = with_holes(answers)
    expected = model_of(table)
    as_none = [[None if np.isnan(cell) else int(cell) for cell in row] for row in table]
    assert model_of(as_none) == expected
    as_na = np.array([[pd.NA if cell is None else cell for cell in row] for row in as_none], dtype=object)
    assert model_of(as_na) == expected
    assert model_of(np.ma.masked_invalid(table)) == expected


def test_data_frames_with_names_are_the_same_table(frame):
    expected = model_of(frame)
    assert '"item3"' in expected
    nullable = frame.astype("Int64")
    assert model_of(nullable) == expected
    assert model_of(frame.astype("Float32")) == expected
    assert model_of(pl.from_pandas(nullable)) == expected
    table = pa.Table.from_pandas(nullable)
    assert model_of(table) == expected
    assert model_of(table.to_batches()[0]) == expected
    pieces = pa.concat_tables([table.slice(0, 700), table.slice(700)])
    assert model_of(pieces) == expected
    assert model_of(frame.convert_dtypes(dtype_backend="pyarrow")) == expected


def test_texts_are_the_same_in_every_container(answers):
    words = np.array(["no", "yes"], dtype=object)[answers]
    expected = model_of(pd.DataFrame(words, columns=NAMES))
    assert '["no", "yes"]' in expected.replace('","', '", "')
    strings = pd.DataFrame(words, columns=NAMES).astype("string")
    assert model_of(strings) == expected
    assert model_of(pl.from_pandas(strings)) == expected
    assert model_of(pl.from_pandas(strings).cast(pl.Categorical)) == expected
    assert model_of(pa.Table.from_pandas(strings)) == expected
    plain = model_of(words)
    assert model_of(words.astype(str)) == plain
    assert model_of(words.astype("S3")) == plain


def test_two_words_are_as_good_as_zero_and_one(answers):
    words = np.array(["no", "yes"], dtype=object)[answers]
    numbers, texts = LatentTree().fit(answers), LatentTree().fit(words)
    assert [edge[:2] for edge in numbers.edges()] == [edge[:2] for edge in texts.edges()]
    np.testing.assert_allclose(numbers.score_samples(answers), texts.score_samples(words), rtol=1e-3)


def test_truth_values_are_the_same_in_every_container(answers):
    truths = pd.DataFrame(answers == 1, columns=NAMES)
    expected = model_of(truths)
    assert model_of(truths.astype("boolean")) == expected
    assert model_of(pl.from_pandas(truths)) == expected
    assert model_of(pa.Table.from_pandas(truths)) == expected
    holes = truths.astype("boolean").mask(np.random.default_rng(0).random(truths.shape) < 0.1)
    assert model_of(pl.from_pandas(holes)) == model_of(holes) == model_of(pa.Table.from_pandas(holes))


def test_levels_keep_their_order_also_unused_ones(answers):
    words = np.array(["small", "large"], dtype=object)[answers]
    levels = ["small", "large", "huge"]
    frame = pd.DataFrame({name: pd.Categorical(words[:, ix], categories=levels) for ix, name in enumerate(NAMES)})
    tree = LatentTree().fit(frame)
    assert tree.model_.columns()[0] == ("item0", "categorical", levels)
    assert model_of(pa.Table.from_pandas(frame)) == tree.to_json()
    assert model_of(pl.from_pandas(frame.astype(str)).cast(pl.Enum(levels))) == tree.to_json()
    drawn = tree.sample(20)
    assert list(drawn["item0"].cat.categories) == levels
    numbers = frame.apply(lambda column: column.cat.rename_categories([10, 20, 30]))
    assert LatentTree().fit(numbers).model_.columns()[0] == ("item0", "categorical", ["10", "20", "30"])


def test_sparse_rows_are_the_dense_table(answers):
    csr = scipy.sparse.csr_matrix(answers)
    dense = LatentTree().fit(answers)
    for X in (csr, scipy.sparse.csc_array(answers), scipy.sparse.coo_matrix(answers), csr.astype(np.int8), csr.astype(bool)):
        sparse = LatentTree().fit(X)
        assert sparse.edges() == dense.edges()
        np.testing.assert_allclose(sparse.score_samples(X), dense.score_samples(answers), rtol=1e-6)
    assert LatentTree(parameters="none", kind="count").fit(csr).model_.columns()[0][1] == "count"
    missing = csr.astype(float)
    missing.data[::3] = np.nan
    np.testing.assert_allclose(dense.score_samples(missing), dense.score_samples(missing.toarray()))
    assert not np.isnan(dense.impute(missing)).any()


def test_counts_become_words_that_occur(answers):
    counts = scipy.sparse.csr_matrix(answers * np.random.default_rng(0).integers(1, 5, answers.shape))
    tree = LatentTree(kind="binary").fit(counts)
    assert tree.edges() == LatentTree().fit(answers).edges()
    np.testing.assert_allclose(
        tree.transform(counts), LatentTree(kind="binary").fit(counts.toarray()).transform(counts.toarray()), atol=1e-6
    )


def test_numbers_of_other_types_are_numbers(answers):
    decimals = [[decimal.Decimal(int(cell)) for cell in row] for row in answers[:300]]
    assert model_of(decimals) == model_of(answers[:300])
    table = pa.Table.from_pandas(pd.DataFrame(answers[:300], columns=NAMES))
    as_decimals = table.cast(pa.schema([(name, pa.decimal128(20, 0)) for name in NAMES]))
    assert model_of(as_decimals) == model_of(table)


def test_columns_that_are_no_variables_are_left_out_with_a_warning(frame):
    named = frame.assign(patient=[f"p{ix}" for ix in range(len(frame))], empty=np.nan)
    with pytest.warns(LatentTreeWarning, match="identifier"):
        tree = LatentTree().fit(named)
    assert [name for name, _, _ in tree.model_.columns()] == NAMES
    assert tree.n_features_in_ == 10
    assert tree.transform(named).shape[0] == len(named)
    when = frame.assign(when=pd.Timestamp("2026-01-01"))
    with pytest.raises(TypeError, match="dates or times"):
        LatentTree().fit(when)
    assert LatentTree(kind={"when": "ignore"}).fit(when).transform(when).shape[0] == len(when)


def test_a_column_alone_can_be_any_kind(frame):
    kinds = {"item0": "continuous", "item1": "categorical", "item2": "ignore", "*": "binary"}
    tree = LatentTree(kind=kinds).fit(frame)
    assert {name: kind for name, kind, _ in tree.model_.columns()} == {
        name: {"item0": "continuous", "item1": "categorical"}.get(name, "binary") for name in NAMES if name != "item2"
    }


@pytest.mark.parametrize("container", ["numpy", "object", "pandas", "nullable", "category", "string", "polars", "pyarrow"])
def test_imputing_fills_holes_in_the_same_container_and_nothing_else(answers, container):
    table = with_holes(answers)
    frame = pd.DataFrame(table, columns=NAMES)
    X = {
        "numpy": lambda: table,
        "object": lambda: np.where(np.isnan(table), None, table),
        "pandas": lambda: frame,
        "nullable": lambda: frame.astype("Int64"),
        "category": lambda: frame.astype("Int64").astype("category"),
        "string": lambda: frame.map(lambda cell: None if np.isnan(cell) else f"answer {int(cell)}").astype("string"),
        "polars": lambda: pl.from_pandas(frame.astype("Int64")),
        "pyarrow": lambda: pa.Table.from_pandas(frame.astype("Int64").astype("category")),
    }[container]()
    full = LatentTree().fit(X).impute(X)
    assert type(full) is type(X)

    def cells(table):
        if isinstance(table, (pl.DataFrame, pa.Table)):
            table = table.to_pandas()
        return pd.DataFrame(np.asarray(table)).map(lambda it: it if not isinstance(it, str) else it[-1:]).astype(float).to_numpy()

    if container in ("pandas", "nullable", "category", "string"):
        assert (full.dtypes == X.dtypes).all() and full.index.equals(X.index)
    assert not np.isnan(cells(full)).any()
    known = ~np.isnan(table)
    np.testing.assert_array_equal(cells(full)[known], table[known])
    right = (cells(full) == answers)[~known].mean()
    assert right > 0.7


def test_samples_come_in_the_container_that_was_fitted(frame, answers):
    assert isinstance(LatentTree().fit(frame).sample(5), pd.DataFrame)
    assert isinstance(LatentTree().fit(pl.from_pandas(frame)).sample(5), pl.DataFrame)
    assert isinstance(LatentTree().fit(pa.Table.from_pandas(frame)).sample(5), pa.Table)
    tree = LatentTree().fit(answers)
    rows, hidden = tree.sample(4000, hidden=True)
    assert rows.shape == (4000, 8) and hidden.shape == (4000, len(tree.hidden_)) and hidden.dtype.kind == "i"
    np.testing.assert_allclose(rows.mean(axis=0), answers.mean(axis=0), atol=0.05)
    assert set(np.unique(tree.sample(50, given={"x1": 1})[:, 0])) == {1.0}


def test_warnings_can_be_errors(frame):
    with warnings.catch_warnings():
        warnings.simplefilter("error", LatentTreeWarning)
        LatentTree().fit(frame)

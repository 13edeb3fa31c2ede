"""Public data: known neighbourhoods, and the same model as the command line gives."""

import gzip
import os
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import scipy.sparse

from latentree import LatentTree


def own_neighbours(tree, group):
    """How many items have another of their own group as nearest on the tree."""
    distances, names = tree.distances()
    np.fill_diagonal(distances, np.inf)
    return sum(group(name) == group(names[int(nearest)]) for name, nearest in zip(names, np.nanargmin(distances, axis=1)))


def test_personality_items_are_near_those_of_their_factor(real_data):
    answers = pd.read_csv(real_data / "surveys" / "bfi.csv.gz").iloc[:, :25]
    assert answers.isna().any().any()
    tree = LatentTree().fit(answers)
    assert own_neighbours(tree, lambda name: name[0]) >= 22


def test_words_of_newsgroups_are_near_their_own(real_data):
    words = pd.read_csv(real_data / "news20_w100" / "news20_w100.csv.gz")
    tree = LatentTree().fit(words)
    distances, names = tree.distances()
    for word, other in {"hockey": "nhl", "windows": "dos", "israel": "jews", "orbit": "shuttle", "god": "jesus"}.items():
        order = [names[ix] for ix in distances[names.index(word)].argsort()[1:8]]
        assert other in order, (word, order)
    assert tree.report_["rows"] == 16242


def read_docword(path):
    with gzip.open(path, "rt") as file:
        n_rows, n_columns, _ = (int(next(file)) for _ in range(3))
        cells = np.loadtxt(file, dtype=np.int64)
    return scipy.sparse.csr_matrix((cells[:, 2], (cells[:, 0] - 1, cells[:, 1] - 1)), shape=(n_rows, n_columns))


def test_words_of_blogs_are_read_as_sparse_rows(real_data):
    counts = read_docword(real_data / "bow" / "docword.kos.txt.gz")
    frequent = counts[:, np.sort(np.argsort(-(counts > 0).sum(axis=0).A1)[:100])]
    tree = LatentTree(kind="binary").fit(frequent)
    assert tree.report_["rows"] == 3430 and len(tree.hidden_) > 10
    np.testing.assert_allclose(tree.score_samples(frequent), tree.score_samples(frequent.toarray()), rtol=1e-9)
    # Most words, and the tree alone.
    words = counts[:, np.flatnonzero((counts > 0).sum(axis=0).A1 >= 20)]
    assert words.shape[1] > 2000
    assert len(LatentTree(kind="binary", structure="chow-liu", parameters="none").fit(words).edges()) > 2000


@pytest.mark.skipif("LATENTREE_PROGRAM" not in os.environ, reason="LATENTREE_PROGRAM names the command line")
def test_the_command_line_learns_the_same_model(real_data, tmp_path):
    program = os.environ["LATENTREE_PROGRAM"]
    assert shutil.which(program) or Path(program).exists()
    file = real_data / "news20_w100" / "news20_w100.csv.gz"
    output = tmp_path / "model.json"
    command = [program, "learn", str(file), "-o", str(output), "--parameters", "moments+em"]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    tree = LatentTree().fit(pd.read_csv(file))
    theirs = [line for line in output.read_text().splitlines() if "data_digest" not in line and "checksum" not in line]
    ours = [line for line in tree.to_json().splitlines() if "data_digest" not in line and "checksum" not in line]
    assert [line for line in ours if "provenance" not in line] == [line for line in theirs if "provenance" not in line]

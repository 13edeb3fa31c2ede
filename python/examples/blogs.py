"""Words of political blogs, as SciPy's sparse rows: python blogs.py docword.kos.txt.gz vocab.kos.txt"""

import gzip
import sys
import time
from pathlib import Path

import numpy as np
from scipy.sparse import csr_matrix

from latentree import LatentTree

with gzip.open(sys.argv[1], "rt") as file:
    n_rows, n_columns, _ = (int(next(file)) for _ in range(3))
    row, column, count = np.loadtxt(file, dtype=np.int64).T
names = Path(sys.argv[2]).read_text().split()
posts = csr_matrix((count, (row - 1, column - 1)), shape=(n_rows, n_columns))
frequent = np.flatnonzero((posts > 0).sum(axis=0).A1 >= 60)
begun = time.perf_counter()
tree = LatentTree(kind="binary", verbose=True).fit(posts[:, frequent])
seconds = time.perf_counter() - begun
word = {f"x{ix + 1}": names[at] for ix, at in enumerate(frequent)}
for hidden, items in list(tree.items(n=6).items())[:25]:
    print(hidden, *(word[item] for item in items))
print(f"{n_rows} posts, {len(frequent)} words, {len(tree.hidden_)} hidden variables, {seconds:.1f} s")

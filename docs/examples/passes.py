# [start:engine]
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import pyarrow.csv

from latentree import LatentTree
from latentree.distributed import merge, observe


def answer(task, first_row):  # runs wherever the rows are
    part = pyarrow.csv.read_csv("examples/clinic.csv").slice(first_row, 1250)
    return observe(task, part.to_batches())


def run(pool, task):
    return merge(list(pool.map(partial(answer, task), [0, 1250, 2500, 3750])))
# [end:engine]

# [start:learn]
with ThreadPoolExecutor(2) as pool:
    tree = LatentTree(structure="clnj").fit_passes(partial(run, pool))
print(tree.report_["rows"], "rows,", len(tree.hidden_), "hidden variables, log-likelihood", round(tree.log_likelihood_, 2))
# [end:learn]

"""Topics of 20 newsgroups, through pandas: python newsgroups.py news20_w100.csv.gz"""

import sys
import time

import pandas as pd

from latentree import LatentTree

words = pd.read_csv(sys.argv[1])
begun = time.perf_counter()
tree = LatentTree(verbose=True).fit(words)
seconds = time.perf_counter() - begun
for hidden, items in tree.items(n=6).items():
    print(hidden, *items)
print(f"{len(words)} posts, {len(tree.hidden_)} hidden variables, log-likelihood {tree.log_likelihood_:.1f}, {seconds:.1f} s")
print("P(nasa | orbit) =", round(tree.query(given={"orbit": 1}, of="nasa")["nasa"]["1"], 3))

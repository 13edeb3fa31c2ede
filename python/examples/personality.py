"""Five personality factors from a survey with missing answers: python personality.py bfi.csv.gz"""

import sys

import pandas as pd

from latentree import LatentTree

answers = pd.read_csv(sys.argv[1]).iloc[:, :25]
tree = LatentTree().fit(answers)
for hidden, items in tree.items(n=5).items():
    print(hidden, *items)
distances, names = tree.distances()
nearest = [names[row.argsort()[1]] for row in distances]
own = sum(item[0] == other[0] for item, other in zip(names, nearest))
print(f"{own} of {len(names)} items are nearest to another of their own factor")

# [start:moments]
import pickle

import pandas as pd

from latentree import LatentTree, Moments

north = Moments(kind="binary").update(pd.read_csv("north.csv"))
south = Moments(kind="binary").update(pd.read_csv("south.csv"))
west = Moments(kind="binary").update(pd.read_csv("west.csv"))
message = pickle.dumps(south)  # what travels: sums over pairs of columns, no rows
everything = north + pickle.loads(message) + west
print(everything, f"{len(message)} bytes sent")
# [end:moments]

# [start:fit]
tree = LatentTree().fit(everything)
for hidden, items in tree.items(n=4).items():
    print(hidden, *items)
# [end:fit]

# [start:plot]
import matplotlib.pyplot as plt

tree.plot(layout="radial")
plt.savefig("federated.png", dpi=80, bbox_inches="tight")
# [end:plot]

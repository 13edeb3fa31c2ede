"""Two clinics that may not share patients share moments: python federated.py ../../examples/clinic.csv"""

import pickle
import sys

import pandas as pd

from latentree import LatentTree, Moments

patients = pd.read_csv(sys.argv[1])
here = Moments(kind="binary").update(patients[::2])
there = Moments(kind="binary").update(patients[1::2])
message = pickle.dumps(there)  # what travels: sums over pairs of columns, no rows
both = here + pickle.loads(message)
tree = LatentTree(structure="clrg").fit(both)
print(f"{both.n_rows} patients, {len(message)} bytes sent")
print(tree.to_text())

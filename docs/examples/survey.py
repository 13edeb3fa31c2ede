# [start:fit]
import pandas as pd

from latentree import LatentTree

answers = pd.read_csv("survey.csv", dtype="category")
print(f"{answers.isna().mean().mean():.0%} of the answers are missing, {len(answers.dropna())} of {len(answers)} rows complete")
tree = LatentTree(n_states=3).fit(answers)
for hidden, items in tree.items(n=4).items():
    print(hidden, *items)
# [end:fit]

# [start:states]
for n_states in (2, 3, 4):
    print(n_states, round(LatentTree(n_states=n_states).fit(answers).bic(answers)))
# [end:states]

# [start:numbers]
import numpy as np
import pandas as pd

from latentree import LatentTree

whole = pd.read_csv("returns.csv")  # from the page about stocks
missing = np.random.default_rng(0).random(whole.shape) < 0.2
holes = whole.mask(missing)
filled = LatentTree().fit(holes).impute(holes)


def error(guess):
    return float(np.sqrt(((guess - whole).to_numpy()[missing] ** 2).mean()))


print(f"root mean square error: means {error(holes.fillna(holes.mean())):.3f}, tree {error(filled):.3f}")
# [end:numbers]

# [start:plot]
import matplotlib.pyplot as plt

plt.figure(figsize=(5, 5))
plt.scatter(whole.to_numpy()[missing], filled.to_numpy()[missing], s=6)
plt.axline((0, 0), slope=1, color="grey", linewidth=1)
plt.xlabel("hidden value")
plt.ylabel("imputed value")
plt.savefig("impute.png", dpi=90, bbox_inches="tight")
# [end:plot]

# [start:categories]
answers = pd.read_csv("survey.csv", dtype="category")  # from the page about surveys
known = answers.notna().to_numpy()
hide = known & (np.random.default_rng(1).random(answers.shape) < 0.1)
holes = answers.mask(hide)
filled = LatentTree(n_states=3).fit(holes).impute(holes)
commonest = holes.fillna(holes.mode().iloc[0])
for name, guess in (("most frequent answer", commonest), ("tree", filled)):
    print(f"{name}: {(guess.to_numpy() == answers.to_numpy())[hide].mean():.0%} of {hide.sum()} hidden answers right")
# [end:categories]

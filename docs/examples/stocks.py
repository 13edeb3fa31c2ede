# [start:fit]
import matplotlib.pyplot as plt
import pandas as pd

from latentree import LatentTree

returns = pd.read_csv("returns.csv")
tree = LatentTree(bootstrap=50).fit(returns)
print(f"log-likelihood a row {tree.score(returns):.3f}")
for parent, child, length, support in tree.edges():
    if child in tree.hidden_:
        print(f"{parent} – {child}  length {length:.2f}  support {support:.2f}")
# [end:fit]

# [start:plot]
tree.plot(layout="layered")
plt.savefig("stocks.png", dpi=90, bbox_inches="tight")
# [end:plot]

# [start:factors]
factors = pd.DataFrame(tree.transform(returns), columns=tree.get_feature_names_out())
means = factors.filter(like=".mean")
print(means.head(3).round(2).to_string())
# [end:factors]

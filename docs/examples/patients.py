# [start:fit]
import pandas as pd

from latentree import LatentTree

patients = pd.read_csv("examples/clinic.csv")
tree = LatentTree().fit(patients)
for hidden, items in tree.items(n=4).items():
    print(hidden, *items)
# [end:fit]

# [start:group]
lungs = next(hidden for hidden, items in tree.items(n=2).items() if "copd" in items)
group = tree.predict(patients, of=lungs)
share = patients.groupby(group).mean()[["copd", "asthma", "pneumonia", "sleep_apnoea", "migraine"]]
share.insert(0, "patients", pd.Series(group).value_counts())
print(share.round(2).to_string())
# [end:group]

# [start:sure]
probability = tree.predict_proba(patients, of=lungs).max(axis=1)
print(f"{(probability > 0.9).mean():.0%} of the patients are in their group with a probability above 0.9")
# [end:sure]

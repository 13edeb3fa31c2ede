# [start:fit]
import pandas as pd
from sklearn.feature_extraction.text import CountVectorizer

from latentree import LatentTree

texts = pd.read_csv("posts.csv").groupby("post")["word"].apply(" ".join)  # take your own texts instead
vectorizer = CountVectorizer(binary=True, min_df=10)
words = vectorizer.fit_transform(texts)  # SciPy's sparse rows: cells that are not stored are zeros
frame = pd.DataFrame.sparse.from_spmatrix(words, columns=vectorizer.get_feature_names_out())
tree = LatentTree().fit(frame)
for hidden, items in tree.items(n=4).items():
    print(hidden, *items)
# [end:fit]

# [start:new]
space = next(hidden for hidden, items in tree.items(n=8).items() if "rocket" in items or "orbit" in items)
new = vectorizer.transform(["a rocket in orbit around the moon", "the band and its new album"])
probability = tree.predict_proba(pd.DataFrame(new.toarray(), columns=frame.columns), of=space)
print(space, probability.round(3))
# [end:new]

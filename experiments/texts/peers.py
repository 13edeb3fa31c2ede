"""Coherence of topics by other programs, on the same words: a matrix of counts in, a line of words a topic out.

python experiments/texts/peers.py docword.txt.gz vocab.txt K OUT_FOLDER [lda|nmf|tomotopy|hlda|gibbs ...]

Words are ranked by mutual information of their presence and the topic's share above its mean, as for latentree's trees.
"""

import gzip
import sys
import time

import numpy as np
from scipy.sparse import csr_matrix


def read(docword, vocab):
    opened = gzip.open(docword, "rt") if docword.endswith(".gz") else open(docword)
    with opened as file:
        n, p, _ = (int(next(file)) for _ in range(3))
        cells = np.loadtxt(file, dtype=int)
    counts = csr_matrix((cells[:, 2], (cells[:, 0] - 1, cells[:, 1] - 1)), shape=(n, p))
    return counts, [line.strip() for line in open(vocab)]


def by_information(counts, shares, words, n_words=10):
    """The words that documents with the topic have more often, by mutual information."""
    there = (counts > 0).astype(float)
    n, df, lines = counts.shape[0], np.asarray((counts > 0).sum(0)).ravel(), []
    for topic in range(shares.shape[1]):
        own = (shares[:, topic] > shares[:, topic].mean()).astype(float)
        both, n_own = np.asarray(there.T @ own).ravel(), own.sum()
        total = np.zeros(len(df))
        for joint, a, b in [
            (both, df, n_own),
            (df - both, df, n - n_own),
            (n_own - both, n - df, n_own),
            (n - df - n_own + both, n - df, n - n_own),
        ]:
            with np.errstate(divide="ignore", invalid="ignore"):
                total += np.where(joint > 0, joint / n * np.log(joint * n / (a * b)), 0)
        total[both * n <= df * n_own] = 0
        lines.append(" ".join(words[ix] for ix in np.argsort(-total)[:n_words]))
    return lines


def fit(name, counts, k):
    if name in ("lda", "nmf"):
        from sklearn.decomposition import NMF, LatentDirichletAllocation

        model = LatentDirichletAllocation(k, random_state=0) if name == "lda" else NMF(k, random_state=0, max_iter=400)
        return model.fit_transform(counts)
    if name == "gibbs":
        import lda

        model = lda.LDA(n_topics=k, n_iter=2000, random_state=0)
        return model.fit_transform(counts.toarray().astype(int))
    import tomotopy

    documents = [np.repeat(row.indices, row.data).astype(str).tolist() for row in counts]
    model = tomotopy.LDAModel(k=k, seed=0) if name == "tomotopy" else tomotopy.HLDAModel(depth=3, seed=0)
    for document in documents:
        model.add_doc(document or ["0"])
    model.train(1000, workers=1)
    return np.array([document.get_topic_dist() for document in model.docs])


def main(docword, vocab, k, folder, *names):
    counts, words = read(docword, vocab)
    for name in names:
        begun = time.process_time()
        shares = fit(name, counts, int(k))
        seconds = time.process_time() - begun
        with open(f"{folder}/{name}.topics.txt", "w") as file:
            file.write("\n".join(by_information(counts, shares, words)) + "\n")
        print(name, f"{seconds:.1f} CPU s", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])

"""Coherence of topics by other programs, on the same words: a matrix of counts in, a line of words a topic out.

python experiments/texts/peers.py docword.txt.gz vocab.txt K OUT_FOLDER [lda|nmf|tomotopy|hlda|gibbs ...]

Words are ranked by mutual information of their presence and the topic's share above its mean, as for latentree's trees. tomotopy's
samplers run 1,000 iterations or 300 CPU seconds, whichever ends first; hLDA finds its own number of topics, of which the K largest
are kept. NAME.topics.txt has ten words a topic; in NAME.cut.topics.txt words with less than a tenth of the best word's information are
left out, as in latentree's trees.
"""

import gzip
import sys
import time

import numpy as np
from scipy.sparse import csr_matrix

ITERATIONS = 1000
MOST_SECONDS = 300


def read(docword, vocab):
    opened = gzip.open(docword, "rt") if docword.endswith(".gz") else open(docword)
    with opened as file:
        n, p, _ = (int(next(file)) for _ in range(3))
        cells = np.loadtxt(file, dtype=int)
    counts = csr_matrix((cells[:, 2], (cells[:, 0] - 1, cells[:, 1] - 1)), shape=(n, p))
    return counts, [line.strip() for line in open(vocab)]


def by_information(counts, shares, words, least=0.0, n_words=10):
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
        best = np.argsort(-total)[:n_words]
        lines.append(" ".join(words[ix] for ix in best if total[ix] >= least * total[best[0]]))
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
    begun = time.process_time()
    iterations = 0
    while iterations < ITERATIONS and time.process_time() - begun < MOST_SECONDS:
        model.train(10, workers=1)
        iterations += 10
    print(f"{iterations} iterations", end=", ")
    if name == "tomotopy":
        return np.array([document.get_topic_dist() for document in model.docs])
    shares = np.array([np.bincount(document.topics, minlength=model.k) / len(document.topics) for document in model.docs])
    print(f"{model.live_k} topics", end=", ")
    return shares[:, np.argsort(-shares.sum(0), kind="stable")[: min(k, model.live_k)]]


def main(docword, vocab, k, folder, *names):
    counts, words = read(docword, vocab)
    for name in names:
        begun = time.process_time()
        shares = fit(name, counts, int(k))
        seconds = time.process_time() - begun
        for ending, least in (("", 0.0), (".cut", 0.1)):
            with open(f"{folder}/{name}{ending}.topics.txt", "w") as file:
                file.write("\n".join(by_information(counts, shares, words, least)) + "\n")
        print(name, f"{seconds:.1f} CPU s", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])

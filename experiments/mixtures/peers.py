#!/usr/bin/env python3
"""Mixtures and hierarchies beside other programs: 20 newsgroups (scikit-learn, tomotopy), binary rows (KMeans) and size (SciPy).

Usage: peers.py newsgroups DATA_FOLDER | binary [SEEDS] | size [ROWS]

Needs latentree, scikit-learn, tomotopy and SciPy. Seconds are of the processor, after reading; all methods run one after the other in one process.
"""

import gzip
import resource
import sys
import time
import warnings
from pathlib import Path

import numpy as np
import scipy.sparse

warnings.simplefilter("ignore")


def timed(call):
    start, wall = time.process_time(), time.perf_counter()
    found = call()
    return found, time.process_time() - start, time.perf_counter() - wall


def read_words(path):
    """A bag of words of UCI: three header lines, then document, word, count."""
    with gzip.open(path, "rt") as file:
        n, d = int(file.readline()), int(file.readline())
        file.readline()
        cells = np.loadtxt(file, dtype=np.int64)
    return scipy.sparse.csr_matrix((cells[:, 2], (cells[:, 0] - 1, cells[:, 1] - 1)), shape=(n, d))


def newsgroups(folder):
    import tomotopy
    from sklearn.cluster import MiniBatchKMeans
    from sklearn.decomposition import NMF, LatentDirichletAllocation
    from sklearn.feature_extraction.text import TfidfTransformer
    from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score

    words = read_words(Path(folder) / "bow" / "docword.20news_w1000.train.txt.gz")
    truth = (Path(folder) / "bow" / "20news_w1000.train.labels.txt").read_text().split()
    tfidf = TfidfTransformer().fit_transform(words)

    def tomotopy_lda():
        model = tomotopy.LDAModel(k=20, seed=0)
        for row in range(words.shape[0]):
            part = words[row]
            model.add_doc([str(word) for word, count in zip(part.indices, part.data) for _ in range(int(count))] or ["none"])
        model.train(1000, workers=1)
        return np.array([np.argmax(document.get_topic_dist()) for document in model.docs])

    ways = {}
    try:
        from latentree import HierarchicalClustering, TopicModel
    except ImportError:
        print("latentree is not installed: only other programs are measured")
    else:
        ways = {
            "TopicModel(20)": lambda: TopicModel(20).fit(words).labels_,
            "TopicModel(20, em=True)": lambda: TopicModel(20, em=True).fit(words).labels_,
            "TopicModel(20, model='lda')": lambda: TopicModel(20, model="lda").fit(words).labels_,
            "HierarchicalClustering(20, single-topic)": lambda: HierarchicalClustering(20, family="single-topic").fit(words).labels_,
            "HierarchicalClustering(20, single-topic, em)": lambda: HierarchicalClustering(20, family="single-topic", em=True)
            .fit(words)
            .labels_,
        }
    ways |= {
        "MiniBatchKMeans, tf-idf": lambda: MiniBatchKMeans(20, random_state=0).fit_predict(tfidf),
        "NMF, tf-idf": lambda: NMF(20, random_state=0).fit_transform(tfidf).argmax(axis=1),
        "LatentDirichletAllocation, 10 iterations": lambda: LatentDirichletAllocation(20, max_iter=10, random_state=0)
        .fit_transform(words)
        .argmax(axis=1),
        "tomotopy LDA, 1,000 iterations": tomotopy_lda,
    }
    print("| method | NMI | adjusted Rand | CPU s | s |\n| --- | --- | --- | --- | --- |")
    for name, call in ways.items():
        labels, cpu, wall = timed(call)
        nmi, rand = normalized_mutual_info_score(truth, labels), adjusted_rand_score(truth, labels)
        print(f"| {name} | {nmi:.3f} | {rand:.3f} | {cpu:.2f} | {wall:.2f} |", flush=True)


def binary(seeds, shapes=((100, 5), (99, 12))):
    """Figure 4.1: log-likelihood beside the best and the mean of 20 random starts, adjusted Rand index beside KMeans."""
    from sklearn.cluster import KMeans
    from sklearn.metrics import adjusted_rand_score

    from latentree import LatentTree, Mixture

    print("| d, k | seed | best of 20 starts | their mean | sidiwo + EM | asvtd + EM | ARI | KMeans | CPU s | CPU s, starts | ratio |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |")
    for d, k in shapes:
        for seed in range(seeds):
            rng = np.random.default_rng(seed)
            centres = rng.exponential(size=(k, d))
            centres /= 1 + centres.max(axis=1, keepdims=True)
            weights = rng.random(k)
            truth = rng.choice(k, size=10_000, p=weights / weights.sum())
            rows = (rng.random((10_000, d)) < centres[truth]).astype(np.int8)
            star = f"({','.join(f'x{ix + 1}' for ix in range(d))})h1;"
            own, cpu, _ = timed(lambda: Mixture(k, family="bernoulli", em=True).fit(rows))
            asvtd = Mixture(k, family="bernoulli", method="asvtd", em=True).fit(rows)
            kmeans = KMeans(k, n_init=3, random_state=0).fit_predict(rows)
            starts, cpu_starts = [], 0.0
            for start in range(20):
                options = {"tree": star, "n_states": k, "parameters": "em", "start": "random", "restarts": 1, "select": "none"}
                fit, seconds, _ = timed(lambda: LatentTree(**options, random_state=start, kind="binary").fit(rows))
                starts.append(fit.log_likelihood_)
                cpu_starts += seconds
            best = max(starts)
            cells = [f"{d}, {k}", seed, f"{best:.2f}", f"{np.mean(starts) - best:.1f}", f"{own.log_likelihood_ - best:.2f}"]
            cells += [f"{asvtd.log_likelihood_ - best:.2f}", f"{adjusted_rand_score(truth, own.labels_):.3f}"]
            cells += [f"{adjusted_rand_score(truth, kmeans):.3f}", f"{cpu:.2f}", f"{cpu_starts:.2f}", f"{cpu_starts / cpu:.0f}"]
            print(f"| {' | '.join(map(str, cells))} |", flush=True)


def size(n):
    """Binary rows, 3,000 columns, 70 ones a row: a mixture without EM, and SciPy's product of the matrix with itself."""
    from latentree import Mixture

    rng = np.random.default_rng(0)
    k, d, ones = 10, 3000, 70
    # Each component prefers 300 columns of its own.
    columns = np.empty((n, ones), dtype=np.int32)
    group = rng.integers(k, size=n)
    own = rng.random((n, ones)) < 0.5
    columns[...] = np.where(own, 300 * group[:, None] + rng.integers(300, size=(n, ones)), rng.integers(d, size=(n, ones)))
    starts = np.arange(0, n * ones + 1, ones)
    rows = scipy.sparse.csr_matrix((np.ones(n * ones, dtype=np.int8), columns.ravel(), starts), shape=(n, d))
    rows.sum_duplicates()
    rows.data[:] = 1
    _, cpu, wall = timed(lambda: (rows.T.astype(np.float64) @ rows.astype(np.float64)))
    print(f"SciPy's product: {cpu:.2f} CPU s, {wall:.2f} s")
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    fitted, cpu, wall = timed(lambda: Mixture(k, family="bernoulli").fit(rows))
    after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    agrees = len({(a, b) for a, b in zip(group.tolist(), fitted.labels_.tolist())})
    print(f"Mixture({k}): {cpu:.2f} CPU s, {wall:.2f} s, peak grew by {(after - before) / 1024:.0f} MB, {agrees} pairs of labels")


if __name__ == "__main__":
    part = sys.argv[1] if len(sys.argv) > 1 else ""
    if part == "newsgroups" and len(sys.argv) == 3:
        newsgroups(sys.argv[2])
    elif part == "binary":
        binary(int(sys.argv[2]) if len(sys.argv) > 2 else 3)
    elif part == "size":
        size(int(sys.argv[2]) if len(sys.argv) > 2 else 300_000)
    else:
        sys.exit(__doc__)

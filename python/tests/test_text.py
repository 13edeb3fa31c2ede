"""Text as word counts, and topics."""

import numpy as np
import pandas as pd
import pytest

import latentree

WORDS = [["ball", "goal", "team", "coach"], ["vote", "party", "law", "senate"]]


def letters(n=200):
    rng = np.random.default_rng(0)
    return ["The " + " ".join(rng.choice(WORDS[ix % 2], 6)) + " " + rng.choice(WORDS[(ix + 1) % 2]) for ix in range(n)]


def test_words_are_those_of_scikit_learn():
    text = pytest.importorskip("sklearn.feature_extraction.text")
    texts = letters()
    counts, words, names = latentree.read_text(texts=texts, stop="none", min_df=2, max_df=0.9)
    theirs = text.CountVectorizer(min_df=2, max_df=0.9)
    expected = theirs.fit_transform(texts)
    assert words == list(theirs.get_feature_names_out())
    assert (counts != expected).nnz == 0
    assert names[:2] == ["1", "2"]


def test_files_columns_and_new_documents(tmp_path):
    (tmp_path / "a.txt").write_text("red wine")
    (tmp_path / "b.txt").write_text("red bread")
    counts, words, names = latentree.read_text(tmp_path, min_df=1)
    assert (words, names) == (["bread", "red", "wine"], ["a.txt", "b.txt"])
    assert latentree.read_text([tmp_path / "a.txt"], min_df=1).words == ["red", "wine"]
    new = latentree.read_text(texts=["wine, wine and beer"], vocabulary=words)
    assert new.words == words and new.counts.toarray().tolist() == [[0, 0, 2]]
    pd.DataFrame({"id": ["x", "y"], "text": ["red wine", "bread"]}).to_csv(tmp_path / "t.csv", index=False)
    table = latentree.read_text(tmp_path / "t.csv", column="text", id="id", min_df=1)
    assert table.names == ["x", "y"] and table.words == ["bread", "red", "wine"]


def test_topics_of_a_tree():
    counts, words, _ = latentree.read_text(texts=letters())
    frame = pd.DataFrame((counts.toarray() > 0).astype(int), columns=words)
    tree = latentree.LatentTree(structure="levels", random_state=0).fit(frame)
    found = latentree.topics(tree, frame, n_words=4)
    assert list(found.columns) == ["name", "words", "share", "npmi", "c_v", "parent"]
    assert len(found) >= 1 and found["npmi"].notna().all()
    assert any(set(words) <= set(WORDS[0]) or set(words) <= set(WORDS[1]) for words in found["words"])


def test_mistakes_are_told(tmp_path):
    with pytest.raises(TypeError, match="not both"):
        latentree.read_text()
    with pytest.raises(ValueError, match="stop"):
        latentree.read_text(texts=["a"], stop="klingon")
    with pytest.raises(FileNotFoundError):
        latentree.read_text(tmp_path / "none.txt")
    (tmp_path / "latin.txt").write_bytes(b"caf\xe9")
    with pytest.raises(ValueError, match="latin-1"):
        latentree.read_text(tmp_path / "latin.txt")


def test_topic_models_take_texts_and_any_vectorizer():
    pd = pytest.importorskip("pandas")
    text = pytest.importorskip("sklearn.feature_extraction.text")
    texts = ["red apple pie", "apple pie red", "fast car road", "road car fast"] * 5
    own = latentree.TopicModel(2, em=True).fit(texts)
    assert sorted(own.feature_names_in_) == ["apple", "car", "fast", "pie", "red", "road"]
    assert own.predict(["a road, a fast road", "red pie"]).tolist() == [own.labels_[2], own.labels_[0]]
    counts = text.CountVectorizer().fit_transform(texts)
    by_counts = latentree.TopicModel(2, em=True).fit(counts)
    for given in (pd.Series(texts), np.array(texts), tuple(texts)):
        model = latentree.TopicModel(2, em=True, vectorizer=text.CountVectorizer()).fit(given)
        assert (model.labels_ == by_counts.labels_).all()
        assert np.allclose(model.predict_proba(given), by_counts.predict_proba(counts))
    table = own.topics(texts, n_words=3)
    assert list(table.columns) == ["name", "words", "share", "npmi", "c_v", "parent"]
    assert {frozenset(words) for words in table.words} == {frozenset(["red", "apple", "pie"]), frozenset(["fast", "car", "road"])}
    assert np.allclose(table.npmi, 1.0)
    with pytest.raises(TypeError, match="document 1 is None"):
        latentree.TopicModel(2).fit(["red apple", None])
    with pytest.raises(TypeError, match="vectorizer"):
        latentree.TopicModel(2, vectorizer=3).fit(texts)
    with pytest.raises(ValueError, match="give counts"):
        by_counts.predict(texts)

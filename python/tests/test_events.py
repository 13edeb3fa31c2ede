"""Events become sparse matrices with names, codes and ids."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import latentree


@pytest.fixture
def folder(tmp_path):
    lines = ["patient,code,day"]
    for patient in range(30):
        lines += [f"p{patient},{code},2020-01-{1 + patient % 28:02}" for code, step in (("250.1", 2), ("250.2", 3), ("401", 5)) if patient % step == 0]
        lines.append(f"p{patient},,")
    (tmp_path / "events.csv").write_text("\n".join(lines) + "\n")
    (tmp_path / "map.csv").write_text("item,group\n250.1,250\n250.2,250\n")
    (tmp_path / "names.csv").write_text("item,text\n250,Diabetes\n401,Hypertension\n")
    return tmp_path


def read(*arguments, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return latentree.read_events(*arguments, **options)


def test_events_are_rolled_up_and_named(folder):
    found = read(folder / "events.csv", "patient", "code", rollup=folder / "map.csv", descriptions=folder / "names.csv")
    assert list(found.names) == ["Diabetes", "Hypertension"]
    assert list(found.codes) == ["250", "401"]
    assert list(found.ids) == [f"p{patient}" for patient in range(30)]
    expected = [[patient % 2 == 0 or patient % 3 == 0, patient % 5 == 0] for patient in range(30)]
    assert np.array_equal(found.matrix.toarray(), np.array(expected, dtype=float))


def test_counts_times_and_filters(folder):
    counted = read(folder / "events.csv", "patient", "code", rollup=(folder / "map.csv", "item", "group"), count=True)
    assert counted.matrix.max() == 2
    late = read(folder / "events.csv", "patient", "code", time="day", since="2020-01-15")
    assert late.matrix.shape == (30, 3) and late.matrix[0].nnz == 0 and late.matrix[14].nnz == 1
    assert read(folder / "events.csv", "patient", "code", min_items=2).matrix.shape[0] < 30
    with pytest.raises(ValueError, match="codes"):
        read(folder / "events.csv", "patient", "code", codes="X*")

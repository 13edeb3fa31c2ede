"""Messages speak of Python's arguments, not of the options and files of the command line."""

import inspect
import re
from pathlib import Path

import pytest

from latentree import (
    HierarchicalClustering,
    LatentTree,
    Mixture,
    Moments,
    _latentree,
    read_events,
    read_meds,
    read_model,
    read_text,
    stability,
)

SOURCES = Path(__file__).resolve().parents[2] / "crates" / "latentree" / "src"
#: Options that messages of the library name and that cannot be met from Python.
ONLY_ON_THE_COMMAND_LINE = set(
    "learn.candidates learn.checkpoint learn.from read.encoding read.events export.format read.group read.id read.na read.names read.no_header "
    "classify.prior learn.folds learn.target read.text".split()
)
#: `latentree.federated` calls the command line, whose messages name its options.
ONLY_ON_THE_COMMAND_LINE |= set(
    "federate.dp_delta federate.dp_rho federate.keys federate.mask federate.max_items federate.range federate.schema federate.site "
    "federate.sites federate.without read.clinical read.dates".split()
)
#: Options that only programs of the library set.
ONLY_IN_THE_LIBRARY = {"distance.clip", "distance.rare_weight"}


def options_in_messages():
    found = set()
    for path in SOURCES.rglob("*.rs"):
        if "tests" in path.parts or path.stem in ("tests", "test_models"):
            continue
        code = "\n".join(line for line in path.read_text().splitlines() if not line.lstrip().startswith("//"))
        found.update(re.findall(r"`([a-z_]+\.[a-z_]+)`", code.split("#[cfg(test)]")[0]))
        found.update(re.findall(r'(?:option|check|refused|unknown_column|range)\(\s*"([a-z_]+\.[a-z_]+)"', code))
    return found


def test_every_option_of_the_library_has_the_name_of_an_argument():
    options = options_in_messages()
    assert {"parameters.hidden_states", "em.tolerance", "read.unseen"} <= options, "the sources were searched"
    arguments = {"sample_weight"}
    calls = (LatentTree.__init__, LatentTree.fit, LatentTree.sample, LatentTree.impute, Moments.__init__, read_model)
    for call in (*calls, Mixture.__init__, HierarchicalClustering.__init__, stability, read_events, read_meds, read_text):
        arguments.update(inspect.signature(call).parameters)
    for option in sorted(options - ONLY_ON_THE_COMMAND_LINE - ONLY_IN_THE_LIBRARY):
        message = _latentree.python_message(f"`{option}`: 7 given; use `{option}`.")
        name = re.fullmatch(r"(\w+): 7 given; use (\w+)\.", message)
        assert name is not None and name[1] == name[2], message
        assert name[1] in arguments, f"{option} is {name[1]} in Python, which no call takes"


def test_every_option_of_the_library_is_an_argument():
    arguments = dict(_latentree.option_arguments())
    assert set(arguments.values()) == set(_latentree.option_paths()) - ONLY_IN_THE_LIBRARY
    assert set(arguments) <= set(inspect.signature(LatentTree.__init__).parameters)


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ("`parameters.hidden_states`: 1 given", "n_states: 1 given"),
        ("use `parameters.method` em or moments+em", 'use parameters="em" or "moments+em"'),
        ("use `distance.estimator` canonical or auto, or change `parameters.hidden_states`", 'use distance="canonical" or "auto", or change n_states'),
        ("`read.unseen` missing reads it", 'handle_unknown="missing" reads it'),
        ("give `selection.validation`, such as 0.1", "give validation_fraction, such as 0.1"),
        ("leave it out (`read.kind` age=ignore)", 'leave it out (kind={"age": "ignore"})'),
        ("say which kind (`read.kind` 'my age=KIND') and", 'say which kind (kind={"my age": "KIND"}) and'),
        (
            "if it is one, leave it out (`read.kind` p_id=ignore) or name rows by it (`read.id` p_id)",
            'if it is one, leave it out (kind={"p_id": "ignore"})',
        ),
        ("(99), which may mean missing; if so, add `read.na` age=99", "(99), which may mean missing; if so, replace them by NaN"),
        ('a column "`x.y`" or `b stays', 'a column "`x.y`" or `b stays'),
        ("learn its parameters first, with this tree as `learn.tree`", "learn its parameters first: LatentTree(tree=...).fit(X)"),
        (
            "the number is infinite; write missing values as an empty field",
            "the number is infinite; write missing values as NaN or None",
        ),
    ],
)
def test_options_and_files_become_arguments_and_tables(message, expected):
    assert _latentree.python_message(message) == expected

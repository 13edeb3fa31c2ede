"""Learning across sites that exchange files and no rows.

The functions are those of the command ``latentree federate``. The coordinator calls :func:`start` and :func:`next`, each site calls
:func:`answer`. Whatever moves files from place to place moves passes and parts: a message queue, Flower, vantage6, a courier.

Examples
--------
>>> import pathlib, tempfile
>>> import numpy as np, pandas as pd
>>> from latentree import federated
>>> rng = np.random.default_rng(0)
>>> cause = rng.integers(0, 2, 600)
>>> table = pd.DataFrame({f"x{i}": (cause ^ (rng.random(600) < 0.1)).astype(int) for i in range(4)})
>>> folder = pathlib.Path(tempfile.mkdtemp())
>>> step = federated.start(folder / "run", schema=federated.schema(table), sites=["north", "south"])
>>> while step.model is None:
...     parts = [
...         federated.answer(step.passes, rows, site=name, output=folder / f"{name}.part").part
...         for name, rows in [("north", table[:350]), ("south", table[350:])]
...     ]
...     step = federated.next(folder / "run", parts)
>>> step.model.name
'model.json'
"""

from __future__ import annotations

import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from ._options import read_list

__all__ = ["Answer", "Step", "answer", "keygen", "next", "schema", "start", "status"]

Path = str | os.PathLike


@dataclass(frozen=True)
class Step:
    """Where a run is.

    Attributes
    ----------
    passes : pathlib.Path or None
        The pass that sites must answer; None at the end.
    model : pathlib.Path or None
        The model, at the end.
    missing : list of str
        Sites whose parts are missing.
    details : dict
        Everything that ``latentree federate status --json`` prints.
    """

    passes: pathlib.Path | None
    model: pathlib.Path | None
    missing: list[str]
    details: dict[str, Any] = field(repr=False)


@dataclass(frozen=True)
class Answer:
    """What leaves a site.

    Attributes
    ----------
    part : pathlib.Path
        The part for the coordinator.
    reveals : str
        What it holds, in words.
    rows : int
        Number of rows behind it.
    details : dict
        Everything that ``latentree federate answer --json`` prints.
    """

    part: pathlib.Path
    reveals: str
    rows: int
    details: dict[str, Any] = field(repr=False)


#: Options of the command whose arguments here have other names.
_ARGUMENTS = {"range": "ranges"}
#: Options of the command with one list of values; others are repeated.
_LISTS = {"accept", "states"}
#: Begins the names of temporary folders.
_PREFIX = "latentree-federated-"
#: Values of options that messages recommend.
_VALUE = r"auto|bic|em|frequency|moments\+em|moments|none|validation"


def _in_python(message: str) -> str:
    """A message of the command that names functions and arguments of this module."""

    def argument(found: re.Match[str]) -> str:
        name, value = found[1].replace("-", "_"), found[2]
        name = _ARGUMENTS.get(name, name)
        return name if value is None else f'{name}="{value}"'

    message = re.sub(r" For more information, try '--help'\.", "", message)
    # Arguments that were written to files for the command.
    message = re.sub(rf"\S*{_PREFIX}[^/\\]+[/\\](\w+)\.\w+", r"\1", message)
    # A usage error: '--dp-rho <RHO>'.
    message = re.sub(r"'?(--[a-z-]+) <[^>]+>'?", r"\1", message)
    message = message.replace("the following required arguments were not provided:", "an argument is missing:")
    message = re.sub(r"`?(?:latentree )?federate (start|answer|next|status|keygen)\b`?", r"federated.\1", message)
    message = message.replace("describe --schema-out", "federated.schema")
    return re.sub(rf"(?<![\w-])--([a-z]+(?:-[a-z]+)*)(?: ({_VALUE})(?![\w+]))?", argument, message)


def _run(arguments: Iterable[object]) -> dict[str, Any]:
    command = [sys.executable, "-m", "latentree", *map(str, arguments), "--json", "--quiet"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    try:
        found = json.loads(done.stdout or "{}")
    except json.JSONDecodeError:
        found = {}
    if done.returncode != 0:
        message = _in_python(found.get("error") or done.stderr.strip() or f"latentree ended with status {done.returncode}")
        unknown = re.match(r"unexpected argument '(\w+)' found", message)
        raise TypeError(f"there is no option {unknown[1]!r}") if unknown else ValueError(message)
    return found


def _step(found: dict[str, Any]) -> Step:
    path = {name: pathlib.Path(found[name]) if found.get(name) else None for name in ("pass", "model")}
    return Step(path["pass"], path["model"], found.get("missing", []), found)


def _flags(options: Mapping[str, object]) -> list[object]:
    flags: list[object] = []
    for name, value in options.items():
        flag = "--" + name.replace("_", "-")
        if isinstance(value, Mapping):
            value = [f"{key}={of}" for key, of in value.items()]
        if value is True:
            flags.append(flag)
        elif isinstance(value, (list, tuple)):
            items = [",".join(map(str, value))] if name in _LISTS else value
            for item in items:
                flags += [flag, item]
        elif value is not None and value is not False:
            flags += [flag, value]
    return flags


def _folder() -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory(prefix=_PREFIX)


def _as_json(argument: str, value: Any, folder: str) -> Path | None:
    """The path of a JSON file; a dict is written to the folder first."""
    if value is None or isinstance(value, (str, os.PathLike)):
        return value
    if not isinstance(value, Mapping):
        raise TypeError(f"{argument}: {type(value).__name__} given; a path or a dict is needed")
    path = pathlib.Path(folder) / f"{argument}.json"
    path.write_text(json.dumps(value), encoding="utf-8")
    return path


def _as_file(data: Any, folder: str) -> pathlib.Path:
    """The path of a table; one in memory is written to the folder first."""
    if isinstance(data, (str, os.PathLike)):
        return pathlib.Path(data)
    path = pathlib.Path(folder) / "data.csv"
    if hasattr(data, "to_csv"):
        data.to_csv(path, index=False)
    elif hasattr(data, "write_csv"):
        data.write_csv(path)
    else:
        raise TypeError(f"data: a path or a DataFrame is needed, not {type(data).__name__}")
    return path


def _bounds(ranges: Any) -> list[str]:
    needed = 'a dict of names and pairs of numbers, such as {"age": (0, 110)}, is needed'
    if ranges is not None and not isinstance(ranges, Mapping):
        raise TypeError(f"ranges: {ranges!r} given; {needed}")
    found = []
    for name, bounds in (ranges or {}).items():
        if isinstance(bounds, str) or not isinstance(bounds, Iterable) or len(pair := list(bounds)) != 2:
            raise TypeError(f"ranges: {bounds!r} given for {name!r}; {needed}")
        found.append(f"{name}={pair[0]},{pair[1]}")
    return found


def schema(data: Any, **reading: object) -> dict[str, Any]:
    """The columns of a table with kinds and labels, as :func:`start` takes them. Check it before others see it: labels are data.

    Parameters
    ----------
    data : path or DataFrame
        The table.
    **reading
        Options of reading, such as ``kind="age=continuous"``.
    """
    with _folder() as folder:
        output = pathlib.Path(folder) / "schema.json"
        _run(["describe", _as_file(data, folder), "--schema-out", output, *_flags(reading)])
        return json.loads(output.read_text(encoding="utf-8"))


def start(
    run: Path,
    *,
    schema: Path | Mapping[str, Any] | None = None,
    sites: Iterable[str] = (),
    keys: Iterable[Path] = (),
    dp_rho: float | None = None,
    dp_delta: float | None = None,
    max_items: int | None = None,
    ranges: Mapping[str, tuple[float, float]] | None = None,
    seed: int | None = None,
    **options: object,
) -> Step:
    """Begins a run in a new directory and writes its first pass.

    Parameters
    ----------
    run : path
        The directory.
    schema : path or dict, optional
        Columns with kinds and labels; without it, the first round asks sites for theirs.
    sites : iterable of str
        Names of the sites; by default those that answer the first round.
    keys : iterable of path
        Public keys of the sites, for masked parts.
    dp_rho, dp_delta, max_items, ranges
        Noise: the budget ρ, the δ at which ε is shown, the most columns that are 1 in a row, and ranges of numbers by name.
    seed : int, optional
        The seed of learning; noise and keys never depend on it.
    **options
        Options of ``latentree learn``, such as ``structure="clnj"`` or ``hidden_states=3``.
    """
    with _folder() as folder:
        arguments: list[object] = ["federate", "start", run]
        if (columns := _as_json("schema", schema, folder)) is not None:
            arguments += ["--schema", columns]
        if names := ",".join(map(str, read_list("sites", sites))):
            arguments += ["--sites", names]
        if paths := read_list("keys", keys, "a list of paths"):
            arguments += ["--keys", *paths]
        bounds = _bounds(ranges)
        private = {"dp_rho": dp_rho, "dp_delta": dp_delta, "max_items": max_items, "range": bounds, "seed": seed}
        return _step(_run([*arguments, *_flags({**private, **options})]))


def answer(
    passes: Path,
    data: Any,
    *,
    site: str,
    output: Path,
    policy: Path | Mapping[str, Any] | None = None,
    mask: Path | None = None,
    record: Path | None = None,
    **reading: object,
) -> Answer:
    """Runs a pass over a site's own rows. Only the part leaves the site.

    Parameters
    ----------
    passes : path
        The pass, from the coordinator.
    data : path or DataFrame
        The site's rows.
    site : str
        The site's name.
    output : path
        The part to write.
    policy : path or dict, optional
        What the site allows: a dict such as ``{"least_rows": 100}``, or a file of it as JSON.
    mask : path, optional
        The site's secret key, for a masked run.
    record : path, optional
        Where the site remembers its answers; by default beside the part.
    **reading
        Options of reading, such as ``events="patient,code"``.
    """
    with _folder() as folder:
        settings = {"site": site, "output": output, "policy": _as_json("policy", policy, folder), "mask": mask, "record": record}
        found = _run(["federate", "answer", passes, _as_file(data, folder), *_flags({**settings, **reading})])
    return Answer(pathlib.Path(output), found["reveals"], found["rows"], found)


def next(run: Path, parts: Iterable[Path] = (), *, without: Iterable[str] = ()) -> Step:
    """Merges parts and writes the next pass or the model.

    Parameters
    ----------
    run : path
        The directory of the run.
    parts : iterable of path
        Parts of the open round; they may come one by one.
    without : iterable of str
        Sites to leave out from here on.
    """
    names = ",".join(map(str, read_list("without", without)))
    paths = read_list("parts", parts, "a list of paths")
    return _step(_run(["federate", "next", run, *paths, *(["--without", names] if names else [])]))


def status(run: Path) -> Step:
    """Where a run is."""
    return _step(_run(["federate", "status", run]))


def keygen(site: str, output: Path = ".") -> dict[str, Any]:
    """Makes a key for masked parts: ``SITE.key`` stays secret, ``SITE.pub`` goes to the others."""
    return _run(["federate", "keygen", site, "--output", output])

"""The tree for other libraries and for the eye."""

from __future__ import annotations

import heapq
import html
import json
import math
import os
from typing import Any

from . import _latentree


def tree_text(tree: Any) -> str | None:
    """A tree that a user gives, as Newick text or JSON."""
    if tree is None:
        return None
    if hasattr(tree, "model_"):
        return tree.model_.render("json")
    if isinstance(tree, str) and (tree.lstrip().startswith(("(", "{")) or ";" in tree):
        return tree
    if isinstance(tree, (str, os.PathLike)):
        return _latentree.Model.read(os.fspath(tree)).render("json")
    if hasattr(tree, "nodes") and hasattr(tree, "edges"):
        return from_networkx(tree)[1]
    raise TypeError(f"tree: {type(tree).__name__} given; Newick text, a file, a LatentTree or a networkx graph is needed")


def neighbours(model: _latentree.Model) -> dict[str, list[tuple[str, float]]]:
    found: dict[str, list[tuple[str, float]]] = {name: [] for name, *_ in model.nodes()}
    for parent, child, length, _ in model.edges():
        length = 1.0 if length is None or not math.isfinite(length) else max(length, 0.0)
        found[parent].append((child, length))
        found[child].append((parent, length))
    return found


def central(model: _latentree.Model) -> str | None:
    """The hidden variable nearest to the root, in edges."""
    hidden = {name for name, observed, *_ in model.nodes() if not observed}
    links = neighbours(model) if hidden else {}
    for root in [*model.roots(), *sorted(hidden)] if hidden else []:
        level, seen = [root], {root}
        while level:
            for node in level:
                if node in hidden:
                    return node
            further = dict.fromkeys(other for node in level for other, _ in links[node] if other not in seen)
            seen.update(further)
            level = list(further)
    return None


def nearest_items(model: _latentree.Model, n: int) -> dict[str, list[str]]:
    observed = {name: ix for ix, (name, is_observed, *_) in enumerate(model.nodes()) if is_observed}
    links = neighbours(model)
    nearest = {}
    for hidden in (name for name, is_observed, *_ in model.nodes() if not is_observed):
        items: list[str] = []
        heap, seen = [(0.0, -1, hidden)], set()
        while heap and len(items) < n:
            far, _, node = heapq.heappop(heap)
            if node in seen:
                continue
            seen.add(node)
            if node in observed:
                items.append(node)
            for other, length in links[node]:
                if other not in seen:
                    heapq.heappush(heap, (far + length, observed.get(other, -1), other))
        nearest[hidden] = items
    return nearest


def to_networkx(model: _latentree.Model) -> Any:
    import networkx as nx

    document = json.loads(model.render("json"))
    graph = nx.DiGraph(roots=model.roots())
    tables = document.get("tables", {})
    kinds = {variable["name"]: variable for variable in document.get("schema", {}).get("variables", [])}
    for name, observed, kind, labels in model.nodes():
        attributes: dict[str, Any] = {"observed": observed}
        if kind is not None:
            attributes["kind"] = kind
        if labels is not None:
            attributes["states"] = labels
        if name in tables:
            attributes["table"] = tables[name]
        if kinds.get(name, {}).get("kind") == "group":
            attributes["members"] = kinds[name]["members"]
        graph.add_node(name, **attributes)
    for parent, child, length, support in model.edges():
        attributes = {"length": length, "support": support}
        graph.add_edge(parent, child, **{key: value for key, value in attributes.items() if value is not None})
    return graph


def from_networkx(graph: Any) -> tuple[str, str]:
    """Whether a graph holds a model or a tree, and the text of its file."""
    if not hasattr(graph, "is_directed") or not hasattr(graph, "nodes"):
        raise TypeError(f"a networkx graph is needed, not {type(graph).__name__}")
    if graph.is_multigraph():
        raise TypeError("a multigraph cannot be a tree; give a Graph or DiGraph")
    names = {node: str(node) for node in graph.nodes}
    if len(set(names.values())) != len(names):
        raise ValueError("two nodes have the same name as text")
    degree = dict(graph.degree)
    nodes = [
        {"name": names[node], "observed": bool(attributes.get("observed", degree[node] <= 1))}
        for node, attributes in graph.nodes(data=True)
    ]
    edges = []
    for a, b, attributes in graph.edges(data=True):
        edge: dict[str, Any] = {"source": names[a], "target": names[b]}
        length = attributes.get("length", attributes.get("distance", attributes.get("weight")))
        if length is not None:
            edge["distance"] = float(length)
        for share in ("support", "bootstrap"):
            if attributes.get(share) is not None:
                edge[share] = float(attributes[share])
        edges.append(edge)
    attributes = {names[node]: it for node, it in graph.nodes(data=True)}
    if not nodes or not graph.is_directed() or any("table" not in it for it in attributes.values()):
        return "tree", json.dumps({"nodes": nodes, "edges": edges})
    variables = []
    for node in nodes:
        it = attributes[node["name"]]
        node["kind"] = it.get("kind", "categorical")
        if it.get("states") is not None:
            node["states"] = list(it["states"])
        if node["observed"]:
            variable = {"kind": node["kind"], "name": node["name"]}
            if "members" in it:
                variable["members"] = it["members"]
            elif "states" in node:
                variable["labels"] = node["states"]
            variables.append(variable)
    roots = [names[node] for node in graph.nodes if graph.in_degree(node) == 0]
    document = {"format": "latentree", "version": 1, "kind": "latent-tree", "schema": {"variables": variables}, "nodes": nodes}
    document |= {"edges": edges, "root": roots[0] if roots else None}
    if len(roots) > 1:
        document["roots"] = roots
    document["tables"] = {name: it["table"] for name, it in attributes.items()}
    return "model", json.dumps(document)


def _layout(model: _latentree.Model) -> tuple[dict[str, tuple[float, int]], int, int]:
    """For each node, its position among the leaves and its depth; then the numbers of leaves and levels."""
    links = neighbours(model)
    place: dict[str, tuple[float, int]] = {}
    n_leaves = deepest = 0
    for root in [*model.roots(), *(name for name, *_ in model.nodes())]:
        if root in place:
            continue
        order, stack, parent = [], [(root, 0)], {root: ""}
        depth = {}
        while stack:
            node, level = stack.pop()
            order.append(node)
            depth[node] = level
            for other, _ in reversed(links[node]):
                if other != parent[node]:
                    parent[other] = node
                    stack.append((other, level + 1))
        sums: dict[str, list[float]] = {node: [] for node in order}
        first = {}
        for node in order:
            if all(other == parent[node] for other, _ in links[node]):
                first[node] = float(n_leaves)
                n_leaves += 1
        for node in reversed(order):
            spot = first.get(node)
            if spot is None:
                spot = sum(sums[node]) / len(sums[node])
            place[node] = (spot, depth[node])
            deepest = max(deepest, depth[node])
            if parent[node]:
                sums[parent[node]].append(spot)
    return place, n_leaves, deepest


def plot(model: _latentree.Model, ax: Any, layout: str, labels: bool, n_items: int) -> Any:
    if layout not in ("radial", "layered"):
        raise ValueError(f"layout: {layout!r} given; radial or layered is needed")
    try:
        import matplotlib.pyplot as plt
        from matplotlib.collections import LineCollection
    except ImportError:
        raise ImportError("plot needs matplotlib: pip install matplotlib") from None
    place, n_leaves, deepest = _layout(model)

    def point(node: str) -> tuple[float, float]:
        spot, depth = place[node]
        if layout == "layered":
            return float(depth), -spot
        angle = 2 * math.pi * spot / max(n_leaves, 1)
        return depth * math.cos(angle), depth * math.sin(angle)

    if ax is None:
        size = min(max(5.0, 0.16 * n_leaves), 30.0)
        height = size if layout == "radial" else min(max(3.0, 0.22 * n_leaves), 60.0)
        _, ax = plt.subplots(figsize=(size if layout == "radial" else 8.0, height), layout="constrained")
    edges = model.edges()
    # The stronger a tie (the shorter its edge), the wider its line.
    widths = [0.6 + 2.4 * math.exp(-(1.0 if length is None else max(length, 0.0))) for _, _, length, _ in edges]
    ax.add_collection(LineCollection([[point(a), point(b)] for a, b, _, _ in edges], linewidths=widths, colors="0.6", zorder=1))
    near = nearest_items(model, n_items) if n_items else {}
    for is_observed, colour, size in ((False, "tab:orange", 36), (True, "tab:blue", 18)):
        points = [point(name) for name, observed, *_ in model.nodes() if observed == is_observed]
        if points:
            ax.scatter(*zip(*points), s=size, c=colour, zorder=2, label="observed" if is_observed else "hidden")
    if labels:
        for name, observed, *_ in model.nodes():
            x, y = point(name)
            text = name if observed or name not in near else f"{name} ({', '.join(near[name])})"
            # A dollar sign would begin a formula.
            text = text.replace("$", r"\$")[:60]
            if not observed:
                side = "right" if layout == "layered" else "center"
                ax.annotate(text, (x, y), xytext=(0, 5), textcoords="offset points", ha=side, fontsize=6, color="0.35")
            elif layout == "layered":
                ax.annotate(text, (x, y), xytext=(5, 0), textcoords="offset points", va="center", fontsize=8)
            else:
                left = x < 0
                angle = math.degrees(math.atan2(y, x)) + (180 if left else 0)
                ax.annotate(
                    text,
                    (x, y),
                    xytext=(-5 if left else 5, 0),
                    textcoords="offset points",
                    va="center",
                    ha="right" if left else "left",
                    rotation=angle,
                    rotation_mode="anchor",
                    fontsize=8,
                )
    ax.autoscale_view()
    ax.margins(0.08)
    if layout == "radial":
        ax.set_aspect("equal")
    ax.set_axis_off()
    return ax


def pre(text: str) -> str:
    return f"<pre>{html.escape(text)}</pre>"


def html_summary(title: str, model: _latentree.Model, report: dict[str, Any] | None) -> str:
    """A table of the hidden variables; every name is escaped."""
    nodes = model.nodes()
    marginals = model.marginals() if model.has_tables else [None] * len(nodes)
    by_name = {name: values for (name, *_), values in zip(nodes, marginals)}
    n_observed = sum(observed for _, observed, *_ in nodes)
    facts = [f"{n_observed} observed and {len(nodes) - n_observed} hidden variables"]
    if report is not None and report["log_likelihood"] is not None:
        facts.append(f"log-likelihood {report['log_likelihood']:,.1f}, {report['free_parameters']:,} parameters")
    rows = []
    shown = list(nearest_items(model, 5).items())
    for name, items in shown[:30]:
        states = by_name[name]
        probabilities = "" if states is None else " ".join(f"{value:.2f}" for value in states[:8])
        cells = (name, probabilities, ", ".join(item if len(item) <= 60 else item[:60] + "…" for item in items))
        rows.append("<tr>" + "".join(f"<td style='text-align:left'>{html.escape(cell)}</td>" for cell in cells) + "</tr>")
    if len(shown) > 30:
        rows.append(f"<tr><td colspan='3'>… {len(shown) - 30} more</td></tr>")
    head = "<tr><th>hidden</th><th>states</th><th style='text-align:left'>nearest</th></tr>"
    return (
        f"<div><code>{html.escape(title)}</code><p>{html.escape('; '.join(facts))}</p><table>{head}{''.join(rows)}</table></div>"
    )

"""The estimator."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from . import _data, _graph, _latentree
from ._base import BaseEstimator, DensityMixin, TransformerMixin, available_if
from ._evidence import read_evidence
from ._features import match_features, original_columns
from ._moments import Moments
from ._options import (
    column_name,
    draw_seed,
    plain,
    read_handle_unknown,
    read_kinds,
    read_list,
    read_min_count,
    read_n_jobs,
    read_seed,
    read_text_or_none,
    read_whole,
)
from ._progress import Progress
from ._views import TreeViews
from ._warnings import NotFittedError, warn_all

#: Options that are handed on to the library under their own names.
_LEARN_OPTIONS = (
    "structure parameters distance significance smoothing epsilon tau contract bootstrap collapse decomposition alignment start restarts "
    "em_iterations em_tolerance em_smoothing weight_kind memory select effort validation_fraction accept states linkers"
).split()
#: The one column of `transform` where there is no hidden variable.
_CONSTANT = "constant"


def _has_states(estimator: LatentTree) -> bool:
    """A Gaussian tree has no states, a tree may have no hidden variables, and before fitting nobody knows."""
    return any(labels is not None for _, observed, _, labels in estimator._fitted().nodes() if not observed)


class LatentTree(TreeViews, TransformerMixin, DensityMixin, BaseEstimator):
    """Latent tree model: learns the hidden tree behind a table, its hidden variables and their distributions.

    Columns may be Boolean, categorical, numeric or counts, and may have missing cells. Kinds are inferred as on the command line:
    0 and 1 are binary, up to 12 distinct whole numbers are categories, small non-negative whole numbers that vary as counts do are counts, other numbers
    are continuous, and text is categorical. Categorical columns of data frames keep their levels. A sparse matrix has one kind for all columns:
    binary, count or continuous. ``kind`` overrides this. If all
    columns are continuous and ``n_states`` is ``"auto"``, all variables are Gaussian; otherwise hidden variables are discrete.

    Parameters
    ----------
    structure : str, default="auto"
        Learner of the tree: ``auto``, ``likelihood``, ``chow-liu``, ``nj``, ``snj``, ``rg``, ``clrg``, ``clnj``, ``clblind``,
        ``plrg``, ``reg-clrg``, ``reg-clnj``, ``hclt``, ``levels`` or ``chain`` (positions of a sequence, in the order of the columns).
    n_states : int or "auto", default="auto"
        Number of states of the hidden variables. ``"auto"`` means the number found by ``select``, otherwise 2, or Gaussian hidden
        variables if all columns are continuous.
    parameters : str, default="auto"
        Method for the parameters: ``auto`` (from the edge lengths if all columns are continuous, otherwise ``moments+em``),
        ``moments+em``, ``moments``, ``em``, ``distances``, ``spectral``, ``hierarchical`` or ``none`` (only the tree). Models by
        ``spectral`` and ``hierarchical`` have no hidden states: they score, query and impute columns of labels.
    linkers : str, default="stacked"
        With ``parameters="spectral"``, what stands for a branch of the tree: all of its variables (``stacked``) or one (``single``).
    select : str, optional
        Search for the best tree and numbers of states by ``bic`` or ``validation`` (needs ``validation_fraction``), or not at all
        (``none``). By default ``bic``, or ``validation`` with a ``validation_fraction``, unless a ``structure`` or ``tree`` is given.
    effort : str, optional
        How much work the search does: ``quick`` (no search), ``normal`` (default) or ``thorough``.
    validation_fraction : float, optional
        Fraction of the rows to hold out: EM stops when their log-likelihood stops rising.
    accept : list of str, optional
        With ``reg-clrg`` and ``reg-clnj``, the inner nodes whose candidates are accepted, instead of those that raise BIC.
    states : dict, optional
        Numbers of states of individual hidden nodes of ``tree``, such as ``{"h3": 4, "h7": 3}``; the others have ``n_states``.
    kind : str or dict, optional
        Kinds of columns: ``binary``, ``categorical``, ``continuous``, ``count`` or ``ignore``, for all columns or by name;
        ``"*"`` stands for every column that is not named. ``binary`` turns positive counts into 1.
    handle_unknown : str, default="missing"
        How to treat labels that were not present during ``fit``: ``"missing"`` treats their cells as missing, with a warning that
        counts and lists them; ``"error"`` raises an error.
    tree : str, path, LatentTree or networkx graph, optional
        Keep this tree (Newick text, or a file with a tree or a model) and learn only its parameters. Hidden variables have as many
        states as in the model, unless ``n_states`` or ``states`` say otherwise.
    distance : str, default="auto"
        Distance between columns: ``auto``, ``gaussian``, ``logdet``, ``multivariate``, ``symmetric`` or ``canonical``.
    significance : float, default=2.0
        Minimum significance, in standard errors, for a dependence to connect two variables; 0 keeps everything in one tree.
    smoothing : float, default=0.0
        Pseudo-count added to each cell of label tables.
    epsilon : float, optional
        Tolerance for distances within a family (``rg``, ``clrg``, ``plrg``); three standard errors by default.
    tau : float, optional
        Maximum distance used to find families (``rg``, ``clrg``, ``plrg``); derived from standard errors by default.
    contract : float or "none", optional
        Merge adjacent nodes whose correlation exceeds this; ``"none"`` merges none. By default 0.9, and none for
        the structures ``"auto"`` and ``"likelihood"``, which choose their edges by likelihood.
    bootstrap : int, optional
        Share of so many bootstrap replicates that have each split.
    collapse : float, optional
        Take out splits whose support is below this, from 0 to 1; 0 takes out none. By default those below 0.5 whose
        removal does not lower BIC, and none of a structure that is asked for by name.
    decomposition : str, default="sidiwo"
        Decomposition of third moments: ``sidiwo``, ``tpm``, ``svd``, ``svtd`` or ``als``.
    alignment : str, default="linear"
        How hidden states from moments are aligned between tables: ``linear`` (by construction) or ``huang`` (triplets).
    start : str, optional
        Starting point of EM: ``moments``, ``lcm`` (the classes of a latent class model in every hidden node) or ``random``.
    restarts : int, default=5
        Number of EM starts (``lcm`` and ``random``).
    em_iterations : int, optional
        Maximum number of EM passes over the rows.
    em_tolerance : float, optional
        Stop EM when the relative gain in log-likelihood falls below this.
    em_smoothing : float, optional
        Pseudo-count that EM adds to every cell of its tables; by default 0.01, or searched over with ``select="validation"``.
    weight_kind : str, default="auto"
        Meaning of ``sample_weight``. ``frequency``: how often a row was observed, whole numbers whose sum is n in BIC. ``sampling``:
        how many members of a population a row stands for; the weights are rescaled to sum to the number of rows with a positive
        weight, which is n in BIC. ``auto`` treats whole numbers as frequencies (a weight of k equals k rows, as in scikit-learn)
        and other weights as sampling weights.
    min_count : int, optional
        Merge labels of a categorical column that occur less often into ``(other)``, together with labels unseen by ``fit``.
    memory : str, optional
        Memory limit for moments and models, such as ``"8G"``; three quarters of the machine's by default. A run that would exceed
        it fails before work starts.
    random_state : int, RandomState or Generator, optional
        Random seed. The same seed and data give the same model for any ``n_jobs``. With None, fitting is
        still deterministic (the seed is 0), while `sample` and draws of `impute` differ from call to call.
    n_jobs : int, optional
        Number of threads; None and -1 mean all cores.
    verbose : bool, default=False
        Show a progress bar in the terminal or notebook if fitting takes more than a second, with an estimate of
        the remaining time.

    Attributes
    ----------
    model_ : Model
        The fitted model.
    hidden_ : list of str
        Names of the hidden variables.
    central_ : str or None
        The hidden variable at the centre of the (first) tree, which `predict` uses by default; None if there is none.
    report_ : dict
        What ``latentree learn --json`` prints (its ``bic`` is larger for better models; `bic` is not).
    log_likelihood_ : float or None
        Log-likelihood of the data, None where only a tree was learned.
    groups_ : DataFrame
        The groups of variables that hidden variables stand for, from broad to fine.
    tables_ : dict of str to DataFrame
        By variable, its distribution given its parent.
    kinds_ : dict of str to str
        What each column was taken for.
    converged_ : bool or None
        Whether EM converged.
    n_iter_ : int or None
        Number of EM passes over the rows.
    n_features_in_ : int
        Number of columns.
    feature_names_in_ : array of str
        Names of the columns, if they have names. Column labels of a pandas frame that are not strings (numbers, tuples of a
        MultiIndex) are converted with ``str(label)`` here and in answers; frames returned by `impute` and `sample` keep the
        original labels. Columns of later tables are matched by name, in any order.

    Notes
    -----
    scikit-learn's tags: missing values (``allow_nan``) and sparse input are supported. Cells that are not stored are zeros.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(1)
    >>> cause = rng.integers(2, size=(1000, 1))
    >>> table = np.where(rng.random((1000, 4)) < 0.9, cause, 1 - cause)
    >>> tree = LatentTree().fit(table)
    >>> tree.transform(table).shape
    (1000, 2)
    >>> tree.get_feature_names_out().tolist()
    ['h1=0', 'h1=1']
    >>> answer = tree.query(given={"x1": 1, "x2": 1}, of="x3")
    >>> bool(answer["x3"]["1"] > 0.8)
    True
    """

    def __init__(
        self,
        structure: str = "auto",
        n_states: int | str = "auto",
        parameters: str = "auto",
        *,
        linkers: str = "stacked",
        select: str | None = None,
        effort: str | None = None,
        validation_fraction: float | None = None,
        accept: list[str] | None = None,
        states: Mapping[str, int] | None = None,
        kind: str | Mapping[str, str] | None = None,
        handle_unknown: str = "missing",
        tree: Any = None,
        distance: str = "auto",
        significance: float = 2.0,
        smoothing: float = 0.0,
        epsilon: float | None = None,
        tau: float | None = None,
        contract: float | str | None = None,
        bootstrap: int | None = None,
        collapse: float | None = None,
        decomposition: str = "sidiwo",
        alignment: str = "linear",
        start: str | None = None,
        restarts: int = 5,
        em_iterations: int | None = None,
        em_tolerance: float | None = None,
        em_smoothing: float | None = None,
        weight_kind: str = "auto",
        memory: str | None = None,
        min_count: int | None = None,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: bool = False,
    ) -> None:
        self.structure = structure
        self.n_states = n_states
        self.parameters = parameters
        self.linkers = linkers
        self.select = select
        self.effort = effort
        self.validation_fraction = validation_fraction
        self.accept = accept
        self.states = states
        self.kind = kind
        self.handle_unknown = handle_unknown
        self.tree = tree
        self.distance = distance
        self.significance = significance
        self.smoothing = smoothing
        self.epsilon = epsilon
        self.tau = tau
        self.contract = contract
        self.bootstrap = bootstrap
        self.collapse = collapse
        self.decomposition = decomposition
        self.alignment = alignment
        self.start = start
        self.restarts = restarts
        self.em_iterations = em_iterations
        self.em_tolerance = em_tolerance
        self.em_smoothing = em_smoothing
        self.weight_kind = weight_kind
        self.memory = memory
        self.min_count = min_count
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    # Of estimators that an older version pickled.
    _labels: Any = None
    _texts: set[str] = set()
    linkers: str = "stacked"

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.sparse = True
        return tags

    # ---- learning

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> LatentTree:
        """Learn the tree and its parameters from rows, or from `Moments`. ``y`` is ignored."""
        read_handle_unknown(self.handle_unknown)
        if isinstance(X, Moments):
            if sample_weight is not None:
                raise ValueError("sample_weight: moments have their weights already")
            source: Any = X._sums
            names: list[str] | None = X.names
            container, levels, texts, labels, warned = "numpy", {}, set(), None, []
            n_features = len(X.names)
        else:
            data = _data.read(X, type(self).__name__)
            weights = _data.read_weights(sample_weight, data.n_rows)
            source = data.table(read_kinds(self.kind), weights, min_count=read_min_count(self.min_count))
            names, container, levels, warned = data.names, data.container, data.levels, source.warnings
            labels, texts = data.labels if container == "pandas" else None, data.texts
            n_features = data.n_columns
        options = self._learn_options()
        tree = _graph.tree_text(self.tree)
        with Progress() as progress:
            display = progress if self.verbose else None
            model, report = _latentree.learn(source, options, tree, read_n_jobs(self.n_jobs), display)
        self._take(model, json.loads(report), container, levels)
        self._labels, self._texts = labels, texts
        self.n_features_in_ = n_features
        if names is not None:
            self.feature_names_in_ = np.asarray(names, dtype=object)
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_
        if not self.hidden_ and self.structure != "chow-liu":
            chance = "no significant hidden variable was found"
            advice = "more rows, a lower significance, or another structure may find one"
            warned = [*warned, f"{chance}: transform gives one constant column, predict one class; {advice}"]
        warn_all([*warned, *self.report_["warnings"]], stacklevel=3)
        return self

    def fit_distances(self, distances: Any, names: Iterable[str] | None = None) -> LatentTree:
        """Learn only the tree, from a square distance matrix; NaN means that a distance is unknown."""
        if hasattr(distances, "columns") and names is None:
            names = [column_name(name) for name in distances.columns]
        try:
            matrix = np.ascontiguousarray(np.asarray(distances), dtype=np.float64)
        except (TypeError, ValueError):
            raise TypeError("distances: a square matrix of numbers is needed; NaN is an unknown distance") from None
        if matrix.ndim != 2:
            raise ValueError(f"a square matrix of distances is needed, not an array with {matrix.ndim} dimensions")
        called = [f"x{ix + 1}" for ix in range(len(matrix))] if names is None else [str(name) for name in read_list("names", names)]
        options = self._learn_options()
        with Progress() as progress:
            display = progress if self.verbose else None
            model, report = _latentree.learn_distances(called, matrix, options, read_n_jobs(self.n_jobs), display)
        self._take(model, json.loads(report), "numpy", {})
        self.n_features_in_ = len(called)
        self.feature_names_in_ = np.asarray(called, dtype=object)
        warn_all(self.report_["warnings"], stacklevel=3)
        return self

    def fit_passes(
        self,
        run: Any,
        *,
        schema: Any = None,
        columns: list[str] | None = None,
        weight_col: str | None = None,
        sample_bytes: int | None = None,
        validation: Any = None,
    ) -> LatentTree:
        """Learn from rows that are elsewhere, by passes over them.

        Parameters
        ----------
        run : function
            ``run(task) -> bytes`` runs a pass: whoever holds rows answers with `latentree.distributed.observe`, and
            `latentree.distributed.merge` joins the answers. It is called on this thread, one task after the other.
        schema : dict, str or LatentTree, optional
            What the columns are: ``{"variables": [{"name", "kind", "labels"}]}``, its JSON text, or a fitted model. By default a first pass
            looks at the columns, and kinds are inferred as by `fit`.
        columns : list of str, optional
            The columns to learn from; by default all.
        weight_col : str, optional
            The column of row weights. With a ``schema``, weights are frequencies.
        sample_bytes : int, optional
            Bytes of rows that a search may bring here (a table that fits is learned as `fit` learns it); by default 64 MiB. With 0 no rows
            are moved; then name a ``structure``.
        validation : function, optional
            As ``run``, for rows that stop EM. A sample of them comes here.
        """
        from .distributed import SAMPLE_BYTES, read_schema

        if not callable(run):
            raise TypeError(f"run: {type(run).__name__} given; a function from bytes to bytes is needed")
        if validation is not None and not callable(validation):
            raise TypeError(f"validation: {type(validation).__name__} given; a function from bytes to bytes, as run, is needed")
        most = SAMPLE_BYTES if sample_bytes is None else read_whole("sample_bytes", sample_bytes, 0 if validation is None else 1)
        read_text_or_none("weight_col", weight_col)
        read_handle_unknown(self.handle_unknown)
        names = None if columns is None else [str(name) for name in read_list("columns", columns)]
        kinds, min_count = read_kinds(self.kind), read_min_count(self.min_count)
        options, tree = self._learn_options(), _graph.tree_text(self.tree)
        with Progress() as progress:
            display = progress if self.verbose else None
            model, report, warned = _latentree.learn_remote(
                run, read_schema(schema), names, kinds, weight_col, min_count, options, tree, most, validation, read_n_jobs(self.n_jobs), display
            )
        self._take(model, json.loads(report), "numpy", {})
        found = [name for name, _, _ in model.columns()]
        self.n_features_in_ = len(found)
        self.feature_names_in_ = np.asarray(found, dtype=object)
        warn_all([*warned, *self.report_["warnings"]], stacklevel=3)
        return self

    def _learn_options(self) -> dict[str, Any]:
        options = {name: plain(getattr(self, name)) for name in _LEARN_OPTIONS}
        n_states = plain(self.n_states)
        if isinstance(n_states, str) and n_states != "auto":
            raise ValueError(f"n_states: {n_states!r} given; auto or a whole number is needed")
        # The ranks of a spectral model are found; of others, "auto" is what the search finds.
        is_spectral = self.parameters in ("spectral", "hierarchical")
        options["n_states"] = n_states if n_states != "auto" or is_spectral else None
        options["random_state"] = read_seed(self.random_state)
        return options

    def _take(self, model: _latentree.Model, report: dict[str, Any] | None, container: str, levels: dict[str, list[Any]]) -> None:
        self.model_ = model
        self.hidden_ = [name for name, observed, _, _ in model.nodes() if not observed]
        self.central_ = _graph.central(model)
        self._container = container
        self._levels = levels
        self._labels, self._texts = None, set()
        if report is not None:
            self.report_ = report
            self.log_likelihood_ = report["log_likelihood"]
            self.converged_ = report["converged"]
            self.n_iter_ = report["em_iterations"]

    # ---- asking

    def _fitted(self) -> _latentree.Model:
        if not hasattr(self, "model_"):
            message = "instance is not fitted yet. Call 'fit' with appropriate arguments before using this estimator."
            raise NotFittedError(f"This {type(self).__name__} {message}")
        return self.model_

    def _read(self, X: Any, sample_weight: Any = None) -> tuple[_data.Data, _latentree.Table]:
        """A table for the fitted model."""
        model = self._fitted()
        data = _data.read(X, type(self).__name__)
        match_features(data, type(self).__name__, self._feature_names(), getattr(self, "n_features_in_", None))
        weights = _data.read_weights(sample_weight, data.n_rows)
        table = data.table(read_kinds(self.kind), weights, model, read_handle_unknown(self.handle_unknown))
        warn_all(table.unseen, stacklevel=4)
        return data, table

    def _feature_names(self) -> list[str] | None:
        names = getattr(self, "feature_names_in_", None)
        return None if names is None else [str(name) for name in names]

    def _is_node(self, name: Any) -> bool:
        called = column_name(name)
        return any(node == called for node, *_ in self._fitted().nodes())

    def _name(self, name: Any) -> str:
        """The name of a variable that is called by its name or its label."""
        called = column_name(name)
        return called if self._is_node(called) or not self._fitted().has_tables else self._fitted().find(called)

    def _warn_poor_pairs(self, columns: Iterable[str]) -> None:
        warn_all(self._fitted().poor_pairs(list(columns)), stacklevel=4)

    def _nodes(self, of: Any) -> list[str]:
        if of is None:
            # A spectral model answers about its columns.
            return [name for name, *_ in self._fitted().columns()] if self._fitted().is_spectral else self.hidden_
        if isinstance(of, str) or self._is_node(of):
            return [self._name(of)]
        if not isinstance(of, Iterable):
            raise TypeError(f"of: {of!r} given; the name of a variable or a list of names is needed")
        return [self._name(name) for name in of]

    def transform(self, X: Any) -> np.ndarray:
        """Posteriors of all hidden variables: one column per state, or mean and variance for a Gaussian variable.

        Rows with probability zero are NaN. `get_feature_names_out` names the columns. A model without hidden variables gives a
        single column of ones, ``constant``.
        """
        data, table = self._read(X)
        if not self.hidden_:
            return np.ones((data.n_rows, 1))
        return self._fitted().posterior(table, self.hidden_, read_n_jobs(self.n_jobs))

    @available_if(_has_states)
    def predict_proba(self, X: Any, of: str | None = None) -> np.ndarray:
        """State probabilities of a hidden or observed variable; by default, the hidden variable at the centre of the tree."""
        model = self._fitted()
        _, table = self._read(X)
        name = self._one(of)
        if any(node == name and labels is None for node, _, _, labels in model.nodes()):
            raise ValueError(f"{name!r} has no states; transform gives its mean and variance")
        return model.posterior(table, [name], read_n_jobs(self.n_jobs))

    def predict(self, X: Any, of: Any = None) -> np.ndarray:
        """Most probable state of a variable in every row; by default, of the hidden variable at the centre of the tree.

        Parameters
        ----------
        X : table
        of : str or list of str, optional
            For one variable: state numbers if it is hidden, values if it is observed, the mean if it has no states.
            For a list of variables: their states in the most probable joint assignment, one column each.
            ``"*"`` stands for all hidden variables.
        """
        model = self._fitted()
        data, table = self._read(X)
        n_jobs = read_n_jobs(self.n_jobs)
        labels_of = {name: (observed, labels) for name, observed, _, labels in model.nodes()}
        if of is None and self.central_ is None:
            # Without hidden variables there is one kind of row.
            return np.zeros(data.n_rows, dtype=np.int64)
        if of is not None and (of == "*" if isinstance(of, str) else not self._is_node(of)):
            nodes = self._nodes(None if of == "*" else of)
            best = model.most_probable(table, nodes, n_jobs)
            has_states = all(labels_of[name][1] is not None for name in nodes)
            return best.astype(np.int64) if has_states and not np.isnan(best).any() else best
        name = self._one(of)
        self._warn_poor_pairs(name for name, _, _ in model.columns())
        posterior = model.posterior(table, [name], n_jobs)
        observed, labels = labels_of[name]
        if labels is None:
            return posterior[:, 0]
        best = posterior.argmax(axis=1)
        if not observed:
            return best
        values = _data.label_values(labels, self._levels.get(name), name in self._texts)
        array = np.array(values)
        return (array if array.dtype.kind in "biuf" else np.array(values, dtype=object))[best]

    def _one(self, of: Any) -> str:
        if of is None:
            if self.central_ is None:
                raise ValueError("the model has no hidden variables; name an observed one (of)")
            return self.central_
        if not isinstance(of, str) and self._is_node(of):
            return column_name(of)
        if not isinstance(of, str):
            raise TypeError(f"of: {of!r} given; the name of a variable is needed")
        return self._name(of)

    def score_samples(self, X: Any) -> np.ndarray:
        """Log-likelihood of every row, marginalised over missing cells."""
        _, table = self._read(X)
        return self._fitted().score_samples(table, read_n_jobs(self.n_jobs))

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Mean log-likelihood of the rows. ``y`` is ignored."""
        data, table = self._read(X, sample_weight)
        values = self._fitted().score_samples(table, read_n_jobs(self.n_jobs))
        weights = _data.read_weights(sample_weight, data.n_rows)
        if weights is None:
            return float(values.mean())
        used = weights > 0
        return float(np.dot(values[used], weights[used]) / weights[used].sum())

    def bic(self, X: Any) -> float:
        """Bayesian information criterion, ``-2 ln L + parameters · ln rows``: lower is better, as in scikit-learn."""
        values = self.score_samples(X)
        return float(-2.0 * values.sum() + self._fitted().n_free_parameters * np.log(len(values)))

    def aic(self, X: Any) -> float:
        """Akaike's information criterion, ``-2 ln L + 2 · parameters``: lower is better."""
        return float(-2.0 * self.score_samples(X).sum() + 2.0 * self._fitted().n_free_parameters)

    def impute(self, X: Any, method: str = "mode", *, random_state: Any = None) -> Any:
        """Fill the missing cells of a table; returns the same type of table.

        Parameters
        ----------
        X : table
        method : str, default="mode"
            ``"mode"``: the most probable category given the rest of the row, the mean of continuous columns, and the rounded
            mean of counts. ``"mean"``: the mean also for counts and for categories that are numbers (rounded if the column can
            only hold whole numbers); other categories as with ``"mode"``. ``"draw"``: a draw from the joint distribution of all
            missing cells of a row given the others, so that filled columns vary like the data.
        random_state : int, RandomState or Generator, optional
            Seed of the draws. None means that of the estimator; if that is None too, draws differ from call to call.
        """
        if not isinstance(method, str):
            raise TypeError(f"method: {method!r} given; 'mode', 'mean' or 'draw' is needed")
        data, table = self._read(X)
        seed = draw_seed(random_state, self.random_state) if method == "draw" else 0
        values = self._fitted().impute(table, method, seed, read_n_jobs(self.n_jobs))
        for name, levels in self._levels.items():
            data.levels.setdefault(name, levels)
        return _data.fill(data, values, self._fitted().columns(), method == "mean")

    def sample(self, n_samples: int = 1, *, hidden: bool = False, given: Any = None, random_state: Any = None) -> Any:
        """Draw rows, as the type of table that was fitted; with ``hidden``, also the states of the hidden variables.

        ``given`` is as in `query`. The same ``random_state`` draws the same rows. None means that of the estimator; if that is
        None too, rows differ from call to call.
        """
        model = self._fitted()
        n_samples = read_whole("n_samples", n_samples, 1)
        seed = draw_seed(random_state, self.random_state)
        evidence = read_evidence(given, model, self._feature_names() or ())
        values = model.sample(n_samples, seed, bool(hidden), evidence, read_n_jobs(self.n_jobs))
        columns = model.columns()
        labels = original_columns(self._labels, self._feature_names() or [], [name for name, _, _ in columns])
        table = _data.make(self._container, values[:, : len(columns)], columns, self._levels, self._texts, labels)
        if not hidden:
            return table
        states = values[:, len(columns) :]
        has_states = all(labels is not None for _, observed, _, labels in model.nodes() if not observed)
        return table, states.astype(np.int64) if has_states else states

    def query(self, given: Any = None, of: Any = None, *, joint: bool = False) -> Any:
        """Exact conditional distribution of each variable in ``of`` (by default, all hidden ones) given evidence.

        ``given`` is a dict of names and values, a pandas Series such as a row of a frame, or a data frame with one row. Missing
        values are not evidence.

        Returns ``{variable: {state: probability}}``, with ``{"mean": …, "variance": …}`` for variables without states. With
        ``joint``, returns the joint distribution as an array with one axis per variable, or (means, covariances).
        """
        model = self._fitted()
        nodes = self._nodes(of)
        evidence = read_evidence(given, model, self._feature_names() or ())
        labels = {name: states for name, _, _, states in model.nodes()}
        if evidence:
            self._warn_poor_pairs([name for name, _ in evidence] + nodes)
        if joint:
            values, covariances = model.joint(evidence, nodes)
            if covariances is not None:
                return np.array(values), np.array(covariances).reshape(len(nodes), len(nodes))
            return np.array(values).reshape([len(labels[name] or []) for name in nodes])
        _, marginals = model.query(evidence, nodes)
        answer: dict[str, dict[str, float]] = {}
        for name, values in zip(nodes, marginals):
            states = labels[name]
            answer[name] = dict(zip(states, values)) if states is not None else {"mean": values[0], "variance": values[1]}
        return answer

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Names of the columns of `transform`: ``h1=0``, ``h1=1``, …, or ``h1.mean``, ``h1.variance``, or ``constant``."""
        model = self._fitted()
        if input_features is not None:
            known = getattr(self, "feature_names_in_", None)
            if known is not None and list(input_features) != list(known):
                raise ValueError("input_features is not equal to feature_names_in_")
            if len(input_features) != self.n_features_in_:
                wanted = f"input_features should have length equal to number of features ({self.n_features_in_})"
                raise ValueError(f"{wanted}, got {len(input_features)}")
        names = []
        for name, observed, _, labels in model.nodes():
            if not observed:
                names += [f"{name}={label}" for label in labels] if labels is not None else [f"{name}.mean", f"{name}.variance"]
        return np.asarray(names or [_CONSTANT], dtype=object)

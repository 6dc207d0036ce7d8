"""Error messages for keyword arguments that do not exist."""

from __future__ import annotations

import difflib
import inspect
from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")

# Names of each parameter in other packages, and other names that users often try.
_SYNONYMS: dict[str, tuple[str, ...]] = {
    "n_components": ("n_filters", "nfilter", "n_sources", "rank", "k"),
    "sample_weight": ("weights", "weight", "w"),
    "init": ("start", "B0", "w_init"),
    "n_restarts": ("restarts", "n_init"),
    "n_resamples": ("stability", "n_bootstrap", "n_boot", "n"),
    "n_jobs": ("threads", "n_threads", "num_threads", "workers"),
    "sfreq": ("rate", "fs", "sampling_rate", "srate", "samplerate"),
    "n_segments": ("segments",),
    "random_state": ("seed", "rng"),
    "sort_by": ("order",),
    "y": ("labels", "target", "classes"),
    "bad_spans": ("exclude", "bads", "reject"),
    "tol": ("eps", "epsilon", "tolerance"),
    "max_iter": ("n_iter_max", "maxiter", "n_iter", "max_iterations"),
    "log": ("logvar",),
    "shrinkage": ("reg", "regularization"),
}


def suggests_keywords(function: Callable[P, R]) -> Callable[P, R]:
    """Return `function` with a TypeError that suggests the nearest name of a parameter."""
    parameters = inspect.signature(function).parameters.values()
    if any(one.kind is one.VAR_KEYWORD for one in parameters):
        return function
    names = frozenset(one.name for one in parameters if one.kind is not one.POSITIONAL_ONLY)
    title = function.__qualname__.removesuffix(".__init__")
    is_method = "self" in names and function.__name__ != "__init__"

    @wraps(function)
    def checked(*args: P.args, **kwargs: P.kwargs) -> R:
        if not names.issuperset(kwargs):
            unknown = next(name for name in kwargs if name not in names)
            # The class of the caller's object, not the base class that defines the method.
            name = f"{type(args[0]).__name__}.{function.__name__}" if is_method else title
            raise TypeError(unknown_keyword(name, unknown, names - {"self"}))
        return function(*args, **kwargs)

    return checked


def unknown_keyword(title: str, unknown: str, names: frozenset[str]) -> str:
    """Return the message about a keyword argument that `title` does not have."""
    message = f"{title}() got an unexpected keyword argument {unknown!r}"
    for name, synonyms in _SYNONYMS.items():
        if name in names and unknown in synonyms:
            return f"{message}: did you mean {name!r}?"
    nearest = difflib.get_close_matches(unknown, sorted(names), n=1)
    if nearest:
        return f"{message}: did you mean {nearest[0]!r}?"
    return f"{message}. Its parameters are {', '.join(sorted(names))}"

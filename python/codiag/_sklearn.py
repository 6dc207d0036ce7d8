"""Base class of the estimators."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from ._errors import share_warning_with_sklearn
from ._io import Savable
from ._keywords import suggests_keywords

try:
    from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin, clone
    from sklearn.exceptions import NotFittedError
    from sklearn.utils.multiclass import check_classification_targets
    from sklearn.utils.validation import check_is_fitted
except ImportError:
    raise ImportError(
        "the estimators of codiag need scikit-learn: pip install 'codiag[sklearn]'"
    ) from None

share_warning_with_sklearn()

__all__ = [
    "ClassNamePrefixFeaturesOutMixin",
    "Estimator",
    "TransformerMixin",
    "check_classification_targets",
    "check_is_fitted",
    "clone",
    "parameters",
]

_Class = TypeVar("_Class")
# The parameters of an estimator are the fields of its dataclasses.
parameters = dataclass(eq=False, repr=False)


def suggests_parameters(cls: type[_Class]) -> type[_Class]:
    """Let the constructor of a class suggest the nearest name for an unknown parameter."""
    cls.__init__ = suggests_keywords(cls.__init__)  # type: ignore[method-assign]
    return cls


class Estimator(Savable, BaseEstimator):  # type: ignore[misc]
    """An estimator that can be saved, and says what it lacks before it is fitted."""

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            """Explain why an attribute of a fitted estimator is missing."""
            title = type(self).__name__
            is_fitted_attribute = name.endswith("_") and not name.startswith("_")
            if is_fitted_attribute and "result_" not in vars(self):
                raise NotFittedError(f"this {title} has no {name} yet: call fit first")
            raise AttributeError(f"{title!r} object has no attribute {name!r}", name=name, obj=self)

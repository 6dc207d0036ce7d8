"""Base class of the estimators."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from ._errors import share_warning_with_sklearn
from ._io import Savable
from ._keywords import suggests_keywords

try:
    from sklearn.base import clone
    from sklearn.exceptions import NotFittedError
    from sklearn.utils.multiclass import check_classification_targets
    from sklearn.utils.validation import check_is_fitted
except ImportError:
    raise ImportError(
        "the estimators of codiag need scikit-learn: pip install scikit-learn"
    ) from None

if TYPE_CHECKING:
    from typing_extensions import Self

    # scikit-learn has no type hints: with bases of unknown type, type checkers would accept any
    # parameter and any attribute.
    class BaseEstimator:
        def get_params(self, deep: bool = True) -> dict[str, Any]: ...
        def set_params(self, **params: Any) -> Self: ...
        def __sklearn_tags__(self) -> Any: ...

    class TransformerMixin:
        def __init_subclass__(cls, auto_wrap_output_keys: Any = ("transform",)) -> None: ...
        def fit_transform(self, X: Any, y: Any = None, **fit_params: Any) -> Any: ...
        def set_output(self, *, transform: Any = None) -> Self: ...
        def __sklearn_tags__(self) -> Any: ...

    class ClassNamePrefixFeaturesOutMixin:
        def get_feature_names_out(self, input_features: Any = None) -> Any: ...

else:
    from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin

share_warning_with_sklearn()

__all__ = [
    "ClassNamePrefixFeaturesOutMixin",
    "Estimator",
    "TransformerMixin",
    "check_classification_targets",
    "check_is_fitted",
    "clone",
    "suggests_parameters",
]

_Class = TypeVar("_Class")


def suggests_parameters(cls: type[_Class]) -> type[_Class]:
    """Let the constructor of a class suggest the nearest name for an unknown parameter."""
    cls.__init__ = suggests_keywords(cls.__init__)  # type: ignore[method-assign]
    return cls


class Estimator(Savable, BaseEstimator):
    """An estimator that can be saved, and says what it lacks before it is fitted."""

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            """Explain why an attribute of a fitted estimator is missing."""
            title = type(self).__name__
            is_fitted_attribute = name.endswith("_") and not name.startswith("_")
            if is_fitted_attribute and "result_" not in vars(self):
                raise NotFittedError(f"this {title} has no {name} yet: call fit first")
            raise AttributeError(f"{title!r} object has no attribute {name!r}", name=name, obj=self)

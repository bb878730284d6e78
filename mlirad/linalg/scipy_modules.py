"""SciPy, which is installed by an extra."""

from __future__ import annotations

from importlib import import_module
from typing import Any


def scipy_module(name: str) -> Any:
    """A module of SciPy, loaded when it is needed. Raises ImportError, with what to install, where
    it is not there."""
    try:
        return import_module(f"scipy.{name}")
    except ImportError as error:
        raise ImportError("ti.linalg needs SciPy: pip install 'mlirad[linalg]'") from error

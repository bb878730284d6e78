"""Functions of complex numbers give the same numbers as their parts."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from programs.foreign_vectors.cases import of_complex_numbers
from programs.foreign_vectors.running import differences


@pytest.mark.parametrize(("element", "tolerance"), [("f64", 1e-11), ("f32", 2e-4)])
def test_each_op(element: str, tolerance: float) -> None:
    """Each op as upstream lowers it, which has other formulas."""
    close = partial(np.allclose, rtol=tolerance, atol=tolerance, equal_nan=True)
    assert not differences(of_complex_numbers(element), "scalarize-complex", runs=8, equal=close)

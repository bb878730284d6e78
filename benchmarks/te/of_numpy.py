"""NumPy's programs: products of matrices, which its BLAS makes."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from benchmarks.te.cases import Case

Run = Callable[[], list[np.ndarray]]


def program(case: Case) -> Run | None:
    """A function of no arguments; None for what is no product of matrices."""
    if case.kind != "matmul":
        return None
    x, w, head = case.arrays()
    left, right = {"y": (x, w), "dx": (head, w.T), "dw": (x.T, head)}[case.wanted]
    out = np.empty_like(x)
    return lambda: [np.matmul(left, right, out=out)]

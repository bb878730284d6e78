"""Quadrants' kernels that copy fields and arrays to arrays of others (`quadrants._kernels`)."""

from __future__ import annotations

from typing import Any

import numpy as np


def copy_out(source: Any, target: Any, *_layout: int | bool) -> None:
    """Copy a field or an array into an array of NumPy or torch of its shape."""
    values = source.to_numpy()
    if hasattr(target, "__array__") and getattr(target, "is_cpu", True):
        np.asarray(target)[...] = values.reshape(target.shape)
    else:
        target.copy_(target.new_tensor(values).reshape(target.shape))


_SCALARS = "tensor_to_ext_arr", "ndarray_to_ext_arr"
_MATRICES = "matrix_to_ext_arr", "ndarray_matrix_to_ext_arr"
NAMES = dict.fromkeys((*_SCALARS, *_MATRICES), copy_out)
__all__ = ["NAMES"]

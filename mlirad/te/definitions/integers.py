"""Arrays of integers that are given in another type than a function takes: NumPy and torch make
indices of 64 bits."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from mlirad.te.definitions.sizes import array_error, dtype_of
from mlirad.te.tensor import Tensor


def with_integers(
    arrays: Sequence[Any], numbers: Sequence[int], function: str, inputs: Sequence[Tensor]
) -> tuple[Any, ...]:
    """The arrays of a call, those of some numbers in the types of the inputs. Raises
    TaichiRuntimeTypeError for a number that a type has not."""
    for k in numbers:
        tensor, array = inputs[k], arrays[k]
        if type(array) is np.ndarray and array.dtype == tensor.dtype.numpy:
            continue
        if dtype_of(array, function, tensor) != tensor.dtype:
            arrays = (*arrays[:k], _convert(array, function, tensor), *arrays[k + 1 :])
    return tuple(arrays)


def _convert(array: Any, function: str, tensor: Tensor) -> Any:
    limits = np.iinfo(tensor.dtype.numpy)
    ends = [int(array.min()), int(array.max())] if 0 not in array.shape else []
    beyond = [end for end in ends if not limits.min <= end <= limits.max]
    if beyond:
        raise array_error(
            f"{function}: '{tensor.name}' is of type {tensor.dtype}, but got an array of type "
            f"{dtype_of(array, function, tensor)} with {beyond[0]}, which is out of range"
        )
    if isinstance(array, np.ndarray):
        return array.astype(tensor.dtype.numpy)
    return array.to(dtype=_torch_type(tensor.dtype.numpy))


def _torch_type(dtype: np.dtype[Any]) -> Any:
    import torch

    return torch.from_numpy(np.empty(0, dtype)).dtype

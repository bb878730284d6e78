"""The Python interface of arrays of scalars, vectors or matrices over index axes."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, Self

import numpy as np
from numpy.typing import DTypeLike

from mlirad.runtime.memory.values import Values


class OfElements(ABC):
    """Scalars, vectors or matrices (`element_shape`)."""

    element_shape: tuple[int, ...]

    @property
    def n(self) -> int:
        """Rows of an element."""
        return self.element_shape[0]

    @property
    def m(self) -> int:
        """Columns of an element."""
        return self.element_shape[1] if len(self.element_shape) > 1 else 1


def converted(values: Values, dtype: DTypeLike | None, copy: bool | None) -> Values:
    """Return an array with elements of a type, None for the one that it has. Raises ValueError
    where that needs a copy and none is allowed."""
    if dtype is None or values.dtype == dtype:
        return values
    if copy is False:
        raise ValueError(
            f"Zero-copy not available (copy=False): the elements are {values.dtype}, not {dtype}"
        )
    return values.astype(dtype)


class LibraryCopies(ABC):
    """Copies to and from torch and JAX, by way of NumPy's arrays."""

    @abstractmethod
    def to_numpy(self) -> Any:
        """A copy of all elements."""

    @abstractmethod
    def from_numpy(self, values: object) -> None:
        """Set all elements."""

    def _unwrap(self) -> Self:
        """Return the tensor itself: a `qd.Tensor` is no wrapper here."""
        return self

    _impl = property(_unwrap)

    def shared_array(self, copy: bool | None) -> Any:
        """Return the elements where they are, for `copy=False`, or (None) if they can be had so;
        None if a copy is wanted. Raises ValueError if a copy is needed and none is allowed."""
        if copy is False:
            raise ValueError(f"Zero-copy not available: {self!r} is not one array in host memory")
        return None

    def to_torch(
        self, device: object = None, keep_dims: bool = False, *, copy: bool | None = True
    ) -> Any:
        """A copy as a torch tensor, or (`copy=False`) a tensor of the same memory, of which tapes
        take no launch as long as it exists; `keep_dims` makes vectors matrices of one column.
        Raises ValueError if there is none."""
        shared = self.shared_array(copy)
        import torch

        is_vector = keep_dims and len(getattr(self, "element_shape", ())) == 1
        array = self.to_numpy() if shared is None else shared
        tensor = torch.from_numpy(array[..., np.newaxis] if is_vector else array)
        if shared is None:
            return tensor.to(device)
        if device is not None and torch.device(device).type != "cpu":
            raise ValueError("copy=False is incompatible with device transfer: elements are copied")
        return tensor

    def from_torch(self, tensor: Any) -> None:
        """Set all elements from a torch tensor. Raises TypeError for anything else."""
        if not hasattr(tensor, "detach"):
            raise TypeError(f"from_torch: expected a torch.Tensor, got {type(tensor).__name__}")
        import torch

        values = tensor.detach().cpu().resolve_conj().resolve_neg()
        self.from_numpy((values.float() if values.dtype == torch.bfloat16 else values).numpy())

    def to_jax(self) -> Any:
        """A copy as an array of JAX, which makes 64 bits 32 without `jax_enable_x64`."""
        import jax.numpy as jnp

        return jnp.array(self.to_numpy())

    def from_jax(self, array: Any) -> None:
        """Set all elements from an array of JAX."""
        self.from_numpy(np.asarray(array))

"""Arrays of launches that nobody records."""

from __future__ import annotations

from typing import NoReturn

from mlirad.runtime.memory.values import Values


class ArrayAddress:
    """The address and the size of an array: all that a primal needs."""

    __slots__ = ("_size", "address", "dims", "host")

    def __init__(
        self, address: int, dims: tuple[int, ...], host: Values | None = None, size: int = 0
    ) -> None:
        self.address, self.dims, self.host, self._size = address, dims, host, size

    @property
    def size(self) -> int:
        return self._size if self.host is None else self.host.nbytes

    def adjoint(self) -> NoReturn:
        """Raise AssertionError."""
        raise AssertionError("a primal takes no adjoints")

    def tangent(self, number: int) -> NoReturn:
        """Raise AssertionError."""
        raise AssertionError("a primal takes no tangents")


def share_memory(arrays: list[ArrayAddress]) -> bool:
    """Return whether two of some arrays may."""
    for position, array in enumerate(arrays):
        for other in arrays[:position]:
            if (
                array.address < other.address + other.size
                and other.address < array.address + array.size
            ):
                return True
    return False

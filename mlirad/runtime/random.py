"""The random numbers of a program: a seed for every launch."""

from __future__ import annotations

from mlirad.dialect.turn import compiling


class Random:
    """Seeds are the same in every run of a program with the same seed."""

    def __init__(self, seed: int) -> None:
        self._seed = seed
        self.launches = 0  # of kernels that draw

    def rewind(self, launches: int) -> None:
        """Draw again what launches drew after so many."""
        self.launches = launches

    def next_seed(self) -> int:
        """A different number for every launch."""
        with compiling:
            self.launches = count = self.launches + 1
        return ((self._seed + 1) * 0x9E3779B97F4A7C15 + count * 0xD1B54A32D192ED03) % (1 << 63)

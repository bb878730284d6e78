"""Comparisons of derivatives with differences, and of what two programs compute."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec
import numpy as np

from mlirad.runtime.memory.values import Values

# by the bytes of an element: the steps that are tried, and how far off a derivative may be
STEPS = {8: ((1e-5, 1e-6, 1e-4), 1e-5), 4: ((1e-2, 3e-3, 3e-2), 2e-2), 2: ((0.1, 0.05), 0.1)}
_ROUNDING = {8: 1e-10, 4: 1e-4, 2: 2e-2}  # by the bytes of a float, of the largest one there


class Comparison(msgspec.Struct, frozen=True):
    """The derivative in an array along a direction: by reverse mode, by forward mode, and by
    central differences."""

    name: str
    reverse: float
    forward: float
    difference: float
    tolerance: float

    @property
    def agrees(self) -> bool:
        """Return whether both modes agree with the difference within the tolerance."""
        errors = [abs(mode - self.difference) for mode in (self.reverse, self.forward)]
        return all(error <= self.tolerance for error in errors)  # a NaN is no less

    def __str__(self) -> str:
        verdict = "agrees" if self.agrees else "DIFFERS"
        return (
            f"{self.name}: reverse {self.reverse:.6g}, forward {self.forward:.6g}, "
            f"difference {self.difference:.6g}: {verdict}"
        )


class Distance(msgspec.Struct, frozen=True):
    """The greatest distance between the memory of two programs: the array, the part of its largest
    number, and the part that rounding may cause."""

    subject: str
    name: str
    share: float
    rounding: float

    @property
    def agrees(self) -> bool:
        """Return whether the distance is rounding."""
        return self.share <= self.rounding

    def __str__(self) -> str:
        place = f" in {self.name}" if self.share else ""
        verdict = "" if self.agrees else ": DIFFERS"
        return f"{self.subject}: largest difference {self.share:.3g}{place}{verdict}"


def distance(subject: str, left: Mapping[str, Values], right: Mapping[str, Values]) -> Distance:
    """Return how far the arrays that two programs both have are apart at most."""
    distances = [
        Distance(subject, name, _share(left[name], right[name]), _rounding(left[name]))
        for name in left
        if name in right
    ]
    wrong = [distance for distance in distances if not distance.agrees]
    return max(wrong or distances, key=lambda d: d.share, default=Distance(subject, "", 0.0, 0.0))


def _share(left: Values, right: Values) -> float:
    """Return the largest difference over the largest number; infinite if one alone is a NaN."""
    if left.dtype.kind != "f" or left.tobytes() == right.tobytes():
        return float((left != right).any())
    with np.errstate(invalid="ignore", over="ignore"):
        gaps = np.abs(np.subtract(left, right, dtype=np.float64))
        gaps = np.where((left == right) | (np.isnan(left) & np.isnan(right)), 0, gaps)
    finite = np.abs(left[np.isfinite(left)], dtype=np.float64)
    largest = float(np.nan_to_num(gaps, nan=np.inf, posinf=np.inf).max(initial=0.0))
    return largest / max(1.0, float(finite.max(initial=0.0)))


def _rounding(array: Values) -> float:
    return _ROUNDING[array.itemsize] if array.dtype.kind == "f" else 0.0

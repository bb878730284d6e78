"""glibc's libmvec: elementary functions of several numbers at once, by name.

A name is `_ZGV`, a letter for the instructions, `N` and how many numbers, a `v` for each argument,
and the name of C's function. A result is at most 4 units in the last place off, and depends on its
own argument alone, not on the lane nor on the other lanes (`test/passes/test_vector_math.py`). It
does depend on the instructions.
"""

from __future__ import annotations

from mlirad.ir.elementary.table import FUNCTIONS as TABLE

FUNCTIONS = {op: row.name for op, row in TABLE.items() if row.in_libmvec}
ARGUMENTS = {row.name: row.arity for row in TABLE.values() if row.in_libmvec}
_ISAS = {
    "sse": ("b", 16),
    "avx": ("c", 32),
    "avx2": ("d", 32),
    "avx512": ("e", 64),
    "neon": ("n", 16),
}
INSTRUCTIONS = tuple(_ISAS)


def lanes(instructions: str, bits: int) -> int:
    """Return how many floats of so many bits a function takes at once."""
    return _ISAS[instructions][1] * 8 // bits


def vector_name(name: str, instructions: str, bits: int) -> str:
    """The name of the function of several floats of so many bits."""
    letter, count = _ISAS[instructions][0], lanes(instructions, bits)
    return f"_ZGV{letter}N{count}{'v' * ARGUMENTS[name]}_{scalar_name(name, bits)}"


def scalar_name(name: str, bits: int) -> str:
    """The name of C's function of floats of so many bits."""
    return name + "f" * (bits == 32)

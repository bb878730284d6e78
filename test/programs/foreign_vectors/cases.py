"""Functions of vectors, one or more for each op and kind: the texts beside this file."""

from __future__ import annotations

from pathlib import Path

KINDS = [("f32", kind) for kind in ("add", "mul", "minnumf", "maxnumf", "minimumf", "maximumf")] + [
    ("i32", kind) for kind in ("add", "mul", "minui", "minsi", "maxui", "maxsi", "and", "or", "xor")
]
FAMILIES = ("rearranging", "elementwise", "reducing", "contracting", "memory", "carrying")


def text_of(name: str) -> str:
    """Return the text of a file."""
    return (Path(__file__).parent / f"{name}.txt").read_text()


def _of_kinds(name: str, kinds: list[tuple[str, str]]) -> str:
    text = text_of(name)
    return "".join(text.replace("KIND", kind).replace("TYPE", type_) for type_, kind in kinds)


def family(name: str) -> str:
    """Return the functions of a family."""
    if name != "reducing":
        return text_of(name)
    # upstream starts a maximum of floats under a mask with the float of the bits of -1
    others = [kind for kind in KINDS if kind[1] != "maximumf"]
    by_kind = _of_kinds("reducing_by_kind", KINDS) + _of_kinds("reducing_first_by_kind", others)
    return text_of(name) + by_kind


def reworded() -> tuple[str, str]:
    """Return functions that upstream lowers wrongly or not at all, and the same for it in other
    words."""
    return text_of("reworded"), text_of("reworded_for_upstream")


UNARY = ("cos", "exp", "expm1", "log", "log1p", "neg", "conj")
UNARY += ("rsqrt", "sign", "sin", "sqrt", "tan", "tanh")
_UNARY = """
func.func @NAME_TYPE(%x: complex<TYPE>) -> complex<TYPE> {
  %0 = complex.NAME %x : complex<TYPE>
  return %0 : complex<TYPE>
}
"""


def of_complex_numbers(element: str) -> str:
    """Return functions of complex numbers of a float type."""
    unary = "".join(_UNARY.replace("NAME", name) for name in UNARY)
    return (text_of("complex") + unary).replace("TYPE", element)

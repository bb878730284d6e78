"""Functions over tensors that become definitions of `te`: derivatives in every mode, and what stays
loops."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from linalg_programs import PROGRAMS

import mlirad as ti
from mlirad.mlir.run.derivatives import Program
from mlirad.mlir.run.values import argument


@pytest.fixture(autouse=True)
def _ended() -> Iterator[None]:
    yield
    ti.reset()


def program_of(text: str, element: str) -> Program:
    function = ti.mlir.parse(re.sub(r"(?<=x)T\b|\bT\b", element, text), "f")
    assert function.definitions is not None
    values = [argument(f"random:seed={k + 7}", k, p) for k, p in enumerate(function.arguments)]
    return Program(function, values)


@pytest.mark.parametrize(
    ("arch", "element"),
    [(ti.cpu, "f64"), (ti.cpu, "f32"), (ti.simt, "f64")],
    ids=["x64-f64", "x64-f32", "simt-f64"],
)
@pytest.mark.parametrize("name", PROGRAMS)
def test_derivatives_in_both_modes(name: str, arch: object, element: str) -> None:
    ti.init(arch, default_fp=ti.f64, log_level="error")
    comparisons = program_of(PROGRAMS[name], element).compare(3)
    assert comparisons and all(c.agrees for c in comparisons), "\n".join(map(str, comparisons))

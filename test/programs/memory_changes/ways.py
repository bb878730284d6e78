"""The ways that memory changes, as text and as arithmetic on numbers with derivatives."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from programs.memory_changes.jets import Jet
from programs.memory_changes.places import Place

FIRST = np.array([True, True, False, False])
SECOND = np.arange(4) == 1
THIRD = np.arange(4) == 2
MIDDLE = np.array([False, True, True, False])
NUMBERS = [0.9, 1.2, 0.4, 0.7]


def _number(value: float) -> Jet:
    return Jet.constant(np.full(4, value))


def _any(place: Place) -> bool:
    return True


def _own(place: Place) -> bool:
    """Memory of mlirad's own."""
    return not place.is_foreign


@dataclass(frozen=True)
class Way:
    """A change of memory `m`, beside which are the input `x` and memory `o` of the same kind.

    `kernel` is the body of a kernel's loop over i, `serial` one that runs in order; `python` is a
    statement instead. `{m}` and `{o}` are elements at i, `{all_m}` and `{all_o}` the whole.
    """

    name: str
    becomes: Callable[[Jet, Jet, Jet, Place], Jet]  # of m, x, o
    kernel: str = ""
    serial: str = ""
    python: str = ""
    before: str = ""  # statements that prepare it
    fits: Callable[[Place], bool] = _any


def _deactivated(m: Jet, place: Place) -> Jet:
    if place.name == "bitmasked":
        return m
    return _number(0.0) if place.name == "dynamic" else _number(0.0).where(FIRST, m)


def _sparse(place: Place) -> bool:
    return place.is_sparse


def _pointer(place: Place) -> bool:
    return place.name.startswith("pointer")


def _list(place: Place) -> bool:
    return place.name == "dynamic"


GRAPH = """
builder = ti.graph.GraphBuilder()
builder.dispatch(change{graph_arguments})
graph = builder.compile()
"""
TE = """
source = te.placeholder({shape}, ti.f64, "source")
halved = te.build(te.compute({shape}, lambda *i: 0.5 * source[i] * source[i]), [source], "halved")
"""
MATRIX = """
builder = ti.linalg.SparseMatrixBuilder(4, 4, max_num_triplets=8, dtype=ti.f64)
@ti.kernel
def stiffness(A: ti.types.sparse_matrix_builder()):
    for i in range(4):
        A[i, i] += 2.0
stiffness(builder)
solver = ti.linalg.SparseSolver(ti.f64, "LLT")
solver.compute(builder.build())
"""

WAYS = [
    Way("store", lambda m, x, o, p: x * x, kernel="{m} = x[i] * x[i]"),
    Way("store of a constant", lambda m, x, o, p: _number(0.75), kernel="{m} = 0.75"),
    Way(
        "store under a condition",
        lambda m, x, o, p: x.where(np.arange(4) % 2 == 0, m),
        kernel="if i % 2 == 0:\n            {m} = x[i]",
    ),
    Way("store of itself", lambda m, x, o, p: m.sin(), kernel="{m} = ti.sin({m})"),
    Way("atomic add", lambda m, x, o, p: m + x * x, kernel="{m} += x[i] * x[i]"),
    Way(
        "atomic max",
        lambda m, x, o, p: m.where(m.value > 1.7, _number(1.7)),
        kernel="ti.atomic_max({m}, 1.7)",
    ),
    Way("product", lambda m, x, o, p: m * x, kernel="{m} *= x[i]"),
    Way("copy in a kernel", lambda m, x, o, p: o, kernel="{m} = {o}"),
    Way("fill", lambda m, x, o, p: _number(0.7), python="{all_m}.fill(0.7)", fits=_own),
    Way(
        "fill of an array",
        lambda m, x, o, p: _number(0.7),
        python="{all_m}[:] = 0.7",
        fits=lambda place: place.is_foreign,
    ),
    Way(
        "from_numpy",
        lambda m, x, o, p: Jet.constant(np.array(NUMBERS)),
        python="{all_m}.from_numpy({numbers})",
        fits=_own,
    ),
    Way(
        "element",
        lambda m, x, o, p: _number(0.7).where(SECOND, m),
        python="{m1} = 0.7",
    ),
    Way(
        "slice",
        lambda m, x, o, p: _number(0.7).where(MIDDLE, m),
        python="{all_m}[1:3] = 0.7",
        fits=lambda place: place.name != "vector member",
    ),
    Way("copy_from", lambda m, x, o, p: o, python="{all_m}.copy_from({all_o})", fits=_own),
    Way(
        "view",
        lambda m, x, o, p: _number(0.7).where(THIRD, m),
        python="np.asarray({all_m})[2] = 0.7",
        fits=lambda place: place.name in ("field", "ndarray"),
    ),
    Way(
        "deactivation in a kernel",
        lambda m, x, o, p: _deactivated(m, p),
        serial="if i == 0:\n            {off}",
        fits=_sparse,
    ),
    Way(
        "deactivation, then a store",
        lambda m, x, o, p: _deactivated(m, p) + x,
        serial="if i == 0:\n            {off}\n        {m} += x[i]",
        fits=_pointer,
    ),
    Way(
        "deactivation, then activation",
        lambda m, x, o, p: _deactivated(m, p),
        serial="if i == 0:\n            {off}\n            ti.activate(m_block, [0])",
        fits=_pointer,
    ),
    Way(
        "deactivation by Python",
        lambda m, x, o, p: m if p.name == "bitmasked" else _number(0.0),
        python="m_block.deactivate_all()",
        fits=_sparse,
    ),
    Way(
        "deactivation of everything",
        lambda m, x, o, p: m if p.name == "bitmasked" else _number(0.0),
        python="ti.deactivate_all_snodes()",
        fits=_sparse,
    ),
    Way(
        "append",
        lambda m, x, o, p: x * x,
        serial="if i == 0:\n            {off}\n        ti.append(m_block, [], x[i] * x[i])",
        fits=_list,
    ),
    Way(
        "graph",
        lambda m, x, o, p: m * x,
        kernel="{m} *= x[i]",
        before=GRAPH,
        python="graph.run({graph_values})",
        fits=lambda place: place.name != "torch",
    ),
    Way(
        "te function",
        lambda m, x, o, p: (o * o).scaled(0.5),
        before=TE,
        python="halved({all_o}, out={all_m})",
    ),
    Way(
        "solve",
        lambda m, x, o, p: o.scaled(0.5),
        before=MATRIX,
        python="solver.solve({all_o}, {all_m})",
        fits=lambda place: place.name in ("field", "ndarray"),
    ),
    Way(
        "transfer",
        lambda m, x, o, p: o,
        python="dist.allreduce({all_o}, {all_m})",
        fits=lambda place: place.name in ("field", "ndarray"),
    ),
]

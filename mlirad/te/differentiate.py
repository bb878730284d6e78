"""`te.differentiate`: adjoints of tensors, as tensors."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from mlirad.bindings import ir
from mlirad.dialect import te
from mlirad.errors import SourceLocation, TaichiTypeError
from mlirad.ir import build as b
from mlirad.ir.walk import captured
from mlirad.sweeps.tensors.adjoints import added, adjoints, converted
from mlirad.te.compute import compute, tensor_type
from mlirad.te.expressions import Extent, Number, select
from mlirad.te.functions import all as all_of
from mlirad.te.graph import graph
from mlirad.te.places import place
from mlirad.te.tensor import Tensor

Override = tuple[Sequence[Tensor], Callable[..., Any]]
Differentiate = Callable[[Tensor, Tensor, Tensor], Tensor]


class Differentiation(Sequence[Tensor]):
    """The adjoints of the inputs, as a list; `adjoints` are those of all tensors between, and
    `adjoint_summands[tensor][consumer]` what each consumer of one gave."""

    def __init__(
        self,
        inputs: Sequence[Tensor] | None,
        adjoints: dict[Tensor, Tensor],
        summands: dict[Tensor, dict[Tensor, Tensor]],
    ) -> None:
        self._inputs = inputs
        self.adjoints = adjoints
        self.adjoint_summands = summands

    def _listed(self) -> list[Tensor]:
        if self._inputs is None:
            raise TaichiTypeError(
                "te.differentiate was given no inputs: take adjoints by tensor, as in "
                "result.adjoints[x]",
                place(),
            )
        return [self.adjoints[one] for one in self._inputs]

    def __getitem__(self, number: Any) -> Any:
        return self._listed()[number]

    def __len__(self) -> int:
        return len(self._listed())

    def __iter__(self) -> Iterator[Tensor]:
        return iter(self._listed())

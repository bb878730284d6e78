"""Random functions in textual MLIR, as other people's compilers write them.

`Loops(number).text` is a function over memrefs, `Mixed(number).text` one in which more features
meet, `Tensors(number).text` one over tensors. Every
float has a bound that is known while the text is written, so that each operation is smooth where
it is used, and every index is in its extent.
"""

from __future__ import annotations

from programs.foreign_functions.loops import Loops
from programs.foreign_functions.mixed import Mixed
from programs.foreign_functions.tensors import Tensors

KINDS: dict[str, type[Loops] | type[Tensors]] = {
    "loops": Loops,
    "mixed": Mixed,
    "tensors": Tensors,
}

"""`ti.types.sparse_matrix_builder`: the arrays behind a builder of sparse matrices, as one
argument."""

from __future__ import annotations

from mlirad.frontend.python.places.triplets import COLUMNS, COUNT, ROWS, VALUES
from mlirad.frontend.python.values.annotations import NdarrayType
from mlirad.lang.arguments.packs import ArgPackType

TRIPLETS = ArgPackType(
    {name: NdarrayType(ndim=1) for name in (COUNT, ROWS, COLUMNS, VALUES)},
    "ti.types.sparse_matrix_builder()",
)

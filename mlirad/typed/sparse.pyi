"""`ti.sparse`, under its public name."""

from mlirad.lang.sparse_grids import grid as grid
from mlirad.lang.sparse_grids import usage as usage

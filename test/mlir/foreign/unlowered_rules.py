"""A derivative that is its op again."""

import mlirad as ti
from mlirad.mlir.terms import r, t

ti.mlir.derivative("sample.unruled", t * r)

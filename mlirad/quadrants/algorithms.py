"""`import mlirad.quadrants.algorithms` gives `mlirad.algorithms`."""

import sys

import mlirad.algorithms

sys.modules[__name__] = mlirad.algorithms

"""`import mlirad.quadrants.linalg` gives `mlirad.linalg`."""

import sys

import mlirad.linalg

sys.modules[__name__] = mlirad.linalg

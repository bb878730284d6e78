"""`import mlirad.quadrants.profiler` gives `mlirad.profiler`."""

import sys

import mlirad.profiler

sys.modules[__name__] = mlirad.profiler

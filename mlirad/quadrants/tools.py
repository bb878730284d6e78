"""`import mlirad.quadrants.tools` gives `mlirad.tools`."""

import sys

import mlirad.tools

sys.modules[__name__] = mlirad.tools

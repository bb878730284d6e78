"""`mlirad.distributed`, as programs name it."""

from mlirad.distributed import *
from mlirad.distributed import __all__, __dir__

"""`mlirad.distributed` under the name that programs use."""

from mlirad.distributed import *
from mlirad.distributed import __all__, __dir__

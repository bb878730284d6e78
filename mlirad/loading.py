"""Loading mlirad: the first module of ours to be read.

What is imported stays: to look through it for garbage, again and again as it grows, would take a
fifth of the time.
"""

import gc
from os.path import dirname
from time import time_ns

BEGAN, FOLDER = time_ns(), dirname(__file__)
_SELDOM = 100_000  # objects more between two looks at the youngest

_before = gc.get_threshold()
if _before[0]:
    gc.set_threshold(max(_SELDOM, _before[0]), *_before[1:])


def end() -> None:
    """All is imported: look for garbage as before."""
    gc.set_threshold(*_before)

"""The public names, as type checkers see them; `mlirad/typed/` has those that differ."""

from mlirad.lang import graph as graph
from mlirad.lang.start import amdgpu as amdgpu
from mlirad.lang.start import arm64 as arm64
from mlirad.lang.start import cpu as cpu
from mlirad.lang.start import cuda as cuda
from mlirad.lang.start import dx11 as dx11
from mlirad.lang.start import dx12 as dx12
from mlirad.lang.start import gles as gles
from mlirad.lang.start import gpu as gpu
from mlirad.lang.start import init as init
from mlirad.lang.start import metal as metal
from mlirad.lang.start import opengl as opengl
from mlirad.lang.start import python as python
from mlirad.lang.start import vulkan as vulkan
from mlirad.lang.start import x64 as x64
from mlirad.typed import types as types
from mlirad.typed.kernels import func as func
from mlirad.typed.kernels import kernel as kernel
from mlirad.typed.kernels import pyfunc as pyfunc
from mlirad.typed.shared import *

__version__: str
x86_64 = x64

def __dir__() -> list[str]: ...

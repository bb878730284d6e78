"""The public names that mlirad and `mlirad.quadrants` share."""

from mlirad import ad as ad
from mlirad import algorithms as algorithms
from mlirad import linalg as linalg
from mlirad import mlir as mlir
from mlirad import profiler as profiler
from mlirad import tools as tools
from mlirad import ui as ui
from mlirad.ad import Tape as Tape
from mlirad.ad import clear_all_gradients as clear_all_gradients
from mlirad.errors import TaichiAssertionError as TaichiAssertionError
from mlirad.errors import TaichiCompilationError as TaichiCompilationError
from mlirad.errors import TaichiIndexError as TaichiIndexError
from mlirad.errors import TaichiMemoryError as TaichiMemoryError
from mlirad.errors import TaichiNameError as TaichiNameError
from mlirad.errors import TaichiRuntimeError as TaichiRuntimeError
from mlirad.errors import TaichiRuntimeTypeError as TaichiRuntimeTypeError
from mlirad.errors import TaichiSyntaxError as TaichiSyntaxError
from mlirad.errors import TaichiTypeError as TaichiTypeError
from mlirad.frontend.python.calls.sparse import activate as activate
from mlirad.frontend.python.calls.sparse import append as append
from mlirad.frontend.python.calls.sparse import deactivate as deactivate
from mlirad.frontend.python.calls.sparse import get_addr as get_addr
from mlirad.frontend.python.calls.sparse import no_activate as no_activate
from mlirad.frontend.python.calls.sparse import rescale_index as rescale_index
from mlirad.frontend.python.calls.specials import block_local as block_local
from mlirad.frontend.python.calls.specials import cache_read_only as cache_read_only
from mlirad.frontend.python.calls.specials import loop_config as loop_config
from mlirad.frontend.python.calls.specials import static_assert as static_assert
from mlirad.frontend.python.calls.specials import static_print as static_print
from mlirad.frontend.python.values.annotations import Reference
from mlirad.frontend.python.values.functions import bit_not as bit_not
from mlirad.frontend.python.values.functions import bit_shr as bit_shr
from mlirad.frontend.python.values.functions import logical_and as logical_and
from mlirad.frontend.python.values.functions import logical_not as logical_not
from mlirad.frontend.python.values.functions import logical_or as logical_or
from mlirad.frontend.python.values.functions import pow as pow
from mlirad.frontend.python.values.functions import raw_div as raw_div
from mlirad.frontend.python.values.functions import raw_mod as raw_mod
from mlirad.gui.gui import GUI as GUI
from mlirad.lang.arguments.packs import ArgPack as ArgPack
from mlirad.lang.colours import hex_to_rgb as hex_to_rgb
from mlirad.lang.colours import rgb_to_hex as rgb_to_hex
from mlirad.lang.layout.axes import Axes
from mlirad.lang.layout.axes import axes as axes
from mlirad.lang.layout.builder import FieldsBuilder as FieldsBuilder
from mlirad.lang.layout.deactivation import deactivate_all_snodes as deactivate_all_snodes
from mlirad.lang.layout.member_order import Layout as Layout
from mlirad.lang.layout.tree import SNode as SNode
from mlirad.lang.math.decompositions import eig as eig
from mlirad.lang.math.decompositions import polar_decompose as polar_decompose
from mlirad.lang.math.decompositions import solve as solve
from mlirad.lang.math.decompositions import svd as svd
from mlirad.lang.math.decompositions import sym_eig as sym_eig
from mlirad.lang.start import reset as reset
from mlirad.lang.start import root as root
from mlirad.lang.start import simt as simt
from mlirad.lang.start import sync as sync
from mlirad.lang.struct import Struct as Struct
from mlirad.lang.taichi_names import extension as extension
from mlirad.typed import math as math
from mlirad.typed import sparse as sparse
from mlirad.typed.arrays import *
from mlirad.typed.functions import *
from mlirad.typed.kernels import data_oriented as data_oriented
from mlirad.typed.kernels import dataclass as dataclass
from mlirad.typed.kernels import real_func as real_func
from mlirad.typed.matrices import *
from mlirad.typed.scalars import *
from mlirad.typed.types import template as template

ref = Reference
CRITICAL: str
DEBUG: str
ERROR: str
INFO: str
TRACE: str
WARN: str
i: Axes
j: Axes
k: Axes
l: Axes
ij: Axes
ik: Axes
il: Axes
ji: Axes
jk: Axes
jl: Axes
ki: Axes
kj: Axes
kl: Axes
li: Axes
lj: Axes
lk: Axes
ijk: Axes
ijl: Axes
ikl: Axes
jkl: Axes
kij: Axes
jki: Axes
kji: Axes
ikj: Axes
jik: Axes
ijkl: Axes

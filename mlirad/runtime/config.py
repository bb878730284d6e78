"""The options of `ti.init`."""

from __future__ import annotations

import os
from typing import Any

import msgspec

from mlirad.checks import flag, whole
from mlirad.errors import did_you_mean
from mlirad.runtime.cache.cleaning import POLICIES
from mlirad.types import DataType, f32, i32

SIMT_ORDERS = ("ascending", "descending", "shuffled")
LANES = (1, 4, 8, 16)
# Options of Taichi, and of Quadrants, that mlirad takes without effect: what they steer has no
# counterpart, or needs no steering.
_IGNORED = """
    ad_stack_experimental_enabled ad_stack_size ad_stack_sparse_threshold_bytes
    advanced_optimization async_mode auto_mesh_local cache_loop_invariant_global_vars
    cfg_optimization check_out_of_bound compile_dry_run constant_folding cpu_block_dim
    cuda_stack_limit debug_dump_path debug_ir default_ad_stack_size default_cpu_block_dim
    default_gpu_block_dim demote_dense_struct_fors detect_read_only device_memory_GB
    device_memory_fraction dynamic_index excepthook experimental_ast
    experimental_real_function flatten_if force_scalarize_matrix gdb_trigger gpu_max_reg
    half2_vectorization log_level lower_access make_block_local make_cpu_multithreading_loop
    make_mesh_block_local make_thread_local max_block_dim max_vector_width
    move_loop_invariant_outside_if num_compile_threads optimize_mesh_reordered_mapping packed
    print_accessor_ir print_benchmark_stat print_full_traceback print_ir_dbg_info
    print_kernel_amdgcn print_kernel_asm print_kernel_llvm_ir print_kernel_llvm_ir_optimized
    print_non_pure print_preprocessed_ir print_struct_llvm_ir quant_opt_atomic_demotion
    quant_opt_store_fusion real_matrix real_matrix_scalarize require_version
    saturating_grid_dim short_circuit_operators simplify_after_lower_access
    simplify_before_lower_access spdlog src_ll_cache timeline unrolling_hard_limit
    unrolling_limit use_llvm use_mesh use_unified_memory verbose verbose_kernel_launches
    vk_api_version
"""
IGNORED = frozenset(_IGNORED.split())


CHOICES = {"lanes": LANES, "simt_order": SIMT_ORDERS, "offline_cache_cleaning_policy": POLICIES}
FLAGS = "debug", "debug_info", "fast_math", "kernel_profiler", "enable_fallback", "offline_cache"
_LOCAL_RANKS = "MPI_LOCALNRANKS", "OMPI_COMM_WORLD_LOCAL_SIZE"  # set by mpiexec


def _threads() -> int:
    """The processors, shared among the processes that mpiexec started on this machine."""
    there = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    ranks = next((os.environ[name] for name in _LOCAL_RANKS if name in os.environ), "1")
    return max(1, (there or 1) // max(1, int(ranks)))


def _lanes() -> int | None:
    """The lanes of programs that choose none: a test suite is run with lanes in all loops by it,
    and in none."""
    asked = os.environ.get("MLIRAD_LANES", "")
    if asked and asked not in map(str, LANES):
        raise ValueError(
            f"MLIRAD_LANES: expected one of {', '.join(map(str, LANES))}, or no such variable, got "
            f"{asked!r}"
        )
    return int(asked) if asked else None


_CACHE_NAMES = "MLIRAD_OFFLINE_CACHE", "MLIRAD_OFFLINE_CACHE_FILE_PATH"


def _cache_path() -> str:
    default = os.path.join(os.environ.get("XDG_CACHE_HOME") or "~/.cache", "mlirad")
    return os.environ.get(_CACHE_NAMES[1]) or default


class Config(msgspec.Struct):
    """The options with which a program was initialized."""

    # of programs that name none: a test suite is run on another machine by it
    arch: str = msgspec.field(default_factory=lambda: os.environ.get("MLIRAD_ARCH", "x64"))
    default_fp: DataType = f32
    default_ip: DataType = i32
    debug: bool = False
    # names and lines of kernels for gdb and perf
    debug_info: bool = msgspec.field(
        default_factory=lambda: os.environ.get("MLIRAD_DEBUG_INFO", "0") != "0"
    )
    random_seed: int = 0
    cpu_max_num_threads: int = msgspec.field(default_factory=_threads)
    fast_math: bool = True
    opt_level: int = 3  # of LLVM: 0 compiles fastest
    # iterations of parallel loops that run together, as the lanes of vectors; None: as many as the
    # processor's vectors have, where that pays
    lanes: int | None = msgspec.field(default_factory=_lanes)
    print_ir: Any = False
    # a folder for the IR of what is compiled
    dump_ir: str | None = msgspec.field(default_factory=lambda: os.environ.get("MLIRAD_DUMP_IR"))
    kernel_profiler: bool = False  # launches are timed
    enable_fallback: bool = True  # to the CPU, where `arch` is not there
    # of the threads that arch=ti.simt runs one after the other
    simt_order: str = msgspec.field(
        default_factory=lambda: os.environ.get("MLIRAD_SIMT_ORDER", "ascending")
    )
    offline_cache: bool = msgspec.field(
        default_factory=lambda: os.environ.get(_CACHE_NAMES[0], "1") != "0"
    )
    offline_cache_file_path: str = msgspec.field(default_factory=_cache_path)
    offline_cache_max_size_of_files: int = 100 << 20  # bytes
    offline_cache_cleaning_policy: str = "lru"
    offline_cache_cleaning_factor: float = 0.25
    asks_for_cache: bool = False  # so that the user is told where there is none
    thread_worth: int = 100_000  # operations in a loop that pay for waking threads
    ignored: dict[str, Any] = msgspec.field(default_factory=dict)

    @classmethod
    def option_names(cls) -> set[str]:
        """Return the names of the options that have an effect."""
        return set(cls.__struct_fields__) - {"ignored", "thread_worth", "asks_for_cache"}

    @classmethod
    def from_options(cls, options: dict[str, Any]) -> Config:
        """A configuration from the keyword arguments of `ti.init`. Raises KeyError for unknown
        names."""
        names = cls.option_names()
        unknown = [name for name in options if name not in names | IGNORED]
        if unknown:
            raise KeyError(
                f"Unrecognized keyword argument(s) for ti.init: {', '.join(unknown)}"
                f"{did_you_mean(unknown[0], sorted(names | IGNORED))}"
            )
        config = cls(**{k: v for k, v in options.items() if k in names and v is not None})
        for name in FLAGS:
            setattr(config, name, flag(getattr(config, name), f"ti.init({name}=)"))
        config.ignored = {k: v for k, v in options.items() if k in IGNORED}
        for name in ("default_fp", "default_ip"):
            dtype = getattr(config, name)
            if not isinstance(dtype, DataType) or dtype.is_float != (name == "default_fp"):
                kind, example = (
                    ("a float", "ti.f64") if name == "default_fp" else ("an integer", "ti.i64")
                )
                raise ValueError(
                    f"ti.init({name}=) must be {kind} type, such as {example}, not {dtype!r}"
                )
        if config.opt_level not in range(4):
            raise ValueError(
                f"ti.init(opt_level=): expected 0, 1, 2 or 3, got {config.opt_level!r}"
            )
        for name, choices in CHOICES.items():
            value = getattr(config, name)
            if value is not None and value not in choices:
                raise ValueError(
                    f"ti.init({name}=): expected one of {', '.join(map(str, choices))}, got "
                    f"{value!r}"
                )
        if flag(options.get("check_out_of_bound") or False, "ti.init(check_out_of_bound=)"):
            config.debug = True
        config._check_cache()
        if config.dump_ir:
            config.dump_ir = os.fspath(config.dump_ir)
            os.makedirs(config.dump_ir, exist_ok=True)
        named = ("offline_cache", "offline_cache_file_path")
        config.asks_for_cache = any(map(options.get, named)) or _CACHE_NAMES[1] in os.environ
        threads = whole(config.cpu_max_num_threads or _threads(), "ti.init(cpu_max_num_threads=)")
        config.cpu_max_num_threads = min(max(threads, 1), 1024)
        return config

    def _check_cache(self) -> None:
        """Raise ValueError for sizes of the cache that mean nothing."""
        size, share = self.offline_cache_max_size_of_files, self.offline_cache_cleaning_factor
        if not isinstance(size, int) or size < 0:
            raise ValueError(
                "ti.init(offline_cache_max_size_of_files=): expected a number of bytes of at "
                f"least 0, got {size!r}"
            )
        if not isinstance(share, int | float) or not 0 <= share <= 1:
            raise ValueError(
                "ti.init(offline_cache_cleaning_factor=): expected a number from 0 to 1, got "
                f"{share!r}"
            )
        self.offline_cache_file_path = os.fspath(self.offline_cache_file_path)

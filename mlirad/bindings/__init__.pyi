from collections.abc import Callable
from typing import TypeAlias

from mlirad.bindings import ext as ext
from mlirad.bindings import ir as ir

PROVIDER: str
DIALECTS: tuple[str, ...]
OTHER_DIALECTS: tuple[str, ...]

# Types as constraints of operands.
I1: TypeAlias = ir.IntegerType
I32: TypeAlias = ir.IntegerType
I64: TypeAlias = ir.IntegerType

class PassManager:
    @staticmethod
    def parse(pipeline: str, context: ir.Context | None = None) -> PassManager: ...
    def run(self, operation: ir.Operation | ir.OpView) -> None: ...
    def enable_verifier(self, enable: bool) -> None: ...
    def enable_timing(self) -> None: ...
    def enable_ir_printing(
        self,
        print_before_all: bool = False,
        print_after_all: bool = True,
        print_module_scope: bool = False,
        print_after_change: bool = False,
        print_after_failure: bool = False,
        large_elements_limit: int | None = None,
        large_resource_limit: int | None = None,
        enable_debug_info: bool = False,
        print_generic_op_form: bool = False,
        tree_printing_dir_path: str | None = None,
    ) -> None: ...

class ExecutionEngine:
    def __init__(
        self, module: ir.Module, opt_level: int = 2, shared_libs: list[str] = ...
    ) -> None: ...
    def lookup(self, name: str) -> Callable[[object], None]: ...
    def raw_lookup(self, func_name: str) -> int: ...
    def initialize(self) -> None: ...
    def dump_to_object_file(self, file_name: str) -> None: ...

def leave_out_classes(namespaces: tuple[str, ...]) -> None: ...
def translate_module_to_llvmir(module: ir.Operation | ir.OpView) -> str: ...
def apply_named_sequence(
    payload_root: ir.Operation,
    transform_root: ir.Operation | ir.OpView,
    transform_module: ir.Module,
) -> None: ...

"""The settings of a command line of `mlirad-opt`, and its options: a table, from which help and
errors are made."""

from __future__ import annotations

from enum import Enum, StrEnum
from typing import Any

import msgspec


class Form(StrEnum):
    """The form in which a module is written."""

    MLIR, BYTECODE, LLVM, ASM = "mlir", "bytecode", "llvm", "asm"
    PTX, AMDGPU = "ptx", "amdgpu"


class Settings(msgspec.Struct):
    """The values of all options; `pipeline` is the text to run, passes given one by one joined."""

    input: str = "-"
    output: str = "-"
    pipeline: str | None = None
    emit: Form = Form.MLIR
    chip: str = ""
    triple: str = "x86_64-linux-gnu"
    split_input_file: bool = False
    verify_diagnostics: bool = False
    verify_each: bool = True
    implicit_module: bool = True
    unregistered_dialects: bool = False
    debug_information: bool = False
    generic: bool = False
    local_scope: bool = False
    elide_larger: int | None = None
    print_before: frozenset[str] = frozenset()
    print_after: frozenset[str] = frozenset()
    print_before_all: bool = False
    print_after_all: bool = False
    print_after_change: bool = False
    print_after_failure: bool = False
    timing: bool = False
    dump_pipeline: bool = False
    reproducer: str | None = None
    run_reproducer: bool = False
    irdl_file: str | None = None
    rules: str | None = None
    request: Request | None = None


class Request(Enum):
    """A request that takes the place of a run."""

    HELP, VERSION, PASSES, DIALECTS, IRDL = range(5)


class Flag(msgspec.Struct, frozen=True):
    """An option of the tool: its names without dashes, the setting it changes, and what to."""

    names: tuple[str, ...]
    setting: str
    help: str
    kind: type = bool
    metavar: str = ""
    words: tuple[str, ...] = ()
    value: Any = True  # of a setting that is switched by naming it

    def __str__(self) -> str:
        spelled = ", ".join(f"{'-' if len(name) == 1 else '--'}{name}" for name in self.names)
        return (
            f"{spelled}={self.metavar}"
            if self.metavar and len(self.names[0]) > 1
            else f"{spelled} {self.metavar}".strip()
        )


FLAGS = (
    Flag(
        ("o",),
        "output",
        "the output file, which is written only if there is no error; - is the standard output "
        "(default: -)",
        str,
        "FILE",
    ),
    Flag(
        ("p", "pass-pipeline"),
        "pipeline",
        'the passes as text, "builtin.module(pass{option=value},func.func(pass))" (default: none)',
        str,
        "TEXT",
    ),
    Flag(
        ("emit",),
        "emit",
        f"the form of the output, one of {', '.join(Form)} (default: {Form.MLIR})",
        Form,
        "FORM",
        tuple(Form),
    ),
    Flag(("emit-bytecode",), "emit", "the same as --emit=bytecode", value=Form.BYTECODE),
    Flag(
        ("chip",),
        "chip",
        "the chip for --emit=ptx (default: sm_90), amdgpu (default: gfx942), or asm (default: a "
        "generic one)",
        str,
        "NAME",
    ),
    Flag(
        ("triple",),
        "triple",
        "the target triple for --emit=asm, such as aarch64-linux-gnu (default: x86_64-linux-gnu)",
        str,
        "NAME",
    ),
    Flag(
        ("split-input-file",),
        "split_input_file",
        "run separately on each part of the input between lines '// -----'",
    ),
    Flag(
        ("verify-diagnostics",),
        "verify_diagnostics",
        "fail unless the diagnostics match comments in the input: expected-error @+1 {{part of the "
        "message}}, or expected-error-re {{with {{regular}} expressions}}",
    ),
    Flag(
        ("verify-each",),
        "verify_each",
        "verify the IR after every pass; =false turns this off (default: true)",
    ),
    Flag(
        ("no-implicit-module",),
        "implicit_module",
        "do not wrap the input in a module",
        value=False,
    ),
    Flag(
        ("allow-unregistered-dialect",),
        "unregistered_dialects",
        "accept operations and attributes that no dialect defines",
    ),
    Flag(("mlir-print-debuginfo",), "debug_information", "write the location of each op"),
    Flag(("mlir-print-op-generic",), "generic", "write all ops in generic form"),
    Flag(
        ("mlir-print-local-scope",),
        "local_scope",
        "write types, attributes and locations in place, without aliases",
    ),
    Flag(
        ("mlir-elide-elementsattrs-if-larger",),
        "elide_larger",
        "omit the elements of constants that have more than COUNT (default: write all)",
        int,
        "COUNT",
    ),
    Flag(
        ("mlir-print-ir-before",),
        "print_before",
        "print the IR before these passes to the standard error",
        frozenset,
        "PASS,...",
    ),
    Flag(
        ("mlir-print-ir-after",),
        "print_after",
        "print the IR after these passes to the standard error",
        frozenset,
        "PASS,...",
    ),
    Flag(("mlir-print-ir-before-all",), "print_before_all", "print the IR before every pass"),
    Flag(
        ("mlir-print-ir-after-all", "print-ir-after-all"),
        "print_after_all",
        "print the IR after every pass",
    ),
    Flag(
        ("mlir-print-ir-after-change",),
        "print_after_change",
        "print the IR after every pass that changed it",
    ),
    Flag(
        ("mlir-print-ir-after-failure",),
        "print_after_failure",
        "print the IR after a pass that failed",
    ),
    Flag(("mlir-timing",), "timing", "print the time of each pass to the standard error"),
    Flag(
        ("dump-pass-pipeline",),
        "dump_pipeline",
        "print the pipeline, with the values of all options, to the standard error",
    ),
    Flag(
        ("mlir-pass-pipeline-crash-reproducer",),
        "reproducer",
        "if a pass fails or MLIR crashes, write the program and the pipeline to FILE",
        str,
        "FILE",
    ),
    Flag(
        ("run-reproducer",),
        "run_reproducer",
        "run the pipeline stored in the input file",
    ),
    Flag(
        ("irdl-file",),
        "irdl_file",
        "load the dialects that FILE defines in IRDL",
        str,
        "FILE",
    ),
    Flag(
        ("rules",),
        "rules",
        "first run FILE, a Python program that registers derivatives and lowerings of ops",
        str,
        "FILE",
    ),
    Flag(("list-passes",), "request", "print the names of mlirad's passes", value=Request.PASSES),
    Flag(("show-dialects",), "request", "print the names of all dialects", value=Request.DIALECTS),
    Flag(
        ("print-irdl",),
        "request",
        "print mlirad's dialects in IRDL, which other tools load with --irdl-file",
        value=Request.IRDL,
    ),
    Flag(
        ("version",), "request", "print the versions of mlirad and of MLIR", value=Request.VERSION
    ),
    Flag(("h", "help"), "request", "print this help", value=Request.HELP),
)

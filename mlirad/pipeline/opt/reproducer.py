"""A program with the pipeline that fails on it, in one file, as upstream writes and reads it."""

from __future__ import annotations

import re
from pathlib import Path

import msgspec

from mlirad.bindings import ir
from mlirad.pipeline.opt.printing import Style
from mlirad.pipeline.options import PipelineError

_RESOURCE = re.compile(r'\bmlir_reproducer\s*:\s*{(?P<body>(?:[^"}]|"(?:\\.|[^"\\])*")*)}')
_PIPELINE = re.compile(r'\bpipeline\s*:\s*"((?:\\.|[^"\\])*)"')
_VERIFY = re.compile(r"\bverify_each\s*:\s*(true|false)")


def waiting_place(file: str) -> str:
    """Return where a reproducer lies while passes run; it is moved to its file where they do not
    come to an end."""
    path = Path(file)
    return str(path.with_name(f".{path.name}.running"))


class Reproducer(msgspec.Struct, frozen=True):
    """The pipeline of a reproducer, and whether it verifies after each pass."""

    pipeline: str
    verify_each: bool

    def text(self, op: ir.Operation) -> str:
        """An operation with this pipeline."""
        quoted = self.pipeline.replace("\\", "\\\\").replace('"', '\\"')
        verify = str(self.verify_each).lower()
        return (
            f"{Style(locations=True).text(op)}\n"
            "{-#\n  external_resources: {\n    mlir_reproducer: {\n"
            f'      pipeline: "{quoted}",\n'
            f"      disable_threading: true,\n      verify_each: {verify}\n"
            "    }\n  }\n#-}\n"
        )


def parse_reproducer(text: str) -> Reproducer:
    """The reproducer that a text holds. Raises PipelineError if there is none."""
    resource = _RESOURCE.search(text, text.rfind("{-#")) if "{-#" in text else None
    pipeline = None if resource is None else _PIPELINE.search(resource["body"])
    if resource is None or pipeline is None:
        raise PipelineError(
            "the input has no 'mlir_reproducer' with a pipeline among its resources"
        )
    verify = _VERIFY.search(resource["body"])
    return Reproducer(re.sub(r"\\(.)", r"\1", pipeline[1]), verify is None or verify[1] == "true")

"""Extensions of the compiler from a command line: dialects in IRDL, and a Python program that
registers rules and lowerings of their ops."""

from __future__ import annotations

import os
import sys
import traceback
from importlib.util import module_from_spec, spec_from_file_location

from mlirad.dialect import context
from mlirad.errors import MLIRError, SourceLocation, TaichiCompilationError
from mlirad.ir.foreign_ops.loaded_dialects import load_dialects
from mlirad.ir.foreign_ops.registry import require_ops
from mlirad.pipeline.opt.source_text import check_text, decode


def load_extensions(dialects: str | None, rules: str | None) -> None:
    """Load the dialects of a file in IRDL, then run a file of rules. Raises OSError if one cannot
    be read, MLIRError or TaichiCompilationError, with the line, for what is wrong in it."""
    if dialects is not None:
        with open(dialects, "rb") as opened:
            text = decode(opened.read(), dialects)
        check_text(text, dialects)
        load_dialects(text, context(), dialects)
    if rules is not None:
        _run(rules)
        with context():
            require_ops(context(), all_dialects=True)


def _run(file: str) -> None:
    """Run a program under a name of its own, as a module."""
    _complete_package()
    os.stat(file)
    name = f"mlirad_rules_{os.path.basename(file).removesuffix('.py')}"
    spec = spec_from_file_location(name, file)
    if spec is None or spec.loader is None:
        raise MLIRError(f"'{file}' is not a Python program, expected the ending .py")
    module = sys.modules[name] = module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except TaichiCompilationError:
        raise
    except Exception as error:
        path = os.path.abspath(file)
        lines = [f for f in traceback.extract_tb(error.__traceback__) if f.filename == path]
        line = lines[-1].lineno if lines else getattr(error, "lineno", None)
        place = SourceLocation(file, line or 1, 1)
        raise MLIRError(f"{type(error).__name__}: {error}", place) from error


def _complete_package() -> None:
    """Give the package its public names: `mlirad-opt` begins without them."""
    package = sys.modules["mlirad"]
    loader = package.__spec__.loader if package.__spec__ is not None else None
    if not hasattr(package, "__version__") and loader is not None:
        loader.exec_module(package)

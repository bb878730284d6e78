"""`ti.init(dump_ir=FOLDER)`: the stages of what is compiled, as files that `mlirad-opt` reads."""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path

from mlirad.ir.reports.module_text import TextForm
from mlirad.pipeline.mode import Mode
from mlirad.runtime.kernels.kernel_ir import KernelIR


def write_stages(ir: KernelIR, mode: Mode, folder: str) -> None:
    """Write a file for each stage of a mode. The name has the kernel, a digest of its text, which
    tells variants apart, and the number of the stage. Raises OSError where that cannot be done."""
    names = ["field", *(stage.name for stage in ir.stages(mode))]
    texts = [ir.dump(name, mode, TextForm()) for name in names]
    digest = sha256(texts[0].encode()).hexdigest()[:8]
    for number, (name, text) in enumerate(zip(names, texts)):
        file = f"{ir.kernel.name}-{digest}{mode.suffix}-{number}-{name}.mlir"
        Path(folder, file).write_text(text)

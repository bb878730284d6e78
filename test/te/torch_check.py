"""`python -m te.torch_check PYTHON_WITH_TORCH`, in `test/`: a block of a transformer and a gated
recurrent unit of twelve steps, values and gradients beside torch's, in f64."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from te.derivatives import given
from te.layered import LARGE

import mlirad as ti
from mlirad import te

SCRIPT = Path(__file__).with_name("torch_layers.py")


def difference(name: str, python: str) -> tuple[float, int, float]:
    """The largest distance from torch's arrays, by the largest of their elements; how many arrays
    were compared; seconds of the processor until the first result."""
    random, network = np.random.default_rng(3), LARGE[name]()
    head = given(*network.output.shape, name="head")
    inputs = list(network.inputs.values())
    values = {key: random.normal(size=one.shape) * 0.3 for key, one in network.inputs.items()}
    weighed = random.normal(size=head.shape)
    start = time.process_time()
    found = te.build(
        [network.output, *te.differentiate(network.output, inputs, head)], [*inputs, head]
    )(*values.values(), weighed)
    seconds = time.process_time() - start
    with TemporaryDirectory() as folder:
        arrays, results = Path(folder, "arrays.npz"), Path(folder, "results.npz")
        np.savez(arrays, head=weighed, **values)
        subprocess.run([python, SCRIPT, name, arrays, results], check=True)
        wanted: dict[str, Any] = dict(np.load(results))
    both = [(own, wanted[key]) for own, key in zip(found, ["output", *values], strict=True)]
    return max(float(np.abs(a - c).max() / np.abs(c).max()) for a, c in both), len(both), seconds


def main() -> int:
    """1 if anything is further away than f64 explains."""
    ti.init(default_fp=ti.f64)
    worst = 0.0
    for name in LARGE:
        far, count, seconds = difference(name, sys.argv[1])
        print(f"{name}: {count} arrays, at most {far:.1e} from torch's, first call {seconds:.1f} s")
        worst = max(worst, far)
    return 1 if not worst < 1e-12 else 0


if __name__ == "__main__":
    sys.exit(main())

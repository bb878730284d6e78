"""What torch makes of the networks of `layered.py`: run by its own Python, with two files of
arrays, those that are given and those that come out."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import torch


def transformer(x: Any, weights: dict[str, Any]) -> Any:
    """A block; heads have a quarter of the width."""
    width, hidden = x.shape[-1], weights["linear1.bias"].shape[0]
    block = torch.nn.TransformerEncoderLayer(
        width, 4, hidden, 0.0, "gelu", batch_first=True, norm_first=True, dtype=x.dtype
    )
    mask = torch.nn.Transformer.generate_square_subsequent_mask(x.shape[1], dtype=x.dtype)
    return torch.func.functional_call(block, weights, (x,), {"src_mask": mask})


def gated(x: Any, weights: dict[str, Any]) -> Any:
    """The states, with the first one in front."""
    first = weights.pop("h")
    unit = torch.nn.GRU(x.shape[-1], first.shape[-1], dtype=x.dtype)
    states, _ = torch.func.functional_call(unit, weights, (x, first[None]))
    return torch.cat([first[None], states])


def main() -> None:
    """The output, and its gradient with every array."""
    name, given, wanted = sys.argv[1:]
    arrays = dict(np.load(given))
    head = torch.tensor(arrays.pop("head"))
    tensors = {key: torch.tensor(value, requires_grad=True) for key, value in arrays.items()}
    weights = {key: value for key, value in tensors.items() if key != "x"}
    network = {"transformer": transformer, "gated": gated}[name]
    output = network(tensors["x"], weights)
    output.backward(head)
    found = {key: value.grad.numpy() for key, value in tensors.items()}
    np.savez(wanted, output=output.detach().numpy(), **found)


if __name__ == "__main__":
    main()

"""Models of PyTorch's as torch-mlir exports them, their gradients against autograd."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import mlirad as ti
from mlirad.mlir.run.derivatives import Program

torch: Any = pytest.importorskip("torch")
fx: Any = pytest.importorskip("torch_mlir.fx")
nn = torch.nn
CLOSE = {torch.float64: 1e-9, torch.float32: 1e-5}
pytestmark = pytest.mark.filterwarnings("ignore")  # torch's own


class Perceptron(nn.Module):
    """Three layers."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second, self.third = nn.Linear(6, 8), nn.Linear(8, 8), nn.Linear(8, 3)

    def forward(self, x: Any) -> Any:
        hidden = torch.tanh(self.first(x))
        return torch.log_softmax(self.third(nn.functional.gelu(self.second(hidden))), -1)


class Convolutions(nn.Module):
    """Convolutions with strides and padding, pooling, and a layer."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Conv2d(2, 4, 3, padding=1)
        self.second = nn.Conv2d(4, 3, 3, stride=2)
        self.layer = nn.Linear(12, 5)

    def forward(self, x: Any) -> Any:
        x = nn.functional.max_pool2d(torch.relu(self.first(x)), 2)
        x = torch.sigmoid(self.second(nn.functional.pad(x, (0, 1, 0, 1))))
        return self.layer(x.flatten(1))


class Normalized(nn.Module):
    """Layer norm of a product."""

    def __init__(self) -> None:
        super().__init__()
        self.norm, self.layer = nn.LayerNorm(6), nn.Linear(6, 6)

    def forward(self, x: Any) -> Any:
        return self.norm(x + nn.functional.silu(self.layer(x)))


class Attention(nn.Module):
    """A block of a transformer: two heads, a residual, and a layer behind layer norm."""

    def __init__(self) -> None:
        super().__init__()
        self.before, self.after = nn.LayerNorm(8), nn.LayerNorm(8)
        self.three, self.out = nn.Linear(8, 24), nn.Linear(8, 8)
        self.wide, self.narrow = nn.Linear(8, 16), nn.Linear(16, 8)

    def forward(self, x: Any) -> Any:
        batch, length, width = x.shape
        heads = self.three(self.before(x)).view(batch, length, 3, 2, width // 2)
        query, key, value = heads.permute(2, 0, 3, 1, 4)
        weights = torch.softmax(query @ key.transpose(-1, -2) / 2.0, -1)
        mixed = (weights @ value).transpose(1, 2).reshape(batch, length, width)
        x = x + self.out(mixed)
        return x + self.narrow(nn.functional.gelu(self.wide(self.after(x))))


MODELS: dict[str, tuple[type[Any], tuple[int, ...]]] = {
    "perceptron": (Perceptron, (4, 6)),
    "convolutions": (Convolutions, (2, 2, 8, 8)),
    "layer norm": (Normalized, (3, 4, 6)),
    "attention": (Attention, (2, 5, 8)),
}


class Exported(nn.Module):
    """A model whose weights are arguments, so that they have gradients."""

    def __init__(self, model: Any) -> None:
        super().__init__()
        object.__setattr__(self, "model", model)  # its weights are none of this one

    def forward(self, x: Any, *weights: Any) -> Any:
        names = [name for name, _ in self.model.named_parameters()]
        return torch.func.functional_call(self.model, dict(zip(names, weights)), (x,))


@pytest.mark.parametrize("element", [torch.float64, torch.float32], ids=str)
@pytest.mark.parametrize("name", MODELS)
def test_gradients_are_those_of_autograd(name: str, element: Any) -> None:
    torch.manual_seed(3)
    kind, shape = MODELS[name]
    model = kind().to(element)
    inputs = [torch.randn(shape, dtype=element, requires_grad=True), *model.parameters()]
    expected = model(inputs[0])
    heads = torch.randn(expected.shape, dtype=element)
    expected.backward(heads)
    text = str(fx.export_and_import(Exported(model), *inputs, output_type="linalg-on-tensors"))
    ti.init(default_fp=ti.f64, log_level="error")
    program = Program(ti.mlir.parse(text), [tensor.detach().numpy() for tensor in inputs])
    program.run()
    close = {"rtol": CLOSE[element], "atol": CLOSE[element]}
    np.testing.assert_allclose(program.outputs[0].to_numpy(), expected.detach().numpy(), **close)
    zeros = [np.zeros_like(program.arguments[number]) for number in program.active]
    gradients = program.gradients([heads.numpy(), *zeros])
    for tensor, gradient in zip(inputs, gradients, strict=True):
        np.testing.assert_allclose(gradient, tensor.grad.numpy(), **close)
    ti.reset()

"""Prices of European call options, and all their sensitivities ("greeks") as one gradient: bound by
elementary functions."""

from typing import Any

import numpy as np

from benchmarks.workload import Workload

# the normal distribution's tail as a polynomial of 1 / (1 + SLOPE |x|): Abramowitz and Stegun,
# 26.2.17
SLOPE = 0.2316419
FACTORS = (0.319381530, -0.356563782, 1.781477937, -1.821255978, 1.330274429)
HEIGHT = 0.3989422804014327


def build(ti: Any, size: int) -> Workload:
    """`size` options."""
    spot, strike, time, volatility, rate = (
        ti.field(ti.f32, size, needs_grad=True) for _ in range(5)
    )
    value = ti.field(ti.f32, (), needs_grad=True)
    random = np.random.default_rng(23)
    for field, low, high in (
        (spot, 20.0, 60.0),
        (strike, 20.0, 60.0),
        (time, 0.2, 3.0),
        (volatility, 0.1, 0.5),
        (rate, 0.0, 0.06),
    ):
        field.from_numpy(random.uniform(low, high, size).astype(np.float32))

    @ti.func
    def distribution(x):
        k = 1.0 / (1.0 + SLOPE * abs(x))
        series = 0.0
        for factor in ti.static(FACTORS[::-1]):
            series = k * (factor + series)
        tail = HEIGHT * ti.exp(-0.5 * x * x) * series
        result = 1.0 - tail
        if x < 0.0:
            result = tail
        return result

    @ti.kernel
    def price():
        for i in range(size):
            spread = volatility[i] * ti.sqrt(time[i])
            drift = (rate[i] + 0.5 * volatility[i] * volatility[i]) * time[i]
            near = (ti.log(spot[i] / strike[i]) + drift) / spread
            paid = strike[i] * ti.exp(-rate[i] * time[i])
            call = spot[i] * distribution(near) - paid * distribution(near - spread)
            value[None] += call / size

    return Workload(price, value, [spot, strike, time, volatility, rate])

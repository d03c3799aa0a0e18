"""Fits the polynomials of this package and prints their coefficients, the highest
power first, with the largest error.

Each fit is near minimax (Lawson's weights on a least-squares fit, in float64); its
coefficients are rounded to float32 one after the other, the lowest power first,
each before the rest is fitted again.

Run: python3 coefficients.py
"""
import math

import numpy as np


def fit(name, target, low, high, terms, weight, points=4000, rounds=300):
    """Fits sum of c[p] x^p, p < terms, to target on [low, high], its error weighted."""
    x = np.cos(np.pi * (np.arange(points) + 0.5) / points) * (high - low) / 2 + (high + low) / 2
    t, w = target(x), weight(x)
    done, left = [], list(range(terms))
    while left:
        lawson, best = np.ones(points), None
        basis = np.stack([x**p for p in left], 1)
        rest = t - sum(c * x**p for p, c in enumerate(done))
        for _ in range(rounds):
            scale = w * np.sqrt(lawson)
            c, *_ = np.linalg.lstsq(basis * scale[:, None], rest * scale, rcond=None)
            error = np.abs((basis @ c - rest) * w)
            if best is None or error.max() < best[0]:
                best = error.max(), c
            lawson = lawson * (error / error.max() + 1e-6)
            lawson /= lawson.mean()
        done.append(float(np.float32(best[1][0])))
        left.pop(0)
    error = np.abs((sum(c * x**p for p, c in enumerate(done)) - t) * w).max()
    print("%s, within 2^%.2f: %s" % (name, math.log2(error), ", ".join("%.9g" % c for c in reversed(done))))


erf, erfc = np.vectorize(math.erf), np.vectorize(math.erfc)
half, quarter = math.log(2) / 2 * 1.0001, math.pi / 4 * 1.001
root = np.sqrt

fit("exp", lambda r: (np.expm1(r) - r) / r**2, -half, half, 5, lambda r: r**2)
fit("log", lambda f: (np.log1p(f) - f) / f**2, -0.2501, 0.5001, 9, lambda f: np.abs(f**2 / np.log1p(f)))
fit("tanh", lambda z: (np.tanh(root(z)) / root(z) - 1) / z, 1e-7, 0.625**2, 5, lambda z: z * root(z) / np.tanh(root(z)))
fit("sin", lambda z: (np.sin(root(z)) / root(z) - 1) / z, 1e-6, quarter**2, 4, lambda z: z * root(z) / np.sin(root(z)))
fit("cos", lambda z: (np.cos(root(z)) - 1 + z / 2) / z**2, 1e-2, quarter**2, 3, lambda z: z**2)
fit("erf, below", lambda z: erf(root(z)) / root(z) - 1, 1e-8, 0.95**2, 7, lambda z: root(z) / erf(root(z)))
fit("erf, above", lambda t: (-np.log(erfc(t)) - t) / t, 0.92, 4.0, 7, lambda t: t * erfc(t) / erf(t))

"""Writes sum_errors.json: how far PyTorch's float32 sums are from those in float64.

Run as: python3 make_sum_errors_json.py > sum_errors.json. The numbers are those that
sum_test.go makes.
"""
import json
import math

import torch


def numbers(n, first, mean):
    """n numbers from mean - 0.5 to mean + 0.5, by a hash of their positions from first on."""
    h = (torch.arange(first, first + n) * 2654435761) % 2**32
    h ^= h >> 15
    h = (h * 2246822519) % 2**32
    h ^= h >> 13
    return (h.double() / 2**32 - 0.5 + mean).float()


cases = []
for rows, cols, dim, arrays in [(1, 100, 1, 200), (1, 1000, 1, 200), (1, 10000, 1, 50), (1, 100000, 1, 20), (1, 1000000, 1, 5),
                                (64, 100, 0, 5), (512, 100, 0, 2), (10000, 20, 0, 2), (100, 300, 1, 2)]:
    for mean in (0.0, 0.5):
        squares, count = 0.0, 0
        for i in range(arrays):
            x = numbers(rows * cols, i * rows * cols, mean).reshape(rows, cols)
            d = x.sum(dim).double() - x.double().sum(dim)
            squares += d.square().sum().item()
            count += d.numel()
        cases.append(dict(rows=rows, cols=cols, dim=dim, arrays=arrays, mean=mean, error=math.sqrt(squares / count)))
print("[\n" + ",\n".join(json.dumps(c) for c in cases) + "\n]")

"""Writes reference.json: cross entropy as PyTorch computes it, in float64.

Run: python3 reference.py > reference.json
"""
import itertools
import json
import math

import torch
import torch.nn.functional as F

torch.manual_seed(0)
cases = []


def pack(t):
    return {"shape": list(t.shape),
            "values": [v if math.isfinite(v) else str(v) for v in t.reshape(-1).tolist()]}


def case(logits, target, weight, ignore, eps, reduction):
    logits = logits.clone().requires_grad_()
    probs = target.is_floating_point()
    if probs:
        target = target.clone().requires_grad_()
    loss = F.cross_entropy(logits, target, weight=weight, ignore_index=ignore, reduction=reduction, label_smoothing=eps)
    up = torch.arange(loss.numel(), dtype=torch.float64).reshape(loss.shape) / 4 + 0.5
    loss.backward(up)
    c = {"logits": pack(logits.detach()), "target": pack(target.detach()), "probabilities": probs, "ignore": ignore,
         "smoothing": eps, "reduction": reduction, "loss": pack(loss.detach()), "upstream": pack(up),
         "grad": pack(logits.grad)}
    if weight is not None:
        c["weight"] = pack(weight)
    if probs:
        c["gradtarget"] = pack(target.grad)
    cases.append(c)


for shape, weighted, eps, reduction in itertools.product(
        [(1, 1), (4, 10), (3, 5, 2), (2, 4, 2, 3), (0, 3)], [False, True], [0.0, 0.1, 1.0], ["none", "mean", "sum"]):
    # float32 values, so that the float32 kernel sees the same numbers
    logits = (torch.randn(shape) * 3).double()
    n, classes, rest = shape[0], shape[1], shape[2:]
    weight = (torch.rand(classes) + 0.25).double() if weighted else None
    target = torch.randint(0, classes, (n, *rest))
    case(logits, target, weight, -100, eps, reduction)
    if target.numel() > 1:
        ignored = target.clone()
        ignored.view(-1)[::2] = -100
        case(logits, ignored, weight, -100, eps, reduction)
        case(logits, target, weight, int(target.view(-1)[0]), eps, reduction)
    probs = torch.softmax(torch.randn(shape), 1).double()
    case(logits, probs, weight, -100, eps, reduction)

# Every target ignored; large logits; infinite logits.
x = torch.tensor([[1.0, 2.0, 3.0], [0.5, 0.0, -1.0]], dtype=torch.float64)
for reduction in ["none", "mean", "sum"]:
    case(x, torch.tensor([-100, -100]), None, -100, 0.0, reduction)
    case(x * 1000 + 5000, torch.tensor([2, 0]), None, -100, 0.0, reduction)
    case(-x * 1000, torch.tensor([2, 0]), None, -100, 0.0, reduction)
    y = x.clone()
    y[0, 1] = -math.inf
    case(y, torch.tensor([0, 1]), None, -100, 0.0, reduction)
    case(y, torch.tensor([1, 1]), None, -100, 0.0, reduction)
    y[1] = -math.inf
    case(y, torch.tensor([0, 1]), None, -100, 0.0, reduction)
    y[1, 0] = math.inf
    case(y, torch.tensor([0, 1]), None, -100, 0.0, reduction)
    y[1, 0] = math.nan
    case(y, torch.tensor([0, 1]), None, -100, 0.0, reduction)

print("[" + ",\n".join(json.dumps(c) for c in cases) + "]")

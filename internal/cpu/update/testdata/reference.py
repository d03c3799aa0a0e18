"""Writes reference.json: three steps of torch.optim.SGD, and clip_grad_norm_.

Run: python3 reference.py > reference.json
"""
import itertools
import json

import torch

torch.manual_seed(0)
cases = []
N = 67  # not a multiple of any vector length


def bits(t):
    return [float(v) for v in t.reshape(-1).tolist()]  # float32 values are exact in JSON's doubles


for name, momentum, dampening, decay, nesterov, maximize in itertools.product(
        ["float32", "float64"], [0.0, 0.9], [0.0, 0.3], [0.0, 0.01], [False, True], [False, True]):
    if nesterov and (momentum == 0 or dampening != 0):
        continue
    p = torch.randn(N, dtype=getattr(torch, name)).requires_grad_()
    opt = torch.optim.SGD([p], lr=0.1, momentum=momentum, dampening=dampening, weight_decay=decay,
                          nesterov=nesterov, maximize=maximize, foreach=False)
    c = {"dtype": name, "lr": 0.1, "momentum": momentum, "dampening": dampening, "decay": decay, "nesterov": nesterov,
         "maximize": maximize, "start": bits(p.detach()), "grads": [], "params": [], "buffers": []}
    for _ in range(3):
        p.grad = torch.randn(N, dtype=p.dtype)
        c["grads"].append(bits(p.grad))
        opt.step()
        c["params"].append(bits(p.detach()))
        buf = opt.state[p].get("momentum_buffer")
        c["buffers"].append(bits(buf) if buf is not None else [])
    cases.append(c)

x = torch.randn(5, 40, dtype=torch.float64).float().double()
json.dump({"sgd": cases, "squares": bits(x), "sum": float((x ** 2).sum())}, __import__("sys").stdout)

"""SGD trajectories by PyTorch, for every combination of options. Writes sgd.json.

Run: python3 sgd.py
"""
import itertools
import json

import torch

cases = []
start = [[0.5, -1.25, 2.0, -0.125], [1.0, 3.0]]
grads = [[[0.1, -0.2, 0.3, 1.7], [0.5, -0.25]], [[-0.7, 0.2, 0.0, 0.1], [1.5, 0.75]],
         [[0.3, 0.3, -0.9, 0.2], None], [[1e-3, -1.0, 0.25, 4.0], [0.125, 2.0]]]
for momentum, dampening, decay, nesterov, maximize, dtype in itertools.product(
        (0, 0.9), (0, 0.3), (0, 0.05), (False, True), (False, True), (torch.float32, torch.float64)):
    if nesterov and (momentum == 0 or dampening != 0):
        continue
    params = [torch.tensor(p, dtype=dtype, requires_grad=True) for p in start]
    opt = torch.optim.SGD(params, lr=0.1, momentum=momentum, dampening=dampening, weight_decay=decay,
                          nesterov=nesterov, maximize=maximize)
    steps = []
    for gs in grads:
        for p, g in zip(params, gs):
            p.grad = None if g is None else torch.tensor(g, dtype=dtype)
        opt.step()
        steps.append([p.tolist() for p in params])
    cases.append({"momentum": momentum, "dampening": dampening, "weight_decay": decay, "nesterov": nesterov,
                  "maximize": maximize, "dtype": str(dtype)[6:], "steps": steps})
with open("sgd.json", "w") as f:
    json.dump({"torch": torch.__version__, "start": start, "grads": grads, "cases": cases}, f)

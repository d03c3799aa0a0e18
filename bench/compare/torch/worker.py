"""The PyTorch side of the comparison.

Reads requests from standard input, a line of JSON each, and answers each with a
line on standard output:

  {"op": "make", "kind": "matmul", "args": {...}}  makes the work from seed 0, does
      its first steps, and answers {"results": [...]}, numbers that Ebb must get too
  {"op": "run", "warm": m, "steps": n}   {"wall": seconds, "cpu": seconds} of n
      steps after m
  {"op": "peak"}              {"peak": bytes} a step allocates above what lives before
                              it; needs peak.c's library loaded before all others
  {"op": "drop"}              lets go of the work

An answer {"error": "..."} says why there is none.
"""
import ctypes
import gc
import json
import sys
import time

import torch
import torch.nn as nn


def summary(t):
    """Numbers that tell a tensor from another: sum, sum of squares, some elements."""
    d = t.detach().double().flatten()
    return [d.sum().item(), (d * d).sum().item()] + d[:: max(1, d.numel() // 5)][:6].tolist()


class MatMul:
    def __init__(self, m, k, n, tx, ty):
        self.x = torch.rand(k, m).t() if tx else torch.rand(m, k)
        self.y = torch.rand(n, k).t() if ty else torch.rand(k, n)

    def first(self):
        return summary(self.x @ self.y)

    def step(self):
        self.x @ self.y


class Elementwise:
    OPS = {
        "add": lambda x, y: x + y,
        "mul": lambda x, y: x * y,
        "relu": lambda x, _: torch.relu(x),
        "exp": lambda x, _: torch.exp(x),
        "sum": lambda x, _: x.sum(),
        "softmax": lambda x, _: torch.softmax(x, 1),
    }

    def __init__(self, op, n):
        shape = (n // 1000, 1000) if op == "softmax" else (n,)
        self.op = self.OPS[op]
        self.x = torch.rand(shape)
        if op in ("relu", "exp", "softmax"):
            self.x -= 0.5
        self.y = torch.rand(shape) if op in ("add", "mul") else None

    def first(self):
        return summary(self.op(self.x, self.y))

    def step(self):
        self.op(self.x, self.y)


class CrossEntropy:
    def __init__(self, n, classes, gradient):
        self.gradient = gradient
        self.x = torch.rand(n, classes).requires_grad_(gradient)
        self.y = torch.randint(0, classes, (n,))

    def first(self):
        loss = self.step()
        return [loss.item()] + (summary(self.x.grad) if self.gradient else [])

    def step(self):
        if not self.gradient:
            with torch.no_grad():
                return nn.functional.cross_entropy(self.x, self.y)
        self.x.grad = None
        loss = nn.functional.cross_entropy(self.x, self.y)
        loss.backward()
        return loss


class SGD:
    def __init__(self, momentum):
        self.params = []
        for shape in ((1024, 784), (1024,), (10, 1024), (10,)):
            p = torch.rand(shape).requires_grad_()
            p.grad = torch.rand(shape)
            self.params.append(p)
        self.opt = torch.optim.SGD(self.params, lr=1e-6, momentum=momentum)

    def first(self):
        for _ in range(3):
            self.opt.step()
        return summary(self.params[0]) + summary(self.params[3])

    def step(self):
        self.opt.step()


class MLP:
    def __init__(self, batch, hidden):
        self.model = nn.Sequential(nn.Linear(784, hidden), nn.ReLU(), nn.Linear(hidden, 10))
        self.opt = torch.optim.SGD(self.model.parameters(), lr=0.01)
        self.loss = nn.CrossEntropyLoss()
        self.x = torch.rand(batch, 784)
        self.y = torch.randint(0, 10, (batch,))

    def first(self):
        return [self.step().item() for _ in range(20)]

    def step(self):
        self.opt.zero_grad(set_to_none=True)
        loss = self.loss(self.model(self.x), self.y)
        loss.backward()
        self.opt.step()
        return loss

    def settle(self):
        self.opt.zero_grad(set_to_none=True)


class Loader:
    def __init__(self, folder, batch):
        from torchvision import datasets, transforms

        t = transforms.Compose([transforms.ToTensor(), transforms.Normalize((0.1307,), (0.3081,))])
        self.loader = torch.utils.data.DataLoader(datasets.MNIST(folder, train=True, transform=t), batch_size=batch, shuffle=True)
        self.batches = iter(self.loader)

    def first(self):
        x, y = next(self.batches)
        return summary(x) + summary(y)

    def step(self):
        try:
            next(self.batches)
        except StopIteration:
            self.batches = iter(self.loader)
            next(self.batches)


KINDS = {"matmul": MatMul, "elementwise": Elementwise, "crossentropy": CrossEntropy, "sgd": SGD, "mlp": MLP, "loader": Loader}


def quiet():
    """Waits until threads that spin in the hope of more work have gone to sleep."""
    for _ in range(40):
        used = time.process_time()
        time.sleep(0.002)
        if time.process_time() - used < 0.0003:
            return


def run(work, warm, steps):
    step = work.step
    for _ in range(warm):
        step()
    cpu, wall = time.process_time(), time.perf_counter()
    for _ in range(steps):
        step()
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    quiet()
    return {"wall": wall, "cpu": cpu}


def peak(work):
    lib = ctypes.CDLL(None)
    lib.tensor_bytes_live.restype = lib.tensor_bytes_peak.restype = ctypes.c_long
    highest = 0
    for _ in range(3):
        work.settle()
        gc.collect()
        live = lib.tensor_bytes_live()
        lib.tensor_bytes_restart()
        work.step()
        highest = max(highest, lib.tensor_bytes_peak() - live)
    return {"peak": highest}


def blas_core():
    """Which processor OpenBLAS takes this one for; empty if it is not OpenBLAS."""
    try:
        with open("/proc/self/maps") as f:
            path = next(line.split()[-1] for line in f if "openblas" in line)
        name = ctypes.CDLL(path).openblas_get_corename
        name.restype = ctypes.c_char_p
        return name().decode()
    except (OSError, StopIteration, AttributeError):
        return ""


def main():
    print(json.dumps({"torch": torch.__version__, "blas": blas_core()}), flush=True)
    work = None
    for line in sys.stdin:
        request = json.loads(line)
        try:
            if request["op"] == "make":
                work = None
                torch.manual_seed(0)
                work = KINDS[request["kind"]](**request["args"])
                answer = {"results": work.first()}
                quiet()
            elif request["op"] == "run":
                answer = run(work, request["warm"], request["steps"])
            elif request["op"] == "peak":
                answer = peak(work)
            else:
                work, answer = None, {}
        except Exception as e:  # told to the other side, which goes on to the next row
            answer = {"error": f"{type(e).__name__}: {e}"}
        print(json.dumps(answer), flush=True)


main()

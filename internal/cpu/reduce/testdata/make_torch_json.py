"""Writes torch.json: PyTorch's reductions of the rows of small matrices.

Run as: python3 make_torch_json.py > torch.json. Every number is text, so that
NaN, infinities and -0 survive.
"""
import json
import sys
import warnings

import torch

warnings.filterwarnings("ignore")
torch.manual_seed(0)
nan, inf = float("nan"), float("inf")
cases = []


def array(t):
    values = [repr(v) if isinstance(v, float) else str(int(v)) for v in t.flatten().tolist()]
    return {"dtype": str(t.dtype).removeprefix("torch."), "shape": list(t.shape), "values": values}


def case(op, inputs, outputs):
    cases.append({"op": op, "in": [array(t) for t in inputs], "out": [array(t) for t in outputs]})


special = [[1.0, 3.0, 3.0, 2.0], [nan, 1.0, nan, 2.0], [1.0, nan, 5.0, nan], [-0.0, 0.0, 0.0, -0.0], [-0.0] * 4,
           [-inf] * 4, [inf, inf, nan, 1.0], [inf, 0.0, 1.0, 2.0], [inf, -inf, 0.0, 1.0], [-inf, 0.0, 0.0, 1.0],
           [1e30, 1.0, 1.0, 2.0], [1e-40, 1e-40, 0.0, 0.0], [100.0, 101.0, 99.0, 0.5], [-200.0, -201.0, -200.5, -199.0],
           [0.0, 0.0, 0.0, 0.0], [5.0, 5.0, 5.0, 5.0]]
whole = [[1, 3, 3, 2], [0, 0, 0, 0], [-5, -7, -7, 2], [100, 100, 100, 100], [2, 0, 3, 1]]


def reductions(x, names):
    functions = dict(
        Sum=lambda: x.sum(1, keepdim=True), Mean=lambda: x.mean(1, keepdim=True), Prod=lambda: x.prod(1, keepdim=True),
        Max=lambda: x.amax(1, keepdim=True), Min=lambda: x.amin(1, keepdim=True),
        Any=lambda: (x != 0).any(1, keepdim=True), All=lambda: (x != 0).all(1, keepdim=True),
        SumSquares=lambda: (x * x).sum(1, keepdim=True),
        ArgMax=lambda: x.argmax(1, keepdim=True), ArgMin=lambda: x.argmin(1, keepdim=True),
        CumSum=lambda: x.cumsum(1), SoftMax=lambda: torch.softmax(x, 1), LogSoftMax=lambda: torch.log_softmax(x, 1),
        LogSumExp=lambda: torch.logsumexp(x, 1, keepdim=True))
    for name in names:
        case(name, [x], [functions[name]()])


both = ["Sum", "Prod", "Max", "Min", "Any", "All", "CumSum"]
floats = both + ["Mean", "SumSquares", "ArgMax", "ArgMin", "SoftMax", "LogSoftMax", "LogSumExp"]
nothing = ["Sum", "Prod", "Mean", "Any", "All", "CumSum", "SumSquares", "SoftMax", "LogSoftMax", "LogSumExp"]
for dtype in (torch.float32, torch.float64):
    x = torch.tensor(special, dtype=dtype)
    reductions(x, floats)
    case("MaxDim", [x], list(x.max(1, keepdim=True)))
    case("MinDim", [x], list(x.min(1, keepdim=True)))
    reductions(torch.empty(2, 0, dtype=dtype), nothing)
    reductions(torch.empty(0, 3, dtype=dtype), floats)
    x = torch.tensor([[1.0, 2.0, 4.0, 8.5], [3.0, 3.0, 3.0, 3.0], [1e4, 1e4 + 1, 1e4 + 2, 1e4 + 3], [nan, 0, 0, 0]], dtype=dtype)
    case("VarMean", [x], list(torch.var_mean(x, 1, keepdim=True)))
    case("VarMean0", [x], list(torch.var_mean(x, 1, keepdim=True, unbiased=False)))
    case("VarMean", [x[:, :1].contiguous()], list(torch.var_mean(x[:, :1], 1, keepdim=True)))
    case("VarMean", [x[:, :0].contiguous()], list(torch.var_mean(x[:, :0], 1, keepdim=True)))
    x, g = torch.randn(3, 7, dtype=dtype) * 3, torch.randn(3, 7, dtype=dtype)
    for name, f in (("SoftMax", torch.softmax), ("LogSoftMax", torch.log_softmax)):
        leaf = x.clone().requires_grad_()
        out = f(leaf, 1)
        out.backward(g)
        case(name, [x], [out.detach()])
        case(name + "Backward", [g, out.detach()], [leaf.grad])
    case("LogSumExp", [x], [torch.logsumexp(x, 1, keepdim=True)])
for dtype in (torch.int64, torch.int32, torch.uint8):
    x = torch.tensor(whole).to(dtype)
    reductions(x, both + ["ArgMin"])
    case("MaxDim", [x], list(x.max(1, keepdim=True)))
    case("MinDim", [x], list(x.min(1, keepdim=True)))
x = torch.tensor([[True, True], [False, True], [True, False], [False, False]])
reductions(x, both)
case("MaxDim", [x], list(x.max(1, keepdim=True)))
case("MinDim", [x], list(x.min(1, keepdim=True)))

sys.stdout.write("[\n" + ",\n".join(json.dumps(c) for c in cases) + "\n]\n")

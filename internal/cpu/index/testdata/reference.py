"""Writes reference.json: index operations as PyTorch computes them.

Run: python3 reference.py > reference.json
All values are small multiples of 1/4, so sums are exact in any order.
"""
import itertools
import json

import torch
import torch.nn.functional as F

torch.manual_seed(0)
cases = []
DTYPES = {"float32": torch.float32, "float64": torch.float64, "int64": torch.int64,
          "int32": torch.int32, "uint8": torch.uint8, "bool": torch.bool}


def values(shape, dtype):
    if dtype == torch.bool:
        return torch.randint(0, 2, shape).bool()
    t = torch.randint(0, 40, shape)
    return (t - 20).to(dtype) / 4 if dtype.is_floating_point else t.to(dtype)


def pack(t):
    return {"shape": list(t.shape), "values": [float(v) for v in t.reshape(-1).tolist()]}


def case(op, dtype, dim, idx, out, **arrays):
    cases.append({"op": op, "dtype": dtype, "dim": dim, "idx": pack(idx), "out": pack(out),
                  **{k: pack(v) for k, v in arrays.items()}})


for (name, dtype), shape in itertools.product(DTYPES.items(), [(5,), (4, 3), (2, 3, 4), (3, 0, 2), (2, 1, 3, 2)]):
    for dim in range(len(shape)):
        if shape[dim] == 0:
            continue
        src = values(shape, dtype)
        idx = torch.randint(0, shape[dim], (6,))
        out = src.index_select(dim, idx)
        case("select", name, dim, idx, out, src=src)
        more = values(tuple(out.shape), dtype)
        case("indexadd", name, dim, idx, src.index_add(dim, idx, more), src=more, dst=src)
        smaller = tuple(max(s - 1, 0) if d != dim else 7 for d, s in enumerate(shape))
        gidx = torch.randint(0, shape[dim], smaller)
        case("gather", name, dim, gidx, src.gather(dim, gidx), src=src)
        wide = values(tuple(s + 1 for s in smaller), dtype)
        case("scatteradd", name, dim, gidx, src.scatter_add(dim, gidx, wide), src=wide, dst=src)

for dim, shape in ((0, ()),):
    src, idx = torch.tensor(2.5), torch.tensor(0)
    case("gather", "float32", 0, idx, src.gather(0, idx), src=src)
    case("scatteradd", "float32", 0, idx, src.scatter_add(0, idx, src), src=src, dst=src)

for shape in [(), (4,), (2, 3), (0,)]:
    idx = torch.randint(0, 5, shape)
    case("onehot", "int64", 0, idx, F.one_hot(idx, 5))

for name, dtype in DTYPES.items():
    for shape, k in itertools.product([(3, 5), (5, 3), (2, 4, 4), (1, 1), (0, 3)], [-9, -2, -1, 0, 1, 3, 9]):
        src = values(shape, dtype)
        case("tril", name, k, torch.tensor(0), src.tril(k), src=src)
        case("triu", name, k, torch.tensor(0), src.triu(k), src=src)

for name in ["float32", "float64", "int64", "int32", "uint8"]:
    out = torch.arange(3, 50, 7, dtype=DTYPES[name])
    case("arange", name, 0, torch.tensor([3, 7]), out)

# That PyTorch refuses negative indices in each of these is asserted here.
x, i = torch.zeros(3), torch.tensor([-1])
for f in (lambda: x.index_select(0, i), lambda: x.index_add(0, i, x[:1]), lambda: x.gather(0, i),
          lambda: x.scatter_add(0, i, x), lambda: F.one_hot(i, 3)):
    try:
        f()
    except (IndexError, RuntimeError):
        continue
    raise SystemExit("PyTorch took a negative index")

print("[" + ",\n".join(json.dumps(c) for c in cases) + "]")

"""Computes results and gradients of the rows of an operation table.

Reads the rows as JSON from standard input and writes what PyTorch computes to
standard output. go test -run TestTorchValues -update-torch runs it.
"""
import ast, json, math, os, sys

import torch
import torch.nn as nn
import torch.nn.functional as F

DTYPES = {"float32": torch.float32, "float64": torch.float64, "int64": torch.int64,
          "int32": torch.int32, "uint8": torch.uint8, "bool": torch.bool}


def text(x):
    x = x.detach().contiguous().reshape(-1)
    if x.dtype.is_floating_point:
        return " ".join(str(v) for v in x.numpy())
    return " ".join(str(int(v)) for v in x.tolist())


def tensor(x):
    if x is None:
        return None
    return {"dtype": str(x.dtype)[6:], "shape": list(x.shape), "data": text(x)}


def weights(x):
    """The gradient of each element: multiples of 1/8, never 0."""
    w = [((i * 5 + 3) % 11 - 5) / 4 + 0.125 for i in range(x.numel())]
    return torch.tensor(w, dtype=x.dtype).reshape(x.shape)


def evaluate(source, names):
    """Runs statements; the value is that of the last one."""
    tree = ast.parse(source)
    last = tree.body.pop()
    if not isinstance(last, ast.Expr):
        raise SyntaxError("the last statement is no expression")
    exec(compile(tree, "<row>", "exec"), names)
    return eval(compile(ast.Expression(last.value), "<row>", "eval"), names)


def run(row):
    torch.manual_seed(0)
    names = {"torch": torch, "F": F, "nn": nn, "math": math}
    operands, leaves = [], []
    for i, spec in enumerate(row["in"] or []):
        dtype = DTYPES[spec["dtype"]]
        data = [float(v) for v in spec["data"]]
        if not dtype.is_floating_point:
            data = [int(v) for v in data]
        x = torch.tensor(data, dtype=torch.float64 if dtype.is_floating_point else torch.int64)
        x = x.to(dtype).reshape(spec["shape"])
        if spec["grad"]:
            x.requires_grad_(True)
            leaves.append(x)
            if row["inplace"] and i == 0:
                x = x.clone()
        operands.append(x)
        names["abcdefghijkl"[i]] = x
    outs = evaluate(row["torch"], names)
    if isinstance(outs, torch.Tensor):
        outs = (outs,)
    leaves += names.get("params", [])
    answer = []
    for out in outs:
        a = tensor(out)
        a["graph"] = out.requires_grad
        for i, x in enumerate(operands):
            if out.numel() and out.storage().data_ptr() == x.storage().data_ptr():
                a["alias"] = i
                break
        answer.append(a)
    roots = [out for out in outs if out.requires_grad]
    grads = [None] * len(leaves)
    if roots and leaves:
        grads = torch.autograd.grad(roots, leaves, [weights(out) for out in roots], allow_unused=True)
    return {"out": answer, "grad": [tensor(g) for g in grads]}


def main():
    torch.set_num_threads(1)
    answers = {}
    for row in json.load(sys.stdin):
        try:
            answers[row["id"]] = run(row)
        except Exception as e:
            answers[row["id"]] = {"error": "%s: %s" % (type(e).__name__, e)}
    json.dump(answers, sys.stdout)


main()

"""Writes torch.json: what PyTorch computes for special and ordinary values.

Run as: python3 make_torch_json.py > torch.json. Every number is text, so that NaN,
infinities and -0 survive.
"""
import json
import sys
import warnings

import torch

warnings.filterwarnings("ignore")
torch.manual_seed(0)
nan, inf = float("nan"), float("inf")
cases = []


def text(t):
    return [repr(v) if isinstance(v, float) else str(int(v)) for v in t.flatten().tolist()]


def name(t):
    return str(t.dtype).removeprefix("torch.")


def case(kind, op, out, *inputs, **more):
    cases.append({"kind": kind, "op": op, "dtype": name(inputs[0]), "in": [text(t) for t in inputs],
                  "out_dtype": name(out), "out": text(out), **{k: repr(v) for k, v in more.items()}})


floats = [nan, inf, -inf, 0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 1.5, 2.5, -2.5, 7.0, 0.1, -0.3, 3.25, 20.0, -20.0,
          85.0, 1e-3, -1e-3, 1e-30, 1e-40, -1e-40, 1e30, 0.999, -0.999, 12345.678]
ints = [0, 1, -1, 2, -2, 3, 7, -7, 100, 2**31 - 1, -2**31]
unary = dict(Neg="neg", Abs="abs", Sign="sign", Square="square", Floor="floor", Ceil="ceil", Round="round",
             Trunc="trunc", ReLU="relu", Exp="exp", Expm1="expm1", Log="log", Log1p="log1p", Log2="log2",
             Log10="log10", Sqrt="sqrt", Rsqrt="rsqrt", Sin="sin", Cos="cos", Tan="tan", Asin="asin", Acos="acos",
             Atan="atan", Sinh="sinh", Cosh="cosh", Tanh="tanh", Sigmoid="sigmoid", Erf="erf",
             Reciprocal="reciprocal", IsNaN="isnan", IsInf="isinf", IsFinite="isfinite", LogicalNot="logical_not")
for dtype in (torch.float32, torch.float64):
    x = torch.tensor(floats, dtype=dtype)
    for op, f in unary.items():
        case("unary", op, getattr(torch, f)(x), x)
for dtype in (torch.int64, torch.int32, torch.uint8):
    x = torch.tensor(ints).to(dtype)
    for op in ("Neg", "Abs", "Sign", "Square", "ReLU", "IsNaN", "IsInf", "IsFinite", "LogicalNot"):
        case("unary", op, getattr(torch, unary[op])(x), x)
    case("unary", "BitwiseNot", torch.bitwise_not(x), x)
b = torch.tensor([True, False])
for op in ("Sign", "IsFinite", "IsNaN", "LogicalNot"):
    case("unary", op, getattr(torch, unary[op])(b), b)
case("unary", "BitwiseNot", ~b, b)

binary = dict(Add="add", Sub="sub", Mul="mul", Div="div", FloorDivide="floor_divide", Remainder="remainder",
              Pow="pow", Atan2="atan2", Maximum="maximum", Minimum="minimum", Eq="eq", Ne="ne", Lt="lt", Le="le",
              Gt="gt", Ge="ge", LogicalAnd="logical_and", LogicalOr="logical_or", LogicalXor="logical_xor",
              BitwiseAnd="bitwise_and", BitwiseOr="bitwise_or", BitwiseXor="bitwise_xor")
grid = [nan, inf, -inf, 0.0, -0.0, 1.0, -2.5, 7.0, 0.1, -0.3]
for dtype in (torch.float32, torch.float64):
    g = torch.tensor(grid, dtype=dtype)
    x, y = [t.contiguous() for t in torch.broadcast_tensors(g[:, None], g)]
    for op, f in binary.items():
        if not op.startswith("Bitwise"):
            case("binary", op, getattr(torch, f)(x, y), x, y)
for dtype in (torch.int64, torch.int32, torch.uint8):
    g = torch.tensor([1, -1, 2, 3, -7, 100]).to(dtype)
    x, y = [t.contiguous() for t in torch.broadcast_tensors(g[:, None], g)]
    for op, f in binary.items():
        if op not in ("Div", "Atan2"):
            case("binary", op, getattr(torch, f)(x, y), x, y)
    zeros = torch.zeros_like(g)
    case("binary", "Pow", torch.pow(zeros, g), zeros, g)
x, y = torch.tensor([True, True, False, False]), torch.tensor([True, False, True, False])
for op, f in binary.items():
    if op not in ("Sub", "Div", "FloorDivide", "Remainder", "Pow", "Atan2"):
        case("binary", op, getattr(torch, f)(x, y), x, y)

for dtype in (torch.float32, torch.float64):
    x = torch.tensor(floats[:16], dtype=dtype)
    for v in (0.0, 0.5, 1.0, 2.0, 3.0, -0.5, -1.0, -2.0, 0.25, inf, nan):
        case("scalar", "Pow", torch.pow(x, v), x, v=v)
    for op in ("Add", "Sub", "Mul", "Div", "FloorDivide", "Remainder", "Eq", "Gt"):
        case("scalar", op, getattr(torch, binary[op])(x, 0.1), x, v=0.1)
    case("reversed", "Sub", 0.1 - x, x, v=0.1)
    case("reversed", "Div", torch.div(torch.tensor(0.1, dtype=dtype), x), x, v=0.1)
    case("reversed", "Pow", torch.pow(2.0, x), x, v=2.0)
    case("reversed", "Pow", torch.pow(1.0, x), x, v=1.0)
    for lo, hi in ((-1.0, 1.0), (1.0, -1.0), (nan, 1.0), (-1.0, nan), (0.1, inf), (-0.0, 0.0), (0.0, -0.0)):
        case("clamp", "", torch.clamp(x, lo, hi), x, lo=lo, hi=hi)

for dtype in (torch.float32, torch.float64):
    a, b, c = torch.randn(48, dtype=dtype), torch.randn(48, dtype=dtype), torch.rand(48, dtype=dtype) + 0.5
    case("fused", "AddScaled", torch.add(a, b, alpha=0.1), a, b, v=0.1)
    case("fused", "Addcmul", torch.addcmul(a, b, c, value=0.1), a, b, c, v=0.1)
    case("fused", "Addcdiv", torch.addcdiv(a, b, c, value=0.1), a, b, c, v=0.1)
    case("fused", "Lerp", torch.lerp(a, b, 0.1), a, b, v=0.1)
    case("fused", "Lerp", torch.lerp(a, b, 0.7), a, b, v=0.7)
    case("fused", "Lerp", torch.lerp(a, b, 1.0), a, b, v=1.0)

wide = [nan, inf, -inf, 0.0, -0.0, 1e10, -1e10, 3e9, -3e9, 300.7, -1.5, -0.5, 255.9, 256.0, 1e19, -1e19, 2.0**63,
        2.0**31, 2.0**31 - 0.5, -2.0**31 - 0.5, -2.0**31 - 1, -200.0, 1e20, 2.0**40 + 5, -2.0**40 - 3, 1e-40]
all_dtypes = (torch.float32, torch.float64, torch.int64, torch.int32, torch.uint8, torch.bool)
for source in (torch.float32, torch.float64):
    x = torch.tensor(wide, dtype=source)
    for dtype in all_dtypes:
        case("cast", "", x.to(dtype), x)
x = torch.tensor([0, 1, -1, 255, 256, -200, 2**31, -2**31 - 1, 2**53 + 1, 2**24 + 1, 2**62 + 12345])
for dtype in all_dtypes:
    case("cast", "", x.to(dtype), x)
    case("cast", "", x.to(torch.int32).to(dtype), x.to(torch.int32))
    case("cast", "", x.to(torch.uint8).to(dtype), x.to(torch.uint8))
    case("cast", "", x.to(torch.bool).to(dtype), x.to(torch.bool))

sys.stdout.write("[\n" + ",\n".join(json.dumps(c) for c in cases) + "\n]\n")

"""Prints tensors with PyTorch, for print_test.go.

    python3 testdata/print_torch.py > testdata/print_torch.json
"""
import json, random
import torch

cases = []


def case(dtype, shape, data, grad=False):
    x = torch.tensor([float(v) if "float" in dtype else int(v) for v in data] if data else [], dtype=getattr(torch, dtype)).reshape(shape)
    x.requires_grad_(grad)
    cases.append({"dtype": dtype, "shape": shape, "data": [str(v) for v in data], "grad": grad, "want": str(x)})


def pattern(dtype, shape):
    """Elements (i*7 mod 1009)/8, made by the test as well."""
    n = 1
    for d in shape:
        n *= d
    v = (torch.arange(n, dtype=torch.int64) * 7) % 1009
    x = v.to(getattr(torch, dtype)) / 8 if "float" in dtype else v.to(getattr(torch, dtype))
    cases.append({"dtype": dtype, "shape": shape, "pattern": True, "want": str(x.reshape(shape))})


F = "float32"
for data in ([1.5], [1], [0], [-0.0], ["nan"], ["inf"], ["-inf"], [1e-5], [123456789], [3.14159265]):
    case(F, [], data)
    case(F, [1], data)
case("int64", [], [42])
case("bool", [], [1])
case("float64", [], [2.5])
case("int32", [], [-7])
for shape in ([0], [0, 3], [2, 0], [0, 0, 1]):
    for dtype in (F, "float64", "int64", "int32", "uint8", "bool"):
        case(dtype, shape, [])
case(F, [2, 2], [1, 2, 3, 4])
case(F, [2, 2], [1, 2.5, 3, 4], True)
case(F, [4], [1, "nan", "inf", "-inf"])
case(F, [4], [1.5, "nan", "inf", "-inf"])
case(F, [3], ["nan", "inf", "-inf"])
case(F, [3], [1e10, "nan", "-inf"])
case(F, [3], [0, 0, 0])
case(F, [3], [0, 0, 100])
case(F, [3], [-0.0, 0, 0.25])
case(F, [3], [1e-4, 1, 0.1])
case(F, [3], [9.9e-5, 0.001, 0.01])
case(F, [2], [1000, 1])
case(F, [2], [1001, 1])
case(F, [2], [1000.5, 1])
case(F, [2], [1e8, 2e8])
case(F, [2], [1e8, 1e8])
case(F, [2], [100000008, 99999992])
case(F, [3], [3.4e38, 1e-45, -1])
case("float64", [3], [1e300, -1e-300, 1])
case("float64", [2], [0.1, 1 / 3])
case("int64", [3], [9223372036854775807, -9223372036854775808, 0])
case("int64", [2, 2], [-1, 10, 100, 7])
case("uint8", [3], [1, 20, 255])
case("bool", [2, 3], [1, 0, 1, 1, 1, 1])
case("bool", [2], [1, 1])
case(F, [40], range(40))
case(F, [30], [i / 3 for i in range(30)], True)
case(F, [18], [i + 0.5 for i in range(18)], True)
case(F, [19], [i + 0.5 for i in range(19)], True)
case("float64", [8], [i / 7 for i in range(8)], True)
for n in range(5, 10):
    case("float64", [n], [i / 7 + 1 for i in range(n)])
    case("float64", [n], [i / 7 - 100 for i in range(n)], True)
case("int64", [50], [i * 1000 for i in range(50)])
case(F, [2, 3, 4], range(24))
case(F, [2, 2, 2, 2], range(16))
case(F, [2, 1, 30], [i / 4 for i in range(60)])
case(F, [1, 1, 1, 1, 1], [0.5])
for dtype, shape in ((F, [1000]), (F, [1001]), ("int64", [1001]), (F, [2000]), (F, [50, 50]), (F, [7, 200]), (F, [6, 200]), ("float64", [200, 6]),
                     (F, [200, 7]), (F, [10, 10, 10]), (F, [10, 10, 11]), ("int32", [9, 8, 7, 6]), (F, [2, 600]), (F, [600, 2]),
                     ("uint8", [40, 40]), ("bool", [40, 40]), (F, [2000, 1]), (F, [1, 2000]), (F, [3, 4, 5, 6, 7])):
    pattern(dtype, shape)
random.seed(0)
for _ in range(60):
    shape = [random.randint(1, 5) for _ in range(random.randint(1, 3))]
    n = 1
    for d in shape:
        n *= d
    scale = 10 ** random.uniform(-6, 8)
    spread = random.choice([0.5, 1, 3])
    data = [torch.tensor(random.choice([-1, 1]) * scale * 10 ** random.uniform(-spread, spread)).item() for _ in range(n)]
    if random.random() < 0.3:
        data = [round(v) for v in data]
    case(random.choice([F, "float64"]), shape, data, random.random() < 0.3)
print("[\n" + ",\n".join(json.dumps(c) for c in cases) + "\n]")

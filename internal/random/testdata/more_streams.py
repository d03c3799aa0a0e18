"""More reference streams: sequences of calls drawn from one CPU generator.

Writes more_streams.json. Run: python3 more_streams.py (PyTorch without MKL, on a
processor with AVX2; Debian's 1.13.1 made the file in the repository).

Each case is a seed and steps. A step's values are those of the flattened result,
every stride-th of them; "sha256" is of all its bytes where the stream is exact.
"cached" is the second normal of a pair, kept for later (0 if none), and "state"
the SHA-256 of torch.get_rng_state() after the last step without it.
"""
import hashlib
import json
import struct

import torch

cases = []
dtypes = {"float32": torch.float32, "float64": torch.float64, "int64": torch.int64, "int32": torch.int32,
          "uint8": torch.uint8}


def run(op, n, dtype, args):
    dt = dtypes[dtype]
    if op == "uniform":
        return torch.empty(n, dtype=dt).uniform_(*args)
    if op == "normal":
        return torch.empty(n, dtype=dt).normal_(*args)
    if op == "normal_serial":  # every second element of a larger tensor
        x = torch.empty(2 * n, dtype=dt)[::2]
        return x.normal_(*args)
    if op == "bernoulli":
        return torch.empty(n, dtype=dt).bernoulli_(*args)
    if op == "bernoulli_each":
        return torch.bernoulli(torch.linspace(args[0], args[1], n, dtype=torch.float64).to(dt))
    if op == "randint":
        return torch.randint(args[0], args[1], (n,))
    if op == "random":
        return torch.empty(n, dtype=dt).random_()
    if op == "randperm":
        return torch.randperm(n)
    if op == "multinomial":
        return torch.multinomial(torch.tensor(args, dtype=dt), n, replacement=True)
    if op == "multinomial_distinct":
        return torch.multinomial(torch.tensor(args, dtype=dt), n, replacement=False)
    raise ValueError(op)


def case(seed, *steps):
    torch.manual_seed(seed)
    c = {"seed": seed, "initial": torch.initial_seed(), "steps": []}
    for op, n, dtype, *args in steps:
        x = run(op, n, dtype, args).contiguous().flatten()
        stride = max(1, n // 24)
        step = {"op": op, "n": n, "dtype": dtype, "args": args, "stride": stride, "values": x[::stride].tolist()}
        if not op.startswith("normal"):
            step["sha256"] = hashlib.sha256(x.numpy().tobytes()).hexdigest()
        c["steps"].append(step)
    state = bytearray(torch.get_rng_state().numpy().tobytes())
    c["cached"] = struct.unpack_from("<d", state, 5024)[0]
    state[5024:5032] = bytes(8)
    c["state"] = hashlib.sha256(state).hexdigest()
    cases.append(c)


f32, f64, i64 = "float32", "float64", "int64"

# Seeds as torch.manual_seed takes them: from -2^63 to 2^64-1.
for seed in (0, 7, -1, -12345678901, -2**63, 2**31 - 1, 2**32, 2**32 + 7, 2**63, 2**64 - 1):
    case(seed, ("uniform", 4, f32, 0, 1), ("normal", 5, f32, 0, 1), ("random", 3, i64))

# Nothing drawn, and exactly to the end of a block of 624 and past it.
for n in (0, 1, 623, 624, 625, 1248, 1249):
    case(1, ("uniform", n, f32, 0, 1), ("uniform", 3, f64, 0, 1))
case(1, ("random", 1, "uint8"), ("uniform", 700, f64, 0, 1))  # 64-bit draws across blocks

# Ranges: x * (to - from) + from is rounded once.
for lo, hi in ((-0.3, 0.45), (-0.0360843918, 0.0360843918), (1.1, 7.3), (0, 3), (-1e30, 1e30), (2.5, 2.5)):
    for dt in (f32, f64):
        case(3, ("uniform", 5000, dt, lo, hi))

# Normals of all kinds of sizes; the cached half of a pair lives on across calls.
for dt in (f32, f64):
    for n in (1, 2, 3, 15, 16, 17, 24, 31, 32, 33, 63, 64, 100, 127, 1000, 4099):
        case(11, ("normal", n, dt, 0, 1), ("normal", 3, dt, 0, 1))
    for n in (1, 7, 16, 21, 300):
        case(12, ("normal_serial", n, dt, 0, 1), ("normal", 2, dt, 0, 1))
    case(13, ("normal", 9, dt, -3.25, 0.001), ("normal", 50, dt, 1e6, 3), ("normal", 20, dt, 0.1, 0))
case(14, ("normal", 5, f32, 0, 1), ("uniform", 3, f32, 0, 1), ("normal", 3, f64, 2, 0.5), ("normal", 40, f32, 0, 1),
     ("normal", 1, f32, 0, 1), ("randperm", 10, i64), ("normal", 20, f64, 0, 1), ("normal", 2, f64, 0, 1),
     ("bernoulli", 7, f32, 0.5), ("normal", 1, f32, 5, 2), ("randint", 4, i64, 0, 100), ("normal", 1, f64, 0, 1))

for dt in ("uint8", "int32", i64, f32, f64):
    for p in (0, 0.1, 0.5, 0.999, 1):
        case(21, ("bernoulli", 700, dt, p))
    case(22, ("random", 700, dt))
for dt in (f32, f64):
    case(23, ("bernoulli_each", 700, dt, 0, 1), ("bernoulli_each", 5, dt, 0.5, 0.5))

for lo, hi in ((0, 1), (0, 2), (-5, 5), (0, 2**28 - 1), (-2**27, 2**27 - 1), (0, 2**32), (5, 2**32 + 6), (-2**40, 2**50),
               (0, 2**63 - 1), (-2**63, 2**63 - 1)):
    case(31, ("randint", 700, i64, lo, hi))

for n in (0, 1, 2, 3, 624, 626, 60000):
    case(41, ("randperm", n, i64), ("uniform", 2, f32, 0, 1))

weights = [0.1, 0, 3, 0.5, 0.5, 1e-6, 2, 0.25, 7, 1.3]
for dt in (f32, f64):
    case(51, ("multinomial", 700, dt, *weights), ("multinomial", 1, dt, 5), ("multinomial", 20, dt, 0, 0, 1, 0))
    case(52, ("multinomial_distinct", 1, dt, *weights), ("multinomial_distinct", 4, dt, *weights),
         ("multinomial_distinct", 9, dt, *weights), ("multinomial_distinct", 1, dt, 0.5))
    case(53, ("multinomial", 500, dt, *[1 + (i * 7919 % 101) / 10 for i in range(300)]),
         ("multinomial_distinct", 300, dt, *[1 + (i * 7919 % 101) / 10 for i in range(300)]))

with open("more_streams.json", "w") as f:
    f.write('{"torch": "%s", "cases": [\n' % torch.__version__)
    f.write(",\n".join(json.dumps(c) for c in cases))
    f.write("\n]}\n")

"""Writes loader_torch.json: the orders that PyTorch's loaders and samplers give,
and the next number of each generator after them. Each case is a list of passes;
"take" batches of a pass are looked at, all of them if it is -1.
Run: python3 loader_torch.py
"""
import json

import torch
from torch.utils.data import (BatchSampler, ConcatDataset, DataLoader, Dataset, RandomSampler, SequentialSampler,
                              Subset, SubsetRandomSampler, WeightedRandomSampler, random_split)


class Numbers(Dataset):
    def __init__(self, n, start=0):
        self.n, self.start = n, start

    def __len__(self):
        return self.n

    def __getitem__(self, i):
        return self.start + i


def look(loader, takes, own=None):
    passes = []
    for take in takes:
        seen = []
        for i, b in enumerate(loader):
            seen.append(b.tolist())
            if i + 1 == take:
                break
        passes.append(seen)
    draw = lambda g: int(torch.empty((), dtype=torch.int64).random_(generator=g).item())
    return {"passes": passes, "next": draw(None), "next_own": draw(own) if own is not None else 0}


cases = []


def case(name, seed, n, takes, own=None, **kw):
    torch.manual_seed(seed)
    g = None
    if own is not None:
        g = torch.Generator()
        g.manual_seed(own)
    set_ = Numbers(n)
    sampler = kw.pop("sampler", None)
    if sampler:
        kw["sampler"] = sampler(set_, g)
    elif g is not None:
        kw["generator"] = g
    cases.append({"name": name, "seed": seed, "n": n, "takes": takes, "own": -1 if own is None else own,
                  "size": kw.get("batch_size", 1), "shuffle": kw.get("shuffle", False), "drop_last": kw.get("drop_last", False),
                  **look(DataLoader(set_, **kw), takes, g)})


for seed in [0, 42]:
    case("sequential", seed, 10, [-1, -1], batch_size=3)
    case("sequential", seed, 10, [-1, -1], batch_size=3, own=7)
    case("shuffle", seed, 10, [-1, -1, -1], batch_size=3, shuffle=True)
    case("shuffle", seed, 12, [-1, -1], batch_size=4, shuffle=True, drop_last=True)
    case("shuffle", seed, 13, [-1, -1], batch_size=4, shuffle=True, drop_last=True)
    case("shuffle", seed, 12, [-1, -1], batch_size=4, shuffle=True, own=5)
    case("shuffle", seed, 13, [-1, -1], batch_size=4, shuffle=True, own=5)
    case("shuffle", seed, 13, [-1, -1], batch_size=4, shuffle=True, own=5, drop_last=True)
    case("shuffle", seed, 13, [1, 2, -1, 3, 4, -1], batch_size=4, shuffle=True, own=5)
    case("shuffle", seed, 1000, [-1, -1], batch_size=64, shuffle=True)
    for own in [None, 9]:
        case("replacement", seed, 10, [-1, -1], batch_size=7, own=own, sampler=lambda s, g: RandomSampler(s, replacement=True, generator=g))
        case("replacement 100", seed, 10, [-1, 1, -1], batch_size=7, own=own,
             sampler=lambda s, g: RandomSampler(s, replacement=True, num_samples=100, generator=g))
        case("num_samples 25", seed, 10, [-1, 1, -1], batch_size=6, own=own,
             sampler=lambda s, g: RandomSampler(s, num_samples=25, generator=g))
        case("num_samples 5", seed, 10, [-1, -1], batch_size=2, own=own,
             sampler=lambda s, g: RandomSampler(s, num_samples=5, generator=g))
        case("subset", seed, 10, [-1, -1], batch_size=2, own=own, sampler=lambda s, g: SubsetRandomSampler([1, 3, 5, 7, 9], generator=g))
        case("weighted", seed, 6, [-1, -1], batch_size=5, own=own,
             sampler=lambda s, g: WeightedRandomSampler([0.1, 0.9, 0.4, 0.7, 3.0, 0.6], 12, generator=g))

splits = []
for seed in [0, 42]:
    for lengths in [[3, 7], [0.3, 0.3, 0.4], [0.5, 0.25, 0.25]]:
        torch.manual_seed(seed)
        n = 11 if isinstance(lengths[0], float) else 10
        if isinstance(lengths[0], float):
            # As newer releases, which take fractions.
            whole = [int(n * f) for f in lengths]
            for i in range(n - sum(whole)):
                whole[i % len(whole)] += 1
        else:
            whole = lengths
        splits.append({"seed": seed, "n": n, "fractions": lengths if isinstance(lengths[0], float) else [], "lengths": whole,
                       "subsets": [list(s.indices) for s in random_split(range(n), whole)]})

torch.manual_seed(3)
both = ConcatDataset([Numbers(5), Numbers(4, 100), Subset(Numbers(9, 200), [8, 0, 4])])
concat = [b.tolist() for b in DataLoader(both, batch_size=5, shuffle=True)]
with open("loader_torch.json", "w") as f:
    json.dump({"torch": torch.__version__, "cases": cases, "splits": splits, "concat": concat}, f)

"""Writes repr.txt: how PyTorch prints the models of print_test.go.

Run: python3 repr.py
"""
import torch.nn as nn


class SimpleNN(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(784, 128)
        self.act = nn.ReLU()
        self.fc2 = nn.Linear(128, 10, bias=False)


class Scale(nn.Module):
    def __init__(self, inner=None):
        super().__init__()
        if inner is not None:
            self.inner = inner

    def extra_repr(self):
        return "factor=2"


class Nested(nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = nn.ModuleList([SimpleNN(), nn.Sequential(nn.Flatten(), nn.ReLU(inplace=True))])
        self.heads = nn.ModuleDict({"a": nn.Linear(1, 2), "b": nn.ReLU()})
        self.scale = Scale(Scale())
        self.again = self.blocks[0]


models = [nn.Linear(3, 4), nn.ReLU(), nn.Flatten(0, -2), nn.Sequential(), nn.Sequential(nn.Linear(1, 1), nn.ReLU()),
          SimpleNN(), Scale(), Scale(nn.ReLU()), Nested()]
with open("repr.txt", "w") as f:
    for m in models:
        print(repr(m), end="\n\n", file=f)

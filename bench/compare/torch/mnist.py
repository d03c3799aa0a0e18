"""MNIST as PyTorch's tutorials train it, the program that Ebb's side runs too.

Run: python3 mnist.py FOLDER, which has MNIST/raw as torchvision leaves it.
"""
import gc
import json
import sys

import torch
import torch.nn as nn
import torch.optim as optim
from torch.utils.data import DataLoader
from torchvision import datasets, transforms


def anonymous():
    """The process's anonymous memory in bytes, or 0 where the system does not tell."""
    try:
        with open("/proc/self/status") as f:
            return next(int(line.split()[1]) * 1024 for line in f if line.startswith("RssAnon"))
    except (OSError, StopIteration):
        return 0


class SimpleNN(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(28 * 28, 128)
        self.fc2 = nn.Linear(128, 10)

    def forward(self, x):
        x = x.view(-1, 28 * 28)
        x = torch.relu(self.fc1(x))
        return self.fc2(x)


before = anonymous()
torch.manual_seed(0)
model = SimpleNN()
train = datasets.MNIST(root=sys.argv[1], train=True, transform=transforms.ToTensor())
loader = DataLoader(dataset=train, batch_size=64, shuffle=True)
criterion = nn.CrossEntropyLoss()
optimizer = optim.SGD(model.parameters(), lr=0.01)
steps = 0
for epoch in range(2):
    for inputs, labels in loader:
        optimizer.zero_grad()
        loss = criterion(model(inputs), labels)
        loss.backward()
        optimizer.step()
        steps += 1
last = loss.item()
del loader, train, optimizer, model, criterion, inputs, labels, loss
gc.collect()
print(json.dumps({"results": [steps, last], "before": before, "after": anonymous()}))

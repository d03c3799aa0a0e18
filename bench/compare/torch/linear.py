"""Linear regression on 100 random samples, the program that Ebb's side runs too."""
import gc
import json

import torch
import torch.nn as nn
import torch.optim as optim
from torch.utils.data import DataLoader, TensorDataset


class SimpleModel(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(10, 1)

    def forward(self, x):
        return self.fc(x)


torch.manual_seed(0)
model = SimpleModel()
dataset = TensorDataset(torch.randn(100, 10), torch.randn(100, 1))
loader = DataLoader(dataset, batch_size=10)
optimizer = optim.SGD(model.parameters(), lr=0.01)
criterion = nn.MSELoss()
steps = 0
for epoch in range(10):
    for inputs, targets in loader:
        optimizer.zero_grad()
        loss = criterion(model(inputs), targets)
        loss.backward()
        optimizer.step()
        steps += 1
last = loss.item()
del model, dataset, loader, optimizer, inputs, targets, loss
gc.collect()
print(json.dumps({"results": [steps, last]}))

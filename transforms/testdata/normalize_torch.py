"""Writes normalize_torch.json: what ToTensor and Normalize, as torchvision has
them, make of every byte, by the bits of the float32.
Run: python3 normalize_torch.py
"""
import json

import numpy as np
import torch

bytes_ = torch.arange(256, dtype=torch.uint8)
cases = []
for mean, std in [([], []), ([0.1307], [0.3081]), ([0.485, 0.456, 0.406], [0.229, 0.224, 0.225])]:
    x = bytes_.to(torch.float32).div(255).expand(max(1, len(mean)), 256).clone()
    if mean:
        m = torch.as_tensor(mean, dtype=x.dtype).view(-1, 1)
        s = torch.as_tensor(std, dtype=x.dtype).view(-1, 1)
        x.sub_(m).div_(s)
    cases.append({"mean": mean, "std": std, "bits": x.numpy().view(np.uint32).tolist()})
with open("normalize_torch.json", "w") as f:
    json.dump({"torch": torch.__version__, "cases": cases}, f)

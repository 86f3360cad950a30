"""Loads what `flor export RUN@EPOCH model.pt` wrote."""
import sys

import torch

for name, tensor in torch.load(sys.argv[1]).items():
    mean = f"mean {tensor.double().mean().item():.6g}" if tensor.numel() else "empty"
    print(name, list(tensor.shape), tensor.dtype, mean)

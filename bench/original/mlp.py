"""examples/linear in Python: a network that learns to read digits. Flags: see training.py."""
import gzip
import os

import torch
from torch import nn
from torch.nn import functional
from torch.utils.data import BatchSampler, DataLoader, RandomSampler, TensorDataset

import training


def read_idx(name, header):
    with gzip.open(os.path.join(training.option("--data"), name + ".gz")) as file:
        content = bytearray(file.read())
    return torch.frombuffer(content, dtype=torch.uint8)[header:]


def load():
    """Images and labels of the t10k files; the last sixth is for the test."""
    labels = read_idx("t10k-labels-idx1-ubyte", 8).to(torch.long)
    images = read_idx("t10k-images-idx3-ubyte", 16).view(-1, 1, 28, 28).to(torch.float) / 255
    count = len(labels) - len(labels) // 6
    return images[:count], labels[:count], images[count:], labels[count:]


args = training.arguments(epochs=8, hidden=512, batch=64, lr=1e-3, seed=1)
images, labels, test_images, test_labels = load()
torch.manual_seed(args["seed"])
hidden = args["hidden"]
net = nn.Sequential(
    nn.Flatten(), nn.Linear(28 * 28, hidden), nn.ReLU(), nn.Dropout(0.2),
    nn.Linear(hidden, hidden), nn.ReLU(), nn.Dropout(0.2), nn.Linear(hidden, 10))
optimizer = torch.optim.Adam(net.parameters(), lr=args["lr"])
train = TensorDataset(images, labels)
# Takes whole batches from the data at once, as the C++ program does.
loader = DataLoader(train, sampler=BatchSampler(RandomSampler(train), args["batch"], False),
                    batch_size=None)
training.checkpoints(net, optimizer)

for epoch in training.loop("epoch", range(args["epochs"])):
    losses = []
    net.train()
    for data, target in training.loop("train", loader):
        optimizer.zero_grad()
        loss = functional.cross_entropy(net(data), target)
        loss.backward()
        optimizer.step()
        losses.append(training.log("loss", loss.item()))
    net.eval()
    with torch.no_grad():
        correct = (net(test_images).argmax(1) == test_labels).to(torch.float).mean().item()
    training.log("accuracy", correct)
    training.report(epoch, net, optimizer, losses, {"accuracy": correct})

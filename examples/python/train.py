"""Learns which of three spirals a point lies on; recorded with `python3 train.py --flor spirals`."""
import math

import torch

import flor

flor.init()
torch.manual_seed(flor.arg("seed", 1))


def spirals(count):
    """Points of three spirals with some noise, and which of the three each belongs to."""
    labels = torch.arange(count) % 3
    radius = torch.rand(count)
    angle = 4 * radius + labels * 2 * math.pi / 3 + 0.1 * torch.randn(count)
    return torch.stack([radius * angle.cos(), radius * angle.sin()], 1), labels


def evaluate(net, points, labels):
    net.eval()
    with torch.no_grad():
        right = (net(points).argmax(1) == labels).float().mean()
    net.train()
    return right.item()


train_set = torch.utils.data.TensorDataset(*spirals(600))
test_points, test_labels = spirals(300)
loader = torch.utils.data.DataLoader(train_set, batch_size=30, shuffle=True, num_workers=flor.arg("workers", 0))
net = torch.nn.Sequential(torch.nn.Linear(2, 64), torch.nn.ReLU(), torch.nn.Dropout(0.1), torch.nn.Linear(64, 3))
optimizer = torch.optim.Adam(net.parameters(), lr=flor.arg("lr", 0.01))
scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=4, gamma=0.5)
flor.checkpoints(net, optimizer, scheduler)

for epoch in flor.loop("epoch", flor.arg("epochs", 8)):
    total = 0.0
    for points, labels in flor.loop("train", loader, attached="total"):
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(net(points), labels)
        loss.backward()
        optimizer.step()
        total += loss.item()
    scheduler.step()
    flor.log("loss", total / len(loader))
    flor.log("accuracy", evaluate(net, test_points, test_labels))

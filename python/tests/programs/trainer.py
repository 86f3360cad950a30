"""A small training with all that makes one hard to repeat: a shuffled DataLoader with workers, dropout, a schedule,
augmentation by NumPy and `random`, a running sum, early stopping."""

import random
import sys

import numpy
import torch

import flor

session = flor.init()
seed = flor.arg("seed", 5)
torch.manual_seed(seed)
numpy.random.seed(seed)
random.seed(seed)
epochs = flor.arg("epochs", 4)
torch.set_num_threads(1)
torch.use_deterministic_algorithms(True)


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first = torch.nn.Linear(8, 16)
        self.norm = torch.nn.BatchNorm1d(16)
        self.drop = torch.nn.Dropout(0.3)
        self.last = torch.nn.Linear(16, 3)
        self.calls = 0

    def forward(self, x):
        self.calls += 1
        return self.last(self.drop(torch.relu(self.norm(self.first(x)))))


class Samples(torch.utils.data.Dataset):
    def __init__(self, count):
        generator = torch.Generator().manual_seed(1)
        self.inputs = torch.randn(count, 8, generator=generator)
        self.labels = torch.randint(0, 3, (count,), generator=generator)

    def __len__(self):
        return len(self.inputs)

    def __getitem__(self, index):
        noise = numpy.random.randn(8).astype("float32") * 0.1 + random.random() * 0.01
        return self.inputs[index] + torch.from_numpy(noise), self.labels[index]


def evaluate(net, samples):
    net.eval()
    with torch.no_grad():
        right = (net(samples.inputs).argmax(1) == samples.labels).sum()
    net.train()
    return right.item() / len(samples)


net = Net()
optimizers = {"adam": lambda: torch.optim.Adam(net.parameters(), lr=0.01),
              "sgd": lambda: torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9),
              "lbfgs": lambda: torch.optim.LBFGS(net.parameters(), lr=0.1, max_iter=2)}
optimizer = optimizers[flor.arg("optimizer", "adam")]()
schedulers = {"step": lambda: torch.optim.lr_scheduler.StepLR(optimizer, 2, 0.5),
              "cosine": lambda: torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 5),
              "plateau": lambda: torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, patience=0)}
kind = flor.arg("scheduler", "step")
scheduler = schedulers[kind]()
loader = torch.utils.data.DataLoader(Samples(48), batch_size=16, shuffle=True, num_workers=flor.arg("workers", 0))
held_out = Samples(40)
history = []
flor.checkpoints(net, optimizer, scheduler, history=history)

for epoch in flor.loop("epoch", epochs):
    total = 0.0
    for inputs, labels in flor.loop("train", loader, attached="total"):
        def closure():
            optimizer.zero_grad()
            loss = torch.nn.functional.cross_entropy(net(inputs), labels)
            loss.backward()
            return loss
        loss = optimizer.step(closure)
        total += loss.item()
        flor.log("loss", loss)
        # inside
    history.append(total + random.gauss(0, 1) + numpy.random.rand())
    if kind == "plateau":
        scheduler.step(total)
    else:
        scheduler.step()
    flor.log("mean", total / len(loader))
    flor.log("accuracy", evaluate(net, held_out))
    # outside
flor.log("history", history)
# after
print("weights", sum(p.double().abs().sum().item() for p in net.parameters()).hex(), net.calls)

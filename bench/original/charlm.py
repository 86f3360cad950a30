"""examples/charlm in Python: a small transformer that learns to write. Flags: see training.py."""
import torch
from torch import nn
from torch.nn import functional

import training

CONTEXT, BYTES = 64, 256


class CharModel(nn.Module):
    def __init__(self, width, layers):
        super().__init__()
        self.embedding = nn.Embedding(BYTES, width)
        self.position = nn.Parameter(0.02 * torch.randn(CONTEXT, 1, width))
        layer = nn.TransformerEncoderLayer(width, 4, dim_feedforward=4 * width)
        self.encoder = nn.TransformerEncoder(layer, layers)
        self.head = nn.Linear(width, BYTES)

    def forward(self, text):
        time = text.size(0)
        mask = nn.Transformer.generate_square_subsequent_mask(time)
        return self.head(self.encoder(self.embedding(text) + self.position[:time], mask))


def random_windows(text, batch):
    start = torch.randint(len(text) - CONTEXT, (batch,))
    return text[start + torch.arange(CONTEXT + 1).unsqueeze(1)]


def loss_of(model, windows):
    scores = model(windows[:CONTEXT])
    return functional.cross_entropy(scores.reshape(-1, BYTES), windows[1:].reshape(-1))


def sample(model, length):
    """What the model writes after a line break."""
    text = torch.full((1, 1), ord("\n"))
    for _ in range(length):
        scores = model(text[-CONTEXT:])[-1][0]
        text = torch.cat([text, torch.multinomial(scores.softmax(0), 1).unsqueeze(1)])
    return bytes(text[1:, 0].tolist()).decode("latin-1")


args = training.arguments(epochs=5, steps=80, batch=16, width=64, layers=2, lr=2e-3, seed=1)
with open(training.option("--data"), "rb") as file:
    text = torch.frombuffer(bytearray(file.read()), dtype=torch.uint8).to(torch.long)
held_out = len(text) // 10
train, validation = text[:-held_out], text[-held_out:]
torch.manual_seed(args["seed"])
model = CharModel(args["width"], args["layers"])
optimizer = torch.optim.AdamW(model.parameters(), lr=args["lr"])
training.checkpoints(model, optimizer)

for epoch in training.loop("epoch", range(args["epochs"])):
    losses = []
    model.train()
    for _ in training.loop("train", range(args["steps"])):
        optimizer.zero_grad()
        loss = loss_of(model, random_windows(train, args["batch"]))
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        losses.append(training.log("loss", loss.item()))
    model.eval()
    with torch.no_grad():
        value = loss_of(model, random_windows(validation, 64)).item()
        written = sample(model, 80)
    training.log("validation_loss", value)
    training.log("sample", written)
    training.report(epoch, model, optimizer, losses,
                    {"validation_loss": value, "sample": written})

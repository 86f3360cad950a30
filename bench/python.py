"""Prints the figures of docs/performance.md that are about Python: `python3 bench/python.py`, with the module and the
command `flor` at hand (PYTHONPATH, PATH). Records into a home of its own."""

import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

MEASURE = """
import time, torch, flor
flor.init()
count, tensor = 1000000, torch.tensor(0.5)
def nanoseconds(body, count):
    began = time.perf_counter()
    body()
    return (time.perf_counter() - began) / count * 1e9
def logs():
    for step in range(count): flor.log("loss", 0.5)
def tensors():
    for step in range(count // 10): flor.log("tensor", tensor)
def plain():
    for step in range(count): pass
def wrapped():
    for step in flor.loop("steps", count): pass
for epoch in flor.loop("epoch", 2):
    print(*(round(one) for one in (nanoseconds(logs, count), nanoseconds(tensors, count // 10),
                                   nanoseconds(wrapped, count) - nanoseconds(plain, count))))
"""
STALL = """
import time, torch, flor
flor.init()
torch.set_num_threads(1)
net = torch.nn.Sequential(*(torch.nn.Linear(1024, 1024) for _ in range(6)))
optimizer = torch.optim.Adam(net.parameters())
flor.checkpoints(net, optimizer)
copy = None
for epoch in flor.loop("epoch", 6):
    optimizer.zero_grad()
    net(torch.randn(8, 1024)).sum().backward()
    optimizer.step()
    tensors = [*net.parameters(), *(p.grad for p in net.parameters()),
               *(t for s in optimizer.state.values() for t in s.values() if t.numel() > 1)]
    if copy is None:
        copy = [t.detach().clone() for t in tensors]
    time.sleep(2)
    began = time.perf_counter()
    with torch.no_grad():
        for a, b in zip(copy, tensors): a.copy_(b)
    memcpy = time.perf_counter() - began
    began = time.perf_counter()
    for once in flor.loop("inner", 1):
        pass
    stall = time.perf_counter() - began
    print(round(memcpy * 1e3, 1), round(stall * 1e3, 1), round(stall / memcpy, 2))
"""
IMPORT = "import time, torch; t = time.perf_counter(); import flor; flor.init(); print((time.perf_counter() - t) * 1e3)"


def run(text, home, *words):
    with tempfile.NamedTemporaryFile("w", suffix=".py", dir=home) as script:
        script.write(text)
        script.flush()
        environment = dict(os.environ, FLOR_HOME=str(home / "home"), OMP_WAIT_POLICY="passive", GOMP_SPINCOUNT="0")
        done = subprocess.run([sys.executable, script.name, *words], env=environment, stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL, text=True, check=True, cwd=home)
    return [[float(word) for word in line.split()] for line in done.stdout.splitlines()]


def main():
    with tempfile.TemporaryDirectory() as directory:
        home = pathlib.Path(directory)
        record = ("--flor", "bench", "--flor_no_git")
        for name, words in (("off", ()), ("recording", record)):
            logged, tensor, step = run(MEASURE, home, *words)[-1]
            print(f"{name}: log {logged:.0f} ns, of a tensor {tensor:.0f} ns, wrapped step {step:.0f} ns more than a plain one")
        times = [run(IMPORT, home)[0][0] for _ in range(5)]
        print(f"import flor and flor.init() beside torch's: {statistics.median(times):.1f} ms")
        rows = run(STALL, home, *record, "--flor_every", "1")[1:]
        print("stall / memcpy at the end of a nested loop:", *(f"{row[2]:.2f}" for row in rows),
              f"(memcpy {statistics.median(row[0] for row in rows):.0f} ms)")


main()

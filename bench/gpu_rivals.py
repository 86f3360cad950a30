"""What checkpoints cost beside Flor's: torch.save, torch.distributed.checkpoint.async_save with pinned
memory, Orbax's AsyncCheckpointer; each where it is installed. The same training, and the same
reckoning, as bench/gpu_stall.cpp: of four epochs one is stored."""

import contextlib
import os
import shutil
import sys
import tempfile
import time
from statistics import median

WIDTH, LAYERS, BATCH, EPOCHS, STEPS = 4096, 5, 2048, 25, 40


def report(name, bytes_, unit, times):
    lost = [
        a + b - c - d
        for a, b, c, d in zip(times[3], times[0], times[1], times[2])
    ]
    print(
        f"{name:<34} state {bytes_ / 1e9:.2f} GB, one copy {unit:.1f} ms, epoch {median(times[1]):.1f} ms, "
        f"lost {median(lost):.1f} ms = {median(lost) / unit:.3f} copies",
        flush=True,
    )


def measure(train_epoch, wait, save, finish):
    """Milliseconds of epochs by their place among four."""
    times = {0: [], 1: [], 2: [], 3: []}
    wait()
    began = time.perf_counter()
    for epoch in range(EPOCHS):
        train_epoch()
        if epoch % 4 == 3:
            save(epoch)
        wait()
        took = (time.perf_counter() - began) * 1e3
        if epoch >= 7:
            times[epoch % 4].append(took)
        if epoch % 4 == 2:
            finish()
        began = time.perf_counter()
    finish()
    return times


def with_torch():
    import torch

    device = "cuda" if torch.cuda.is_available() else "cpu"
    width = WIDTH if device == "cuda" else 512
    wait = torch.cuda.synchronize if device == "cuda" else lambda: None
    torch.manual_seed(1)
    layers = []
    for i in range(LAYERS):
        layers += ([torch.nn.Tanh()] if i else []) + [torch.nn.Linear(width, width, bias=False)]
    net = torch.nn.Sequential(*layers).to(device)
    optimizer = torch.optim.Adam(net.parameters(), lr=1e-5, foreach=False)
    batch = torch.randn(BATCH, width, device=device)

    def train_epoch():
        for _ in range(STEPS):
            optimizer.zero_grad()
            torch.nn.functional.mse_loss(net(batch), batch).backward()
            optimizer.step()

    def state():
        return {"net": net.state_dict(), "optimizer": optimizer.state_dict()}

    train_epoch()
    tensors = list(net.parameters()) + [
        t for s in optimizer.state.values() for t in s.values() if t.dim() > 0
    ]
    bytes_ = sum(t.nbytes for t in tensors)
    pinned = [torch.empty(t.shape, pin_memory=device == "cuda") for t in tensors]
    units = []
    for _ in range(5):
        wait()
        began = time.perf_counter()
        for to, tensor in zip(pinned, tensors):
            to.copy_(tensor.detach(), non_blocking=True)
        wait()
        units.append((time.perf_counter() - began) * 1e3)
    unit = median(units)
    del pinned
    place = tempfile.mkdtemp()

    def save(epoch):
        torch.save(state(), f"{place}/{epoch}.pt")

    report("torch.save", bytes_, unit, measure(train_epoch, wait, save, lambda: None))
    shutil.rmtree(place)

    import torch.distributed as dist
    import torch.distributed.checkpoint as dcp

    place = tempfile.mkdtemp()
    os.environ.setdefault("MASTER_ADDR", "127.0.0.1")
    os.environ.setdefault("MASTER_PORT", "29531")
    dist.init_process_group("cpu:gloo,cuda:nccl" if device == "cuda" else "gloo", rank=0, world_size=1)
    pending = []

    def finish():
        while pending:
            pending.pop().result()

    def stagers():
        from torch.distributed.checkpoint.staging import BlockingAsyncStager

        yield "DCP async_save, pinned", BlockingAsyncStager(cache_staged_state_dict=True), {}
        with contextlib.suppress(ImportError, TypeError):
            from torch.distributed.checkpoint.staging import DefaultStager, StagingOptions

            yield "DCP async_save, async staging", DefaultStager(
                StagingOptions(use_pinned_memory=True, use_shared_memory=False, use_async_staging=True,
                               use_non_blocking_copy=True)), {}

    for name, stager, options in stagers():
        def save_dcp(epoch, stager=stager, options=options):
            finish()
            result = dcp.async_save(state(), checkpoint_id=f"{place}/{epoch}", async_stager=stager, **options)
            if hasattr(result, "upload_completion"):
                pending.append(result.upload_completion)
                # As PyTorch's own trainer does: the next update waits until the state is staged.
                result.staging_completion.result()
            else:
                pending.append(result)

        try:
            report(name, bytes_, unit, measure(train_epoch, wait, save_dcp, finish))
        except Exception as error:  # a version with another interface
            print(f"{name}: {type(error).__name__}: {str(error).splitlines()[0]}")
    dist.destroy_process_group()
    shutil.rmtree(place)


def with_orbax():
    os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
    import jax
    import jax.numpy as jnp
    import orbax.checkpoint as ocp

    gpu = jax.default_backend() == "gpu"
    width = WIDTH if gpu else 512
    keys = jax.random.split(jax.random.PRNGKey(1), LAYERS)
    weights = [jax.random.normal(k, (width, width)) * 0.01 for k in keys]
    zeros = [jnp.zeros_like(w) for w in weights]
    held = {"state": (weights, zeros, [jnp.zeros_like(w) for w in weights])}
    batch = jax.random.normal(keys[0], (BATCH, width))

    def loss(ws):
        x = batch
        for i, w in enumerate(ws):
            x = (jnp.tanh(x) if i else x) @ w
        return ((x - batch) ** 2).mean()

    @jax.jit
    def step(ws, ms, vs):
        gs = jax.grad(loss)(ws)
        ms = [0.9 * m + 0.1 * g for m, g in zip(ms, gs)]
        vs = [0.999 * v + 0.001 * g * g for v, g in zip(vs, gs)]
        return [w - 1e-5 * m / (jnp.sqrt(v) + 1e-8) for w, m, v in zip(ws, ms, vs)], ms, vs

    def train_epoch():
        for _ in range(STEPS):
            held["state"] = step(*held["state"])

    def wait():
        jax.block_until_ready(held["state"])

    train_epoch()
    wait()
    flat = [x for group in held["state"] for x in group]
    bytes_ = sum(x.nbytes for x in flat)
    began = time.perf_counter()
    for x in flat:
        x.copy_to_host_async()
    jax.device_get(flat)
    unit = (time.perf_counter() - began) * 1e3
    place = tempfile.mkdtemp()
    checkpointer = ocp.AsyncCheckpointer(ocp.PyTreeCheckpointHandler())

    def save(epoch):
        ws, ms, vs = held["state"]
        checkpointer.save(f"{place}/{epoch}", {"w": ws, "m": ms, "v": vs})

    report("Orbax AsyncCheckpointer", bytes_, unit,
           measure(train_epoch, wait, save, checkpointer.wait_until_finished))
    checkpointer.close()
    shutil.rmtree(place)


for part in (with_torch, with_orbax):
    try:
        part()
    except ImportError as error:
        print(f"{part.__name__}: {error}", file=sys.stderr)

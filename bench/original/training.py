"""What both programs need: their flags, the original's loops where it takes part, a line an epoch.

    mlp.py --data DIR --plain                       without the original, which is not even imported
    mlp.py --data DIR --flor NAME                   recorded by it
    mlp.py --data DIR --replay_flor [I/N]           replayed by it: I counts from 1

and behind these `--rng` (torch's generator is registered as one more object) and, last,
`--kwargs NAME=VALUE ...` with the names of the C++ example.
"""
import hashlib
import json
import sys
import time

import torch

PLAIN = "--plain" in sys.argv
if not PLAIN:
    import flor  # takes its flags out of sys.argv
    from flor import MTK

torch.set_num_threads(1)


def option(name):
    return sys.argv[sys.argv.index(name) + 1]


def arguments(**defaults):
    """The defaults, and what --kwargs says instead; each keeps the type of its default."""
    words = sys.argv[sys.argv.index("--kwargs") + 1 :] if "--kwargs" in sys.argv else []
    for word in words:
        name, value = word.split("=")
        defaults[name] = type(defaults[name])(value)
    return defaults


class Generator:
    """Torch's random generator as something that can be saved and loaded."""

    def state_dict(self):
        return {"state": torch.get_rng_state()}

    def load_state_dict(self, state):
        torch.set_rng_state(state["state"])


def checkpoints(*objects):
    if "--rng" in sys.argv:
        objects += (Generator(),)
    if not PLAIN:
        MTK.checkpoints(*objects)


def loop(name, values):
    return values if PLAIN else MTK.loop(values, name=name)


def log(name, value):
    return value if PLAIN else flor.log(name, value)


def state_bytes(model, optimizer):
    """Bytes of the weights and of what the optimizer keeps for each."""
    tensors = list(model.state_dict().values())
    for state in optimizer.state.values():
        tensors += [value for value in state.values() if torch.is_tensor(value)]
    return sum(tensor.numel() * tensor.element_size() for tensor in tensors)


def report(epoch, model, optimizer, losses, values):
    """One line of JSON: every bit of what was logged, and a digest of the weights."""
    began = time.time()
    digest = hashlib.sha1()
    for tensor in model.state_dict().values():
        digest.update(tensor.contiguous().numpy().tobytes())
    line = {
        "epoch": epoch,
        "weights": digest.hexdigest(),
        "losses": [value.hex() for value in losses],
        "values": {k: v.hex() if isinstance(v, float) else v for k, v in values.items()},
        "state_bytes": state_bytes(model, optimizer),
    }
    line["checking"] = time.time() - began
    print(json.dumps(line), flush=True)

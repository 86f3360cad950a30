"""State of the process that every checkpoint holds unasked: the random generators of torch, of its CUDA devices, of
NumPy and of `random`, of those modules that the program has loaded; and the facts that results depend on."""

import marshal
import os
import platform
import sys

from . import _graph, _memory


def _random():
    return sys.modules.get("random")


def _numpy_generator():
    numpy = _memory.numpy()
    module = sys.modules.get("numpy.random")
    return module.mtrand._rand if numpy is not None and module is not None else None


def _cuda_devices():
    torch = _memory.torch()
    if torch is None or not torch.cuda.is_available() or not torch.cuda.is_initialized():
        return []
    current = torch.cuda.current_device()
    return [i for i in range(torch.cuda.device_count()) if i == current or torch.cuda.memory_reserved(i) > 0]


class _Slot:
    """The generators, each a piece of its own."""

    name = kind = "rng"

    def __init__(self):
        self.recorded = None  # names in the checkpoint restored last; libraries loaded since then add none

    def save(self, writer):
        torch = _memory.torch()
        if torch is not None:
            self.write(writer, "cpu", torch.get_rng_state().numpy().tobytes)
            for device in _cuda_devices():
                self.write(writer, f"cuda{device}", torch.cuda.get_rng_state(device).numpy().tobytes)
        if _numpy_generator() is not None:
            self.write(writer, "numpy", lambda: _graph.generator_state(_numpy_generator()))
        if _random() is not None:
            self.write(writer, "python", lambda: marshal.dumps(_random().getstate(), 2))

    def write(self, writer, name, state):
        if self.recorded is None or name in self.recorded:
            writer.bytes(name, state())

    def load(self, reader):
        torch = _memory.torch()
        names = ["cpu", "numpy", "python", *(f"cuda{i}" for i in range(16))]
        self.recorded = {name for name in names if reader.has(name)}
        if torch is not None and "cpu" in self.recorded:
            torch.set_rng_state(_bytes_tensor(reader.bytes("cpu")))
        for name in self.recorded:
            if name.startswith("cuda") and torch is not None and torch.cuda.is_available():
                torch.cuda.set_rng_state(_bytes_tensor(reader.bytes(name)), int(name[4:]))
        if _numpy_generator() is not None and "numpy" in self.recorded:
            _graph.set_generator_state(_numpy_generator(), reader.bytes("numpy"))
        if _random() is not None and "python" in self.recorded:
            _random().setstate(marshal.loads(reader.bytes("python")))


slot = _Slot()


def _bytes_tensor(content):
    torch = _memory.torch()
    return torch.frombuffer(bytearray(content), dtype=torch.uint8)


def threads():
    torch = _memory.torch()
    return torch.get_num_threads() if torch is not None else 1


def set_threads(count):
    torch = _memory.torch()
    if torch is not None:
        torch.set_num_threads(count)


_VARIABLES = ("OMP_NUM_THREADS", "OMP_DYNAMIC", "MKL_NUM_THREADS", "MKL_CBWR", "OPENBLAS_NUM_THREADS",
              "OPENBLAS_CORETYPE", "ATEN_CPU_CAPABILITY", "DNNL_MAX_CPU_ISA", "CUBLAS_WORKSPACE_CONFIG",
              "NVIDIA_TF32_OVERRIDE", "PYTHONHASHSEED")


def environment():
    facts = {"python": platform.python_version()}
    facts.update({name: os.environ[name] for name in _VARIABLES if name in os.environ})
    numpy, torch = _memory.numpy(), _memory.torch()
    if numpy is not None:
        facts["numpy"] = numpy.__version__
    if torch is not None:
        facts["libtorch"] = str(torch.__version__)
        facts["deterministic algorithms"] = "on" if torch.are_deterministic_algorithms_enabled() else "off"
        for line in torch.__config__.show().splitlines():
            if "CPU capability usage: " in line:
                facts["cpu capability"] = line.partition(": ")[2].strip()
        if torch.cuda.is_available():
            facts["cuda"] = str(torch.version.cuda)
            for i in range(torch.cuda.device_count()):
                facts[f"cuda{i}"] = torch.cuda.get_device_name(i)
            facts["tf32"] = "/".join("on" if flag else "off" for flag in (
                torch.backends.cuda.matmul.allow_tf32, torch.backends.cudnn.allow_tf32))
    return facts


def generators():
    """"cpu seed 5, numpy state 00ff...": of a generator that was only seeded, the seed says all."""
    parts = []
    torch = _memory.torch()
    if torch is not None:
        seed = torch.initial_seed()
        fresh = torch.Generator().manual_seed(seed).get_state()
        same = torch.equal(fresh, torch.get_rng_state())
        parts.append(f"cpu seed {seed}" if same else f"cpu state {torch.get_rng_state().numpy().tobytes().hex()}")
        for device in _cuda_devices():
            parts.append(f"cuda{device} state {torch.cuda.get_rng_state(device).numpy().tobytes().hex()}")
    if _numpy_generator() is not None:
        parts.append(f"numpy state {_graph.generator_state(_numpy_generator()).hex()}")
    if _random() is not None:
        parts.append(f"python state {marshal.dumps(_random().getstate(), 2).hex()}")
    return ", ".join(parts)


def set_generators(text):
    """The reverse. Libraries that are not loaded have nothing to draw from."""
    torch = _memory.torch()
    for part in text.split(", ") if text else ():
        device, kind, value = part.split(" ")
        content = b"" if kind == "seed" else bytes.fromhex(value)
        if device == "cpu" and torch is not None:
            state = torch.Generator().manual_seed(int(value)).get_state() if kind == "seed" else _bytes_tensor(content)
            torch.set_rng_state(state)
        elif device == "numpy" and _numpy_generator() is not None:
            _graph.set_generator_state(_numpy_generator(), content)
        elif device == "python" and _random() is not None:
            _random().setstate(marshal.loads(content))
        elif device.startswith("cuda") and torch is not None and torch.cuda.is_available():
            torch.cuda.set_rng_state(_bytes_tensor(content), int(device[4:]))

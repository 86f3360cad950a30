"""flor.pinned: what a program learns from outside, which a replay is told as the recording was."""

import builtins
import json
from typing import Any, Callable, Tuple, TypeVar

from . import _engine, _memory

Value = TypeVar("Value")
_THREW = "flor:threw"
_USAGE = "flor::UsageError"


def pinned(name: str, f: Callable[[], Value]) -> Value:
    """What `f` returns: a value that comes from outside the program and is another one at each call, as of a clock, a
    service, the environment, a simulator.

        rate = flor.pinned("rate", lambda: float(requests.get(scheduler).text))

    A recording calls `f` and keeps the value, as `pinned:NAME`, with its place in the loops. A replay returns the
    recorded value of that place and does not call `f`; so does a run that is resumed or forked, up to the point where
    it goes on. Several calls under one name at one place come in their order. Where the record has nothing, as for a
    call that was added since, a replay calls `f`, says so, and holds everything from there on for doubtful. Without a
    session this is `f()`.

    Values: bool, int, float (to the last bit), str, bytes, None, arrays and scalars of NumPy, tensors of torch on the
    CPU, all of any size, and lists and dicts as JSON has them. What is returned is what a replay returns, too: an array
    in the order of C, a dict for any other mapping that JSON takes for one. An exception of `f` is recorded with its message,
    secrets masked, and raised again by a replay, as the nearest built-in class.

    `f` is not called by a replay, so what it changes is not changed then: let it read, and return. What it logs is not
    kept. Raises UsageError outside of the thread of flor.init, in a flor.iteration, in the range of a main loop (whose
    elements a replay steps over), inside another `f`, for a value of another type, and where name and value read like a secret's, which no record may hold (flor.arg masks those)."""
    call = _engine.PinnedCall(name)
    if not call.pins:
        return f()
    recorded = call.recorded()
    if recorded is not None:
        return _given_back(*recorded)
    call.begin()
    try:
        value = f()
    except _engine.UsageError as error:
        call.keep_exception(_USAGE, str(error))
        raise
    except Exception as error:
        call.keep_exception(*_described(error))
        raise
    finally:
        call.end()
    try:
        return _keep(call, name, value)
    except _engine.UsageError as error:
        call.keep_exception(_USAGE, str(error))  # the program may catch it, and a replay is refused the value again
        raise


def _described(error: Exception) -> Tuple[str, str]:
    """The nearest built-in class that can be made of a message, and the message."""
    message = error.args[0] if len(error.args) == 1 and isinstance(error.args[0], str) else str(error)
    for kind in type(error).__mro__:
        if kind.__module__ != "builtins" or not issubclass(kind, Exception):
            continue
        try:
            kind(message)
        except TypeError:  # as UnicodeDecodeError, which takes more than a message
            continue
        return kind.__name__, message.encode("utf-8", "replace").decode()
    return "Exception", message


def _exception(record: Any) -> Exception:
    if record[_THREW] == _USAGE:
        return _engine.UsageError(record.get("message", ""))
    kind = getattr(builtins, str(record[_THREW]), Exception)
    usable = isinstance(kind, type) and issubclass(kind, Exception)
    try:
        return (kind if usable else Exception)(record.get("message", ""))
    except TypeError:
        return Exception(record.get("message", ""))


def _given_back(what: str, value: Any) -> Any:
    if what == "plain":
        return value
    if what == "json":
        decoded = json.loads(value)
        if isinstance(decoded, dict) and _THREW in decoded:
            raise _exception(decoded)
        return decoded
    code, shape, content = value
    if what == "bytes":
        return content
    if what == "torch":
        import torch
        kind = getattr(torch, _memory.name_of(code))
        flat = torch.frombuffer(bytearray(content), dtype=kind) if content else torch.empty(0, dtype=kind)
        return flat.reshape(shape)
    import numpy
    array = numpy.frombuffer(content, dtype=_memory.name_of(code)).copy().reshape(shape)
    return array[()] if what == "scalar" else array


def _refused(name: str, why: str) -> "_engine.UsageError":
    return _engine.UsageError(f'flor.pinned("{name}"): {why}')


def _keep(call: Any, name: str, value: Any) -> Any:
    """Returns the value as a replay returns it."""
    numpy = _memory.numpy()
    if numpy is not None and isinstance(value, numpy.generic):
        _keep_array(call, name, "scalar", numpy.asarray(value))
    elif _memory.is_array(value):
        _refuse_subclass(name, value, numpy.ndarray)
        return _keep_array(call, name, "numpy", value)
    elif _memory.is_tensor(value):
        _refuse_subclass(name, value, _memory.torch().Tensor)
        if value.device.type != "cpu" or value.requires_grad or value.layout is not _memory.torch().strided:
            raise _refused(name, "a tensor is kept if it is dense, on the CPU and without a gradient: "
                                 "return tensor.detach().cpu()")
        value = value.resolve_conj().resolve_neg().contiguous()
        _keep_tensor(call, name, value)
    elif type(value) is bool:
        call.keep_boolean(value)
    elif type(value) is int and -2**63 <= value < 2**63:
        call.keep_integer(value)
    elif type(value) is float:
        call.keep_real(value)
    elif type(value) is str:
        _keep_text(call, name, value)
    elif type(value) is bytes:
        import ctypes
        address = ctypes.cast(ctypes.c_char_p(value), ctypes.c_void_p).value or 0
        call.keep_array("bytes", _memory.element_type("uint8", 1), [len(value)], address, len(value))
    else:
        return _keep_json(call, name, value)
    return value


def _refuse_subclass(name: str, value: Any, kind: type) -> None:
    """What such an object has beside its numbers, as a mask, would be lost."""
    if type(value) is not kind:
        raise _refused(name, f"a {type(value).__name__} is more than its numbers: return a plain {kind.__name__}")


def _keep_text(call: Any, name: str, value: str) -> None:
    try:
        value.encode()
    except UnicodeEncodeError:
        raise _refused(name, "the text has a half of a surrogate pair, which UTF-8 has not: return bytes") from None
    call.keep_text(value)


def _keep_tensor(call: Any, name: str, tensor: Any) -> None:
    code = _code(name, _memory.type_name(tensor), tensor.element_size())
    call.keep_array("torch", code, list(tensor.shape), tensor.data_ptr(), tensor.numel() * tensor.element_size())


def _keep_array(call: Any, name: str, what: str, array: Any) -> Any:
    import numpy
    array = numpy.ascontiguousarray(array).reshape(array.shape)  # which makes one dimension of none
    if not array.dtype.isnative:
        raise _refused(name, "the bytes of the array's numbers are in the other order: return array.astype(...)")
    code = _code(name, array.dtype.name, array.dtype.itemsize)
    call.keep_array(what, code, list(array.shape), array.ctypes.data, array.nbytes)
    return array


def _code(name: str, kind: str, size: int) -> int:
    code = _memory.element_type(kind, size)
    if _memory.name_of(code) != kind:
        raise _refused(name, f"elements of type {kind} are not kept: return numbers, a text or bytes")
    return code


def _keep_json(call: Any, name: str, value: Any) -> Any:
    """A replay gets what the text means, so the program must get the same when it is recorded."""
    try:
        text = json.dumps(value, allow_nan=False)
        given_back = json.loads(text)
        if given_back != value or (isinstance(value, dict) and _THREW in value):
            raise ValueError("JSON gives back something else, as a list for a tuple, or text keys for numbers")
    except (TypeError, ValueError, RecursionError) as error:
        raise _refused(name, f"a {type(value).__name__} is kept as JSON, if that can hold it: {error}") from None
    call.keep_json(text)
    return given_back

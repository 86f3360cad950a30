"""flor.log and its kin: values with a name, kept with their place in the loops."""

import contextlib
import json
import numbers
import re
from typing import Any, Iterable, Iterator, Optional, Sequence, TypeVar

from . import _engine, _memory

Value = TypeVar("Value")
_write = _engine.log
_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+(?=>)")  # another one in each process: a replay would differ


def log(name: str, value: Value) -> Value:
    """Records `value` under `name` at the current place in the loops and returns it, so that an expression can be
    logged where it stands. Numbers, booleans, texts, tensors and arrays of one element; lists and dicts of those as
    JSON. Costs about a microsecond; logged values are written in the background."""
    if not _write(name, value):
        _write_other(name, value)
    return value


def _plain(value: Any) -> Any:
    """A number, text or boolean of Python, or the value as it is."""
    if _memory.is_tensor(value) or _memory.is_array(value):
        return value.item() if (value.numel() if _memory.is_tensor(value) else value.size) == 1 else value
    numpy = _memory.numpy()
    if numpy is not None and isinstance(value, numpy.generic):
        return value.item()
    if isinstance(value, bool) or value is None:
        return value
    if isinstance(value, int):
        return int(value)
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, (float, numbers.Real)):
        return float(value)
    return value


def _json(value: Any) -> Any:
    plain = _plain(value)
    if plain is not value:
        return plain
    return value.tolist() if hasattr(value, "tolist") else _ADDRESS.sub("", str(value))


def _write_other(name: str, value: Any) -> None:
    plain = _plain(value)
    if plain is not value and _write(name, plain):
        return
    if _memory.is_tensor(value) or _memory.is_array(value):
        return _engine.log_refused(name, "it has more than one element: use flor.log_tensor or flor.log_histogram")
    if isinstance(value, (list, tuple, dict)) or value is None:
        try:
            _engine.log_json(name, json.dumps(value, default=_json, allow_nan=False))
        except (TypeError, ValueError, RecursionError) as error:
            _engine.log_refused(name, str(error))
        return
    _engine.log_refused(name, f"a {type(value).__name__} is no number, text or list of those")


@contextlib.contextmanager
def _refusing(name: str) -> Iterator[None]:
    """A value that is not of the kind that is kept is said, and does not end the training."""
    try:
        yield
    except (AttributeError, TypeError, ValueError) as error:
        _engine.log_refused(name, str(error))


def _host(value: Any, dtype: Optional[str] = None) -> Any:
    """The values as an array or tensor on the host, without gaps."""
    if _memory.is_tensor(value):
        tensor = value.detach().resolve_conj().resolve_neg()
        if dtype is not None:
            tensor = tensor.to(getattr(_memory.torch(), dtype))
        return tensor.cpu().contiguous()
    import numpy
    host = numpy.ascontiguousarray(value, dtype=dtype)
    if host.dtype.kind in "OSUV" and not _memory.has_type(host.dtype.name):
        raise TypeError(f"its elements are of type {host.dtype}, which are no numbers")
    return host


def _content(name: str, image: bool, host: Any) -> None:
    if _memory.is_tensor(host):
        code = _memory.element_type(_memory.type_name(host), host.element_size())
        address, size = host.data_ptr(), host.numel() * host.element_size()
    else:
        code = _memory.element_type(host.dtype.name, host.dtype.itemsize)
        address, size = host.ctypes.data, host.nbytes
    _engine.log_content(name, image, code, list(host.shape), address, size)


def log_tensor(name: str, values: Any) -> None:
    """Keeps a whole tensor or array."""
    if not _engine.logging():
        return
    with _refusing(name):
        _content(name, False, _host(values))


def log_image(name: str, pixels: Any) -> None:
    """Keeps a picture: 8 bits a channel, [height, width] or [height, width, channels] with 1, 3 or 4 channels."""
    if not _engine.logging():
        return
    with _refusing(name):
        host = _host(pixels)
        if len(host.shape) == 2:
            host = host.reshape(host.shape[0], host.shape[1], 1)
        _content(name, True, host)


def log_histogram(name: str, values: Any, bins: int = 64) -> None:
    """Keeps the distribution of `values`: `bins` of equal width between the least and the greatest finite value."""
    if not _engine.logging():
        return
    with _refusing(name):
        host = _host(values, "float64").reshape(-1)
        address = host.data_ptr() if _memory.is_tensor(host) else host.ctypes.data
        _engine.log_histogram(name, address, int(host.shape[0]), bins)


def log_table(name: str, rows: Any, columns: Optional[Sequence[str]] = None,
              row_names: Iterable[str] = ()) -> None:
    """Keeps a table of numbers, such as a confusion matrix: rows, a matrix, or a frame of pandas. One with other cells
    can be logged as JSON: `flor.log(name, frame.to_dict("list"))`."""
    if not _engine.logging():
        return
    with _refusing(name):
        if columns is None and hasattr(rows, "columns") and hasattr(rows, "to_numpy"):
            columns, row_names, rows = [str(c) for c in rows.columns], [str(i) for i in rows.index], rows.to_numpy()
        if hasattr(rows, "tolist"):
            rows = rows.tolist()
        cells = [[_number(cell) for cell in row] for row in rows]
        if columns is None:
            columns = [str(i) for i in range(len(cells[0]) if cells else 0)]
        _engine.log_table(name, list(columns), cells, [str(row) for row in row_names])


def _number(cell: Any) -> float:
    try:
        return float(cell)
    except (TypeError, ValueError):
        raise TypeError(f"the cells of a table are numbers, which {cell!r} is not: flor.log keeps other tables, as a "
                        f"dict of lists") from None

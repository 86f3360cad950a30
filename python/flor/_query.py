"""Questions to the store, answered by the command `flor`."""

import json
import os
import pathlib
import shlex
import shutil
import subprocess
import sys
import tempfile
from typing import Any, Dict, List

from . import _engine

_ERRORS = {2: _engine.UsageError, 3: _engine.NotFound, 4: _engine.Damaged, 6: _engine.Busy}


def _command() -> str:
    """The path of the command: of FLOR_COMMAND, of a wheel, else of PATH."""
    beside = pathlib.Path(__file__).with_name("bin") / "flor"
    found = os.environ.get("FLOR_COMMAND") or (str(beside) if beside.exists() else shutil.which("flor"))
    if not found:
        raise _engine.NotFound("the command flor is not on PATH: install it, or name it in FLOR_COMMAND")
    return found


def _ask(*words: str) -> str:
    environment = dict(os.environ, FLOR_HOME=str(_engine.home()))  # the home that --flor_home may have set
    answer = subprocess.run([_command(), *words], env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                            text=True)
    if answer.returncode != 0:
        lines = answer.stderr.strip().splitlines() or [f"flor ended with status {answer.returncode}"]
        line = lines[-1]
        raise _ERRORS.get(answer.returncode, _engine.Error)(line[6:] if line.startswith("flor: ") else line)
    return answer.stdout


def _words(names: Any, options: Dict[str, Any]) -> List[str]:
    words = [str(name) for name in names]
    for name, value in options.items():
        flag = "--" + name.replace("_", "-")
        if value is True:
            words.append(flag)
        elif value is not None and value is not False:
            for one in value if isinstance(value, (list, tuple)) else [value]:
                words += [flag, str(one)]
    return words


_NO_FINITE = ("nan", "inf", "-inf", "infinity", "-infinity")


def query(*names: str, **options: Any) -> Any:
    """The values of that name as a frame of pandas, a row a place: `flor.query("loss", "accuracy", run="digits")`.
    Each loop has a column of its name, the number of the iteration, and `document_value` if its iterations have values.
    Options are those of the command `flor query` without their dashes: `where="lr>0.1"`, `all=True`. Values that a replay
    found carry their verdict in the column of that name. Numbers that are not finite are kept.

    In a recorded session the answer is an input of the run, which `flor show` lists with the runs that its rows came
    from. It is kept with the run: a replay, a resumed or a forked run is given the same rows again, whatever was logged
    or removed since. The run that asks, and other ranks of it, are left out. A question that the record does not have
    is asked of the store as it is now; a replay is doubtful from there on. With a session only for the thread of
    flor.init, and not inside of flor.pinned."""
    import pandas
    return pandas.DataFrame.from_records([_flat(row) for row in _answered(_words(names, options))])


def _answered(words: List[str]) -> List[Dict[str, Any]]:
    call = _engine.QueryCall(shlex.join(words))
    if not call.keeps:
        return json.loads(_ask("query", "--json", *words))["rows"]
    answer = call.recorded()
    if answer is None:
        answer = _asked_and_kept(call, words)
    document = json.loads(answer)
    rows = document["rows"]
    grouped = [key for group in document.get("groups", []) for key in group["runs"]]
    call.entered(answer, len(rows), list(dict.fromkeys(grouped or [row["run"] for row in rows])))
    return rows


def _asked_and_kept(call: Any, words: List[str]) -> str:
    """Also an error, since the program may come past it."""
    without = [word for run in _engine.QueryCall.own_runs for word in ("--without", run)]
    call.begin()
    try:
        answer = _ask("query", "--json", *words, *without)
    except _engine.Error as error:
        call.keep_error(error.status, str(error))
        raise
    finally:
        call.end()
    call.keep(answer)
    return answer


def _flat(row: Dict[str, Any]) -> Dict[str, Any]:
    """A row of the command's answer with a column for each number in it."""
    group, columns, loops, values = (
        {name: float(value) if str(value).lower() in _NO_FINITE else value for name, value in row.pop(part, {}).items()}
        for part in ("group", "columns", "loops", "values"))
    row.pop("inner", None)  # the numbers of deeper loops, which have columns of their own
    plain = {name: value for name, value in row.items() if not isinstance(value, dict)}
    run = _taken(plain, "run", "experiment")
    place = _taken(plain, "runs", "metric", "loop", "epoch", "step", "ordinal")
    end = _taken(plain, "origin", "verdict")
    parts = (group, run, columns, place, loops, values, plain, end)
    flat: Dict[str, Any] = {}
    for part in parts:
        flat.update(part)
    if len(flat) < sum(map(len, parts)):
        twice = next(name for part in parts for name in part if sum(name in other for other in parts) > 1)
        raise _engine.UsageError(f"two columns are called '{twice}': columns=\"arg:{twice}\" names an argument otherwise")
    return flat


def _taken(row: Dict[str, Any], *names: str) -> Dict[str, Any]:
    return {name: row.pop(name) for name in names if name in row}


def load(address: str, *things: Any, **named: Any) -> Any:
    """Puts the state at `RUN@12` into objects, and returns which checkpoint it was:

        flor.load("digits@best:loss:min", net, optimizer)
        flor.load("digits@latest", ema=ema)

    Without objects: the recorded state as a dict from names to tensors (arrays where torch is not loaded),
    `flor.load("digits@12")["model/weight"]`.

    `address` is written as for `flor export`: RUN@12, RUN@NAME, RUN@latest, RUN@best, RUN@best:METRIC:min. Objects have
    the names that `flor.checkpoints` gives them; they may be fewer than were recorded, and need not be registered. The
    run logs what it loaded as `flor.load`, and a replay loads the same content again. Raises NotFound where there is no
    such checkpoint or object, Error where a type or shape differs; the objects are then as before."""
    if things or named:
        from . import _checkpoints, _slots
        slots = [_slots.slot_of(thing) for thing in things]
        slots += [_slots.slot_of(thing, name) for name, thing in named.items()]
        return _checkpoints.described(_engine.load(address, slots))
    with tempfile.TemporaryDirectory(prefix="flor-load-") as directory:
        file = pathlib.Path(directory) / "state.safetensors"
        _engine.load_to_file(address, file)
        return _read_safetensors(file)


_NAMES = {"BOOL": "bool", "U8": "uint8", "I8": "int8", "I16": "int16", "I32": "int32", "I64": "int64",
          "F16": "float16", "BF16": "bfloat16", "F32": "float32", "F64": "float64", "C64": "complex64"}


def _read_safetensors(file: pathlib.Path) -> Dict[str, Any]:
    content = file.read_bytes()
    size = int.from_bytes(content[:8], "little")
    header = json.loads(content[8:8 + size])
    torch = sys.modules.get("torch")
    tensors: Dict[str, Any] = {}
    for name, item in header.items():
        if name == "__metadata__" or name.startswith("@") or name.startswith(".") or "/." in name:
            continue  # an item that Flor adds to checkpoints
        begin, end = item["data_offsets"]
        part = content[8 + size + begin:8 + size + end]
        kind = _NAMES[item["dtype"]]
        if torch is not None:
            made = (torch.frombuffer(bytearray(part), dtype=getattr(torch, kind)) if part
                    else torch.empty(0, dtype=getattr(torch, kind)))
        else:
            import numpy
            made = numpy.frombuffer(part, dtype="u2" if kind == "bfloat16" else kind).copy()
        tensors[name] = made.reshape(item["shape"])
    return tensors


def main() -> None:
    """The command `flor` of a wheel."""
    command = _command()
    os.execv(command, [command, *sys.argv[1:]])

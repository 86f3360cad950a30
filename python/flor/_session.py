"""flor.init and the session it opens; arguments; files of the program."""

import contextlib
import os
import pathlib
import signal
import sys
import threading
from typing import Any, Dict, Iterable, Iterator, List, MutableSequence, Optional, TypeVar, Union, overload

from . import _engine

Argument = TypeVar("Argument", bool, int, float, str)
Place = TypeVar("Place", str, pathlib.Path, "os.PathLike[str]")
_FLAGS = ("--flor", "--replay")
_hosted = False


class Session:
    """One execution of the program, opened by `flor.init`. It ends with the process, or with `finish`."""

    @property
    def mode(self) -> str:
        """"off", "record" or "replay"."""
        return _engine.mode()

    @property
    def run(self) -> str:
        """Key of the run that is recorded or replayed, 16 hexadecimal digits; empty if the session is off."""
        return _engine.run()

    def keep(self, num_to_keep: Optional[int] = None, score: str = "", *, order: str = "max",
             tie: str = "older") -> None:
        """Keeps only the checkpoints of the `num_to_keep` best epochs by the logged value `score` (without one, the
        newest); the best is never deleted, nor the latest while the run can be resumed."""
        if order not in ("max", "min") or tie not in ("older", "newer"):
            raise _engine.UsageError('Session.keep: order is "max" or "min", tie is "older" or "newer"')
        _engine.keep(num_to_keep, score, order == "max", tie == "newer")

    def finish(self) -> None:
        """Ends the session now: everything is durable when this returns."""
        recorded = _engine.mode() == "record"
        _engine.finish()
        in_main = threading.current_thread() is threading.main_thread()
        if recorded and in_main and signal.getsignal(signal.SIGINT) is signal.SIG_DFL:
            _put_back_ctrl_c()

    def __enter__(self) -> "Session":
        return self

    def __exit__(self, *_: Any) -> None:
        pass  # the session ends with the process, whose end shows how the program ended


def _is_flor_flag(word: str) -> bool:
    return word.startswith(_FLAGS)


def _flags(record: Union[str, bool, None], replay: Union[bool, str], resume: Union[bool, str], fork: Optional[str],
           run: Optional[str], every: Optional[int], epsilon: Optional[float], git: bool,
           home: Union[str, os.PathLike, None], probe: Union[str, Iterable[str]], kwargs: Optional[Dict[str, Any]]) -> List[str]:
    words: List[str] = []
    if record:
        words += ["--flor"] if record is True else ["--flor", record]
    if replay:
        words += ["--replay_flor"] if replay is True else ["--replay_flor", replay]
    if resume:
        words += ["--flor_resume"] if resume is True else ["--flor_resume", str(resume)]
    for flag, value in (("--flor_from", fork), ("--flor_run", run), ("--flor_every", every),
                        ("--flor_epsilon", epsilon)):
        if value is not None:
            words += [flag, str(value)]
    for loop in [probe] if isinstance(probe, str) else list(probe):
        words += ["--flor_probe", loop]
    if not git:
        words.append("--flor_no_git")
    if home is not None:
        words += ["--flor_home", os.fspath(home)]
    if kwargs:
        words += ["--kwargs", *(f"{name}={value}" for name, value in kwargs.items())]
    return words


def init(argv: Optional[MutableSequence[str]] = None, *, record: Union[str, bool, None] = None,
         replay: Union[bool, str] = False, resume: Union[bool, str] = False, fork: Optional[str] = None,
         run: Optional[str] = None, every: Optional[int] = None, epsilon: Optional[float] = None, git: bool = True,
         home: Union[str, "os.PathLike[str]", None] = None, probe: Union[str, Iterable[str]] = (),
         kwargs: Optional[Dict[str, Any]] = None) -> Session:
    """Opens the session that Flor's flags ask for, and takes them out of `argv` (by default `sys.argv`): `--flor NAME`
    records, `--replay_flor [PID/NGPUS]` replays; docs/cli.md lists all. Without such a flag the keyword arguments
    count: `flor.init(record="digits")`, `flor.init(replay="1/2")`; `fork="digits@12"` records a new run that begins with
    the state after that epoch. Without either the session is off, and the program is what it would be without Flor.

    To be called once the program's libraries are imported, before it registers state. Where the flags of the command
    line are wrong, or recording cannot start, the program ends with one line that says why (status 2 for usage);
    where keyword arguments are, `flor.Error` is raised."""
    arguments = sys.argv if argv is None else argv
    if _is_helper():
        return Session()
    own = list(arguments[1:])
    before = _host().words_before(list(sys.argv[1:]))
    given = _flags(record, replay, resume, fork, run, every, epsilon, git, home, probe, kwargs)
    by_flag = any(_is_flor_flag(word) for word in own) or not given
    by_flag = by_flag or "FLOR_WORKER_FD" in os.environ  # started by `flor replay`, which passes its orders in flags
    words = [*before, *own] if by_flag else [*before, *given, *own]
    records = any(word.startswith("--flor") for word in words) and not any(word.startswith("--replay") for word in words)
    let = records and _let_flor_see_ctrl_c()
    try:
        rest = _engine.open(words, _host().file)
    except _engine.Error as error:
        if let:
            _put_back_ctrl_c()
        if not by_flag:
            raise
        _host().flush()
        print(f"flor: {error}", file=sys.stderr)
        sys.exit(getattr(error, "status", 1))
    arguments[1:] = rest[len(before):]
    if _engine.active():
        _host().watch_for_failure()
    if let and _engine.mode() != "record":
        _put_back_ctrl_c()
    return Session()


@contextlib.contextmanager
def session(name: str, *, kwargs: Optional[Dict[str, Any]] = None, every: Optional[int] = None,
            epsilon: Optional[float] = None, git: bool = True,
            home: Union[str, "os.PathLike[str]", None] = None) -> Iterator[Session]:
    """Records a run of the experiment `name` without a command line, for a program that does so again and again, as a
    server:

        for request in requests():
            with flor.session("requests", kwargs={"user": request.user}):
                train(request)

    The run ends with the block, and everything is durable then; an exception that leaves the block makes it a failed
    run. One session at a time, and what is registered ends with it. The sources are committed again only where they
    changed. Flor's flags on the command line are not looked at, but for `--replay_flor`. A replay of such a run executes
    the script from its start: the sessions before it are off, and the process ends where that one does. That is of use
    if the script does the same again then, and no server. Raises Error where the recording cannot begin, as while
    another session is open, in whatever thread."""
    if _is_helper():
        yield Session()
        return
    if not name:
        raise _engine.UsageError("flor.session(''): the experiment needs a name")
    own = list(sys.argv[1:])
    before = _host().words_before(own)
    asked = [f"--flor={name}", *_flags(None, False, False, None, None, every, epsilon, git, home, (), None)]
    asked += [f"--kwargs={argument}={value}" for argument, value in (kwargs or {}).items()]
    _engine.open_one([before[0], *asked], [*before, *own], _host().file)
    try:
        yield Session()
    except BaseException as error:
        _engine.fail(f"{type(error).__name__}: {error}".splitlines()[0])
        raise
    _engine.finish()


def _let_flor_see_ctrl_c() -> bool:
    """A recording takes a checkpoint at Ctrl-C, as at SIGTERM. Where there is a prompt, or the program does something of
    its own then, that stays."""
    if hasattr(sys, "ps1") or sys.flags.interactive or "ipykernel" in sys.modules:
        return False
    if threading.current_thread() is not threading.main_thread():
        return False
    if signal.getsignal(signal.SIGINT) is not signal.default_int_handler or _host().mentions(b"KeyboardInterrupt"):
        return False
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    return True


def _put_back_ctrl_c() -> None:
    signal.signal(signal.SIGINT, signal.default_int_handler)


def _is_helper() -> bool:
    """This is a process that `multiprocessing` started anew, such as a worker of a DataLoader: it executes the script
    once more, and is no program of its own, unless it is a rank."""
    module = sys.modules.get("multiprocessing.process")
    started = getattr(module, "parent_process", lambda: None)
    return started() is not None and "RANK" not in os.environ


def _host():
    """Tells the engine, once, what is executed here."""
    global _hosted
    from . import _ambient, _host as host
    if not _hosted:
        _engine.host(host, _ambient)
        _hosted = True
    return host


def mode() -> str:
    """"off", "record" or "replay"."""
    return _engine.mode()


def recording() -> bool:
    return _engine.mode() == "record"


def replaying() -> bool:
    return _engine.mode() == "replay"


def catching_up() -> bool:
    """True while a replay visits iterations only to rebuild the state that the next one starts from."""
    return _engine.catching_up()


def input(path: Place) -> Place:  # noqa: A001
    """The path itself, of a file or directory that the program reads: ``open(flor.input("data/train.csv"))``. Its
    place, size and content (as a digest) become inputs of the run; a replay with other content there is doubtful, and
    names the file. What cannot be read is no input: a line says so."""
    _engine.input(os.fspath(path))
    return path


def output(path: Union[str, "os.PathLike[str]"]) -> pathlib.Path:
    """A path for a file of the program's own, with its directories made; during a replay the same path in a directory
    of that replay, so that the files of the recording stay."""
    return pathlib.Path(_engine.output(os.fspath(path)))


@overload
def arg(name: str) -> str: ...
@overload
def arg(name: str, default: Argument) -> Argument: ...


def arg(name, default=None):
    """A hyper-parameter: the value of `--kwargs name=value`, else `default`; it is recorded, and on replay it is the
    recorded one. Its type is that of `default`; without one it is a text that must be given."""
    if default is not None and not isinstance(default, (bool, int, float, str)):
        raise _engine.UsageError(f"flor.arg('{name}'): the default is a number, a text or a boolean, not a "
                                 f"{type(default).__name__}")
    return _engine.arg(name, default)


def fence() -> None:
    """To be called before the program writes state that was registered with `overlapping=True`."""
    _engine.fence()

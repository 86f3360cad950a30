"""The program as the engine sees it: a script, its interpreter, and the sources that it is made of."""

import hashlib
import os
import sys

from . import _engine


def _script():
    main = sys.modules.get("__main__")
    path = getattr(main, "__file__", None)
    return os.path.abspath(path) if path else os.path.realpath(sys.executable or "/proc/self/exe")


file = _script()
interpreter = os.path.abspath(sys.executable) if sys.executable else os.path.realpath("/proc/self/exe")


def words_before(arguments):
    """The command line up to the script's own arguments: the interpreter, its options and the script."""
    words = list(getattr(sys, "orig_argv", [sys.executable, *sys.argv]))
    return words[:len(words) - len(arguments)] if arguments and words[-len(arguments):] == arguments else (
        words if not arguments else words[:1] + [file])


def root():
    """The directory that the program's sources lie in: that of the repository, else the script's."""
    directory = os.path.dirname(file)
    place = directory
    while not os.path.exists(os.path.join(place, ".git")):
        above = os.path.dirname(place)
        if above == place:
            return directory
        place = above
    return place


def _sources_of_program():
    """Paths and contents of the sources that the program may execute."""
    from ._sources import imports
    for path in imports.files_of_program(file, root()):
        try:
            with open(path, "rb") as source:
                yield path, source.read()
        except OSError:
            continue


def mentions(word):
    """True if some source of the program has the bytes."""
    return any(word in content for _, content in _sources_of_program())


def digest():
    """The digest of the sources that the program may execute."""
    state = hashlib.sha256()
    for path, content in _sources_of_program():
        state.update(f"{os.path.relpath(path, root())} {len(content)}\n".encode(errors="surrogateescape"))
        state.update(content)
    return state.hexdigest()


def analyze(changed, rest, program, nested, main, complete):
    from . import _sources
    return _sources.analyze(changed, rest, program, nested, main, complete)


def carried(name):
    """See _sources/carried.py. Where the sources cannot be read, nothing is known."""
    from ._sources import carried as sources
    try:
        return sources.carried(file, root(), name)
    except (OSError, RecursionError):
        return "", ""


def flush():
    for stream in (sys.stdout, sys.stderr):
        if stream is not None:
            stream.flush()


def watch_for_failure():
    """Lets the run know the exception that ends the program."""
    before = sys.excepthook

    def hook(kind, value, trace):
        text = (str(value).splitlines() or [""])[0]
        if isinstance(value, _engine.Error):
            _engine.note_failure(text, getattr(value, "status", 1))
            print(f"flor: {text}", file=sys.stderr)
            return
        _engine.note_failure(f"{kind.__name__}: {text}" if text else kind.__name__, 1)
        before(kind, value, trace)

    sys.excepthook = hook

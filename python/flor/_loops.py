"""flor.loop, and the locals that are attached to one."""

import sys
from typing import Any, Generic, Iterable, Iterator, List, Optional, Sequence, TypeVar, Union, overload

from . import _engine

Element = TypeVar("Element")


class Attached:
    """Locals that a loop changes, made by `flor.attached`."""

    def __init__(self, things: Sequence[Any], named: Any) -> None:
        self.things = list(things)
        self.named = dict(named)


def attached(*things: Any, **named: Any) -> Attached:
    """Locals that a loop changes (a running loss, a best score), for `flor.loop(..., attached=flor.attached(...))`.

    A text is the name of a variable where `flor.loop` is called: after a restore that variable is bound to the recorded
    value, whatever type it has. Other variables that refer to the same number, text or tuple are not: Python has no
    way to find them. Anything else is an object that is restored in place: a list, a dict, a tensor, a `flor.Cell`,
    an object with attributes; with a keyword it has that name in checkpoints."""
    return Attached(things, named)


class Cell(Generic[Element]):
    """A variable as an object: `total = flor.Cell(0.0)`, `total.value += loss`. For values that several functions
    share, or that are registered with flor.checkpoints."""

    def __init__(self, value: Element) -> None:
        self.value = value

    def __repr__(self) -> str:
        return f"flor.Cell({self.value!r})"


def _slots(given: Any, frame: Any) -> List[Any]:
    from . import _slots
    if not isinstance(given, Attached):
        alone = isinstance(given, str) or not isinstance(given, (list, tuple))
        given = Attached([given] if alone else given, {})
    slots: List[Any] = []
    for thing in given.things:
        if isinstance(thing, Attached):
            slots += _slots_of(thing, frame)
        elif isinstance(thing, str):
            for name in thing.replace(",", " ").split():
                slots.append(_local(name, frame))
        else:
            slots.append(_slots.slot_of(thing))
    slots += [_slots.slot_of(thing, name) for name, thing in given.named.items()]
    return slots


def _slots_of(given: Attached, frame: Any) -> List[Any]:
    return _slots(given, frame)


def _local(name: str, frame: Any) -> Any:
    from . import _slots
    if name not in frame.f_locals:
        raise _engine.UsageError(f"flor.loop(..., attached=\"{name}\"): there is no local variable '{name}' here yet: "
                                 "give it a value before the loop")
    return _slots.LocalSlot(name, frame)


class Loop(Generic[Element]):
    """The range that a `for` iterates, made by `flor.loop`."""

    def __init__(self, name: Optional[str], iterable: Iterable[Element], probed: bool, slots: List[Any], file: str,
                 line: int) -> None:
        self._arguments = (name, iterable, probed, slots, file, line)
        self._is_begun = False

    def __iter__(self) -> Iterator[Element]:
        if self._is_begun:
            raise _engine.Error("a flor.loop was iterated twice: write flor.loop(...) into the for statement")
        self._is_begun = True
        return _engine.LoopIterator(*self._arguments)

    def __len__(self) -> int:
        return len(self._arguments[1])  # type: ignore[arg-type]


@overload
def loop(name: Union[str, None], iterable: int, *, probed: bool = ..., attached: Any = ...) -> Iterable[int]: ...
@overload
def loop(name: Union[str, None], iterable: Iterable[Element], *, probed: bool = ...,
         attached: Any = ...) -> Iterable[Element]: ...
@overload
def loop(name: int, *, probed: bool = ..., attached: Any = ...) -> Iterable[int]: ...
@overload
def loop(name: Iterable[Element], *, probed: bool = ..., attached: Any = ...) -> Iterable[Element]: ...


_NONE = object()


def loop(name, iterable=_NONE, *, probed=False, attached=()):
    """Wraps the range of a `for`:

        for epoch in flor.loop("epoch", epochs):
            for images, labels in flor.loop("train", loader, attached="total"):
                ...

    The outermost wrapped loop is the main loop: its iterations are the epochs that are checkpointed and shared out on
    replay. A loop directly inside it is nested: it is checkpointed when it ends, and on replay replaced by loading
    that checkpoint unless it is `probed`, or the sources have changed so that it has to be executed. Deeper loops only
    give their indices to what is logged in them.

    Elements that are texts, paths or numbers are kept as the values of their iterations, as far as they are not the
    iteration's number: `flor.loop("document", files)` makes `document_value` a column of what is logged in it. A text
    is kept up to 1 KiB, secrets masked.

    `iterable`: anything that can be iterated; a number counts from 0. `attached`: locals that the loop changes, see
    `flor.attached`. Without a session this is the range itself. Loops of other threads than the one that called
    flor.init are plain loops."""
    if iterable is _NONE:
        name, iterable = None, name
    if isinstance(iterable, int):
        iterable = range(iterable)
    elif isinstance(iterable, str):
        raise _engine.UsageError("flor.loop(name, iterable): a name alone is no range")
    if not _engine.active():
        return iterable
    frame = sys._getframe(1)
    slots = _slots(attached, frame) if attached is not None and attached != () else ()
    return Loop(name, iterable, bool(probed), slots, frame.f_code.co_filename, frame.f_lineno)


class iteration:
    """Gives what this thread logs in it a place where there is no loop, as in the handler of a web server, or below the
    loops that it stands in:

        with flor.iteration("document", 3, "a.pdf"):
            flor.log("label", label)

    `name` is a column of what is logged, `index` the number in it, from 0; `value`, a number, a text or a path, is in
    the column `document_value`. Iterations of one name and index are one place, in this block or a later one: give them one
    value. A flor.loop inside it gives its indices and values to what is logged in it, no more: it is not checkpointed,
    and a replay executes it. Any thread; but the block must not be left to other tasks by an `await`. Without a session
    it does nothing. Raises UsageError for a negative index."""

    def __init__(self, name: str, index: int, value: Any = None) -> None:
        self._arguments = (name, index, value)
        self._open: List[Any] = []

    def __enter__(self) -> "iteration":
        self._open.append(_engine.Iteration(*self._arguments))
        return self

    def __exit__(self, *_: Any) -> None:
        self._open.pop().end()

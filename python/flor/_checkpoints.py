"""flor.checkpoints, and checkpoints at moments that the program chooses."""

from typing import Any, Dict, List, Mapping, NamedTuple, Optional, Union

from . import _engine


class Checkpoints:
    """Keeps objects registered until the session ends, or until `drop`."""

    def __init__(self, tickets: List[int]) -> None:
        self._tickets = tickets

    def drop(self) -> None:
        """The objects are no state of the program any more."""
        tickets, self._tickets = self._tickets, []
        _engine.drop_slots(tickets)

    def __enter__(self) -> "Checkpoints":
        return self

    def __exit__(self, *_: Any) -> None:
        self.drop()


def checkpoints(*things: Any, overlapping: bool = False, **named: Any) -> Checkpoints:
    """Registers the state of the training: modules, optimizers, anything with `state_dict` and `load_state_dict`,
    tensors, arrays, lists, dicts, sets, random generators, objects whose class can be pickled. A change that a loop
    makes to state that is not registered is missing when the loop is skipped.

    Objects are known by their order within their kind ("model", "model2", "optimizer"), or by keywords:
    `flor.checkpoints(net=net, ema=ema)`. The random generators of torch, its CUDA devices, NumPy and `random` are
    always included. Numbers and texts cannot be changed in place: keep them in a `flor.Cell`, or attach them to a loop.

    `overlapping`: see docs/checkpoints.md; with Python tensors are copied at once all the same."""
    if not _engine.active():
        _engine.note_early(len(things) + len(named))
        return Checkpoints([])
    from . import _slots
    slots = [_slots.slot_of(thing) for thing in things]
    slots += [_slots.slot_of(thing, name) for name, thing in named.items()]
    return Checkpoints(_engine.add_slots(slots, overlapping))


class Checkpoint(NamedTuple):
    """A stored checkpoint of a run."""

    run: str                #: key of the run
    epoch: int              #: the checkpoint has the state after this epoch; -1 for a saved checkpoint
    name: str               #: name of a saved checkpoint, else empty
    score: Optional[float]  #: by the strategy; None for a checkpoint that was just saved
    address: str            #: "0123456789abcdef@12", as `flor export` and `flor show` take it


def described(found: Any) -> Optional[Checkpoint]:
    """A checkpoint as the engine describes it."""
    return None if found is None else Checkpoint(*found)


def save_checkpoint(name: str = "", *things: Any, objects: Optional[Mapping[str, Any]] = None,
                    **scores: Union[int, float]) -> Optional[Checkpoint]:
    """Takes a checkpoint of all that is registered now, in addition to Flor's own. Named `name`, else s1, s2, ...;
    `scores` are numbers to rank it by. While recording only; a replay compares the state with the recorded one.

    With `things`, or `objects` by their names, of these alone, registered or not:
    `flor.save_checkpoint("deploy", net, objects={"words": vocabulary}, loss=0.1)`. `flor.load` puts them back."""
    numbers: Dict[str, float] = {score: float(value) for score, value in scores.items()}
    if not things and not objects:
        return described(_engine.save_checkpoint(name, numbers, []))
    if not name:
        raise _engine.UsageError("flor.save_checkpoint: a checkpoint of objects of its own needs a name")
    from . import _slots
    slots = [_slots.slot_of(thing) for thing in things]
    slots += [_slots.slot_of(thing, own) for own, thing in (objects or {}).items()]
    return described(_engine.save_checkpoint(name, numbers, slots))


def best_checkpoint() -> Optional[Checkpoint]:
    """The stored checkpoint of this run with the best score by its strategy; see `Session.keep`."""
    return described(_engine.best_checkpoint())


def latest_checkpoint() -> Optional[Checkpoint]:
    """The newest one."""
    return described(_engine.latest_checkpoint())

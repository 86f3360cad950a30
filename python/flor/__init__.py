"""Flor records trainings and answers, afterwards, questions that were not asked: see docs/python.md.

    import flor

    flor.init()                                   # takes --flor NAME, --replay_flor and the like out of sys.argv
    flor.checkpoints(net, optimizer)
    for epoch in flor.loop("epoch", flor.arg("epochs", 8)):
        for images, labels in flor.loop("train", loader):
            ...
        flor.log("accuracy", evaluate(net))
"""

from ._checkpoints import Checkpoint, Checkpoints, best_checkpoint, checkpoints, latest_checkpoint, save_checkpoint
from ._engine import Busy, Damaged, Error, NotFound, UsageError, __version__
from ._log import log, log_histogram, log_image, log_table, log_tensor
from ._loops import Attached, Cell, Loop, attached, iteration, loop
from ._pinned import pinned
from ._query import load, query
from ._session import Session, arg, catching_up, fence, init, input, mode, output, recording, replaying, session

__all__ = [
    "Attached", "Busy", "Cell", "Checkpoint", "Checkpoints", "Damaged", "Error", "Loop", "NotFound", "Session",
    "UsageError", "arg", "attached", "best_checkpoint", "catching_up", "checkpoints", "fence", "init",
    "iteration", "latest_checkpoint", "load", "log", "log_histogram", "log_image", "log_table", "log_tensor",
    "loop", "mode", "output", "pinned", "query", "recording", "replaying", "save_checkpoint", "session", "__version__",
]

"""Reads a store of Flor with nothing but Python's standard library."""
import os
import pathlib
import sqlite3
import struct
import sys

home = pathlib.Path(os.environ.get("FLOR_HOME", pathlib.Path.home() / ".flor"))
# mode=ro: this process can change nothing, and waits for no recording.
catalog = sqlite3.connect(f"{(home / 'catalog.db').as_uri()}?mode=ro", uri=True)
catalog.row_factory = sqlite3.Row


def number(value):
    """SQLite has no NaN: the catalog keeps one as the 8 bytes of the double."""
    return struct.unpack("<d", value)[0] if isinstance(value, bytes) else value


RUNS = """
SELECT run.id, run.key, experiment.name AS experiment, run.epochs
FROM run JOIN experiment ON experiment.id = run.experiment ORDER BY run.id DESC"""
ARGUMENTS = "SELECT name, value FROM argument WHERE run = ? ORDER BY ordinal"
POINTS = """
SELECT epoch, step, value, replay > 0 AS hindsight FROM series JOIN value ON value.series = series.id
WHERE series.run = ? AND series.name = ? AND type <= 2 ORDER BY epoch, step"""

for run in catalog.execute(RUNS):
    arguments = {row["name"]: row["value"] for row in catalog.execute(ARGUMENTS, [run["id"]])}
    print(run["key"][:8], run["experiment"], f"{run['epochs']} epochs", arguments)
    for metric in sys.argv[1:]:
        points = catalog.execute(POINTS, [run["id"], metric]).fetchall()
        if points:
            last = points[-1]
            found = " (hindsight)" if last["hindsight"] else ""
            print(f"  {metric}: {len(points)} values, last {number(last['value']):.6g}{found}")

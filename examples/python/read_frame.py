"""One metric of all runs as a data frame of pandas, a column a run."""
import os
import pathlib
import sqlite3
import struct
import sys

import pandas

home = pathlib.Path(os.environ.get("FLOR_HOME", pathlib.Path.home() / ".flor"))
catalog = sqlite3.connect(f"{(home / 'catalog.db').as_uri()}?mode=ro", uri=True)
values = pandas.read_sql_query(
    """
    SELECT substr(run.key, 1, 8) AS run, value.epoch, value.step, value.value
    FROM run JOIN series ON series.run = run.id JOIN value ON value.series = series.id
    WHERE series.name = ? AND value.type <= 2 ORDER BY run.id, value.epoch, value.step""",
    catalog,
    params=[sys.argv[1]],
)
# A NaN is kept as the 8 bytes of the double, since SQLite has none.
values["value"] = [struct.unpack("<d", v)[0] if isinstance(v, bytes) else v for v in values["value"]]
frame = values.pivot_table(index=["epoch", "step"], columns="run", values="value", sort=False)
print(frame.groupby("epoch").mean().to_string())

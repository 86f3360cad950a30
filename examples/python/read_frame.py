"""One metric of all runs as a data frame of pandas, a column a run."""
import io
import subprocess
import sys

import pandas

metric = sys.argv[1].replace("'", "''")
sql = f"""
    SELECT substr(points.run, 1, 8) AS run, epoch, step, value FROM points JOIN run ON run.key = points.run
    WHERE metric = '{metric}' ORDER BY run.id, epoch, step"""
answer = subprocess.run(["flor", "sql", "--format", "csv", sql], stdout=subprocess.PIPE)
if answer.returncode != 0:
    sys.exit(answer.returncode)  # flor has said why
values = pandas.read_csv(io.BytesIO(answer.stdout))
frame = values.pivot_table(index=["epoch", "step"], columns="run", values="value", sort=False)
print(frame.groupby("epoch").mean().to_string())

"""One metric of all runs as a data frame of pandas, a column a run."""
import subprocess
import sys

import pandas

metric = sys.argv[1].replace("'", "''")
sql = f"""
    SELECT substr(run, 1, 8) AS run, epoch, step, value FROM points
    WHERE metric = '{metric}' ORDER BY run, epoch, step"""
flor = subprocess.Popen(["flor", "sql", "--format", "csv", sql], stdout=subprocess.PIPE)
values = pandas.read_csv(flor.stdout)
if flor.wait() != 0:
    sys.exit(flor.returncode)
frame = values.pivot_table(index=["epoch", "step"], columns="run", values="value", sort=False)
print(frame.groupby("epoch").mean().to_string())

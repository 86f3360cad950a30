"""Reads a store of Flor with nothing but Python's standard library."""
import json
import subprocess
import sys


def ask(sql):
    """The rows of the answer, a dictionary each. SQL has no NaN: it is None here."""
    answer = subprocess.run(["flor", "sql", "--json", sql], stdout=subprocess.PIPE)
    if answer.returncode != 0:
        sys.exit(answer.returncode)  # flor has said why
    return json.loads(answer.stdout)["rows"]


def text(value):
    return "'" + value.replace("'", "''") + "'"


RUNS = """
SELECT run.key, experiment.name AS experiment, run.epochs
FROM run JOIN experiment ON experiment.id = run.experiment ORDER BY run.id DESC"""
ARGUMENTS = "SELECT argument, value FROM arguments WHERE run = {}"
POINTS = "SELECT value, origin FROM points WHERE run = {} AND metric = {} ORDER BY epoch, step"

for run in ask(RUNS):
    key = text(run["key"])
    arguments = {row["argument"]: row["value"] for row in ask(ARGUMENTS.format(key))}
    print(run["key"][:8], run["experiment"], f"{run['epochs']} epochs", arguments)
    for metric in sys.argv[1:]:
        points = ask(POINTS.format(key, text(metric)))
        if points:
            last = points[-1]["value"]
            found = " (hindsight)" if points[-1]["origin"] == "hindsight" else ""
            print(f"  {metric}: {len(points)} values, last {float('nan') if last is None else last:.6g}{found}")

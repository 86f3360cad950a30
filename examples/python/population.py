"""Population-based training: a few members train for a few epochs; then the worst go on from the best of them,
with its weights and another learning rate; and again.

    python3 population.py ROUNDS PROGRAM ARGUMENTS...     (such as: python3 population.py 3 ./spirals)
"""
import json
import random
import subprocess
import sys

MEMBERS, EPOCHS, GOAL = 4, 3, "loss:min"
rounds, program = int(sys.argv[1]), sys.argv[2:]
draws = random.Random(1)


def sweep(name, epochs, rates, origin=None):
    """Records a run for each learning rate; their (run, rate), the best first. What is recorded already stays."""
    begin = ["--flor_from", origin] if origin else []
    words = [*program, "--flor", "population", "--flor_every", "1", *begin, "--kwargs", f"epochs={epochs}"]
    subprocess.run(["flor", "sweep", name, "-m", GOAL, "--", *words, "lr=" + ",".join(rates)],
                   check=True, stdout=subprocess.DEVNULL)
    table = json.loads(subprocess.check_output(["flor", "sweep", name, "-m", GOAL, "--json"]))
    return [(point["run"], point["arguments"]["lr"]) for point in table["points"]]


members = sweep("population-0", EPOCHS, [f"{10 ** draws.uniform(-3, -1):.3g}" for _ in range(MEMBERS)])
for number in range(1, rounds):
    best, rate = members[0]
    rates = [rate] + [f"{float(rate) * draws.uniform(0.5, 2):.3g}" for _ in range(MEMBERS - 1)]
    members = sweep(f"population-{number}", (number + 1) * EPOCHS, rates, f"{best}@latest")
    print(f"round {number}: from run {best[:8]}, lr={rate}, to run {members[0][0][:8]}, lr={members[0][1]}")

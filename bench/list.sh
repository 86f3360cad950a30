#!/bin/sh
# flor list and its kin over 10,000 runs with a million logged values, and a run with a million
# steps: bench/list.sh BUILD [HOME]
# BUILD is a build with -DFLOR_BUILD_BENCH=ON. HOME is filled if there is nothing yet; by default it
# lies in memory and is removed at the end.
set -eu
build=$1
home=${2:-}
if [ -z "$home" ]; then
  home=$(mktemp -d /dev/shm/flor-list.XXXXXX)
  trap 'rm -rf "$home"' EXIT
fi
[ -e "$home/catalog.db" ] || "$build/bench/fill_store" "$home" 10000 1000000 1000000
export FLOR_HOME="$home"
python3 - "$build/cli/flor" <<'END'
import os, resource, statistics, subprocess, sys, time

flor = sys.argv[1]
QUESTIONS = [
    ["--version"],
    ["list"],
    ["list", "-n", "20"],
    ["list", "-q"],
    ["list", "-c", "lr,loss:min,accuracy", "--sort", "accuracy", "-n", "20"],
    ["list", "--json"],
    ["show", "linear"],
    ["query", "loss", "--run", "linear"],
    ["plot", "linear", "-m", "loss"],
    ["plot", "long", "-m", "loss"],
    ["plot", "long", "-m", "loss", "-o", os.environ["FLOR_HOME"] + "/plot.svg"],
    ["plot", "long", "-m", "loss", "-o", os.environ["FLOR_HOME"] + "/plot.png"],
    ["export", "long", "--format", "csv"],
    ["sql", "SELECT count(*) FROM points"],
]
print(f"{'median':>9} {'least':>9} {'CPU':>9}")
for question in QUESTIONS:
    walls, cpu = [], []
    for _ in range(11 if question[0] == "list" or question[0].startswith("-") else 5):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        begun = time.perf_counter()
        subprocess.run([flor, *question], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
        walls.append(time.perf_counter() - begun)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        cpu.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    shown = " ".join(w if w.isascii() and len(w) < 40 else "FILE" for w in question)
    print(f"{statistics.median(walls) * 1e3:6.1f} ms {min(walls) * 1e3:6.1f} ms "
          f"{statistics.median(cpu) * 1e3:6.1f} ms  flor {shown}")
END

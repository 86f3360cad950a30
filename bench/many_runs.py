#!/usr/bin/env python3
"""A store with very many runs: what looking at it costs, and what a recording that begins pays.

    bench/many_runs.py BUILD [RUNS]

BUILD is a build with -DFLOR_BUILD_BENCH=ON. A thousand runs with three metrics and two arguments are recorded
(fill_store); the index is then given RUNS (1,000,000) of them by SQL, each with a key, a time and numbers of its own,
in memory (/dev/shm). What is asked reads the index alone. Each line: the median and the least of five.
"""
import os, shutil, socket, statistics, subprocess, sys, tempfile, time, urllib.request

build, runs = os.path.abspath(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 1_000_000
scratch = tempfile.mkdtemp(prefix="flor-many-runs.", dir="/dev/shm")
home = scratch + "/home"
environment = {**os.environ, "FLOR_HOME": home}
flor = build + "/cli/flor"


def fill():
    recorded = 1000
    copies = max(0, runs // recorded - 1)
    subprocess.run([build + "/bench/fill_store", home, str(recorded), "30000", "0", str(copies)], check=True)
    count = subprocess.run([flor, "sql", "SELECT count(*) FROM runs"], env=environment, check=True, capture_output=True,
                           text=True).stdout.split()[-1]
    print(f"{count} runs, an index of {os.path.getsize(home + '/catalog.db') / 1e6:.0f} MB")


def show(what, seconds):
    print(f"{statistics.median(seconds) * 1e3:8.1f} ms {min(seconds) * 1e3:8.1f} ms  {what}")


def timed(work):
    begun = time.perf_counter()
    work()
    return time.perf_counter() - begun


def ask(words):
    subprocess.run([flor, *words], env=environment, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def page():
    """From the start of the server to the page with its first rows."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    server = subprocess.Popen([flor, "serve", "--port", str(port)], env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    try:
        url = next(word for line in server.stdout for word in line.split() if word.startswith("http"))
        return timed(lambda: urllib.request.urlopen(url).read())
    finally:
        server.terminate()
        server.wait()


def record(where):
    program = build + "/examples/spirals"
    work = tempfile.mkdtemp(dir=scratch)
    words = [program, "--flor", "start", "--flor_no_git", "--kwargs", "epochs=1"]
    return timed(lambda: subprocess.run(words, cwd=work, env={**environment, "FLOR_HOME": where}, check=True,
                                        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))


try:
    fill()
    print(f"{'median':>8}    {'least':>8}")
    for words in (["list"], ["list", "-n", "20"], ["list", "--where", "loss<0.03"], ["list", "--where", "loss<0.5 and lr>=0.005"],
                  ["list", "--where", "accuracy:max>2"], ["list", "-c", "+lr", "--where", "lr<0.002"], ["show", "linear"]):
        show("flor " + " ".join(words), [timed(lambda: ask(words)) for _ in range(5)])
    show("flor serve: the page with its first rows", [page() for _ in range(5)])
    if os.path.exists(build + "/examples/spirals"):
        empty = scratch + "/empty"
        record(empty)
        pairs = [(record(empty), record(home)) for _ in range(5)]
        show("a recording of one epoch, in a store of few runs", [pair[0] for pair in pairs])
        show("the same in this one", [pair[1] for pair in pairs])
finally:
    shutil.rmtree(scratch)

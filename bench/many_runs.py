#!/usr/bin/env python3
"""A store with very many runs: what looking at it costs, and what a recording that begins pays.

    bench/many_runs.py BUILD [RUNS]

BUILD is a build with -DFLOR_BUILD_BENCH=ON. A thousand runs with three metrics and two arguments are recorded
(fill_store); the index is then given RUNS (1,000,000) of them by SQL, each with a key, a time and numbers of its own,
in memory (/dev/shm). What is asked reads the index alone. Each line: the median and the least of five.
"""
import os, random, shutil, socket, sqlite3, statistics, subprocess, sys, tempfile, time, urllib.request

build, runs = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 1_000_000
scratch = tempfile.mkdtemp(prefix="flor-many-runs.", dir="/dev/shm")
home = scratch + "/home"
environment = {**os.environ, "FLOR_HOME": home}
flor = build + "/cli/flor"


def fill():
    subprocess.run([build + "/bench/fill_store", home, "1000", "30000"], check=True)
    subprocess.run([flor, "list", "-n", "1"], env=environment, check=True, stdout=subprocess.DEVNULL)
    index = sqlite3.connect(home + "/catalog.db")
    index.execute("PRAGMA synchronous=OFF")
    chance = random.Random(7)
    index.create_function("chance", 0, chance.random)
    index.create_function("new_key", 0, lambda: f"{chance.getrandbits(64):016x}")
    columns = {table: [row[1] for row in index.execute(f"PRAGMA table_info({table})")] for table in ("run", "metric", "argument")}
    own = {"run": {"id": "id + ?1", "key": "new_key()", "started_us": "started_us + ?1 * 60000000"},
           "metric": {"id": None, "run": "run + ?1", "last": "last * (0.5 + chance())"},
           "argument": {"run": "run + ?1"}}
    first = index.execute("SELECT max(id) FROM run").fetchone()[0]
    for copy in range(1, runs // first):
        for table in ("run", "metric", "argument"):
            named = [name for name in columns[table] if own[table].get(name, name)]
            of = "id" if table == "run" else "run"
            index.execute(f"INSERT INTO {table} ({', '.join(named)}) SELECT {', '.join(own[table].get(name, name) for name in named)} "
                          f"FROM {table} WHERE {of} <= {first}", (copy * first,))
    index.commit()
    index.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    count = index.execute("SELECT count(*) FROM run").fetchone()[0]
    index.close()
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

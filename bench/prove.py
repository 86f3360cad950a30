#!/usr/bin/env python3
"""What 100 epochs take whose checkpoints need not exist: stored over raw bytes, before and after.

    bench/prove.py BUILD [EPOCHS]

BUILD is a build with the examples. Records `linear` and `charlm` with every epoch stored, archives each with
`flor archive --prove --within 60s`, and computes the epoch in the middle again, whose export has to be the same.
"""
import json, os, pathlib, shutil, subprocess, sys, tempfile, time

build, epochs = os.path.abspath(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 100
scratch = pathlib.Path(tempfile.mkdtemp(prefix="flor-prove.", dir="/dev/shm"))
environment = {**os.environ, "FLOR_HOME": str(scratch / "home")}


def run(*words):
    done = subprocess.run(words, env=environment, cwd=scratch, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(words)}: status {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def flor(*words):
    return run(build + "/cli/flor", *words)


def packs():
    return sum(file.stat().st_size for file in (scratch / "home/packs").rglob("*.pack"))


def timed(work):
    begun = time.perf_counter()
    work()
    return time.perf_counter() - begun


def measure(example, *arguments):
    shutil.rmtree(scratch / "home", ignore_errors=True)
    trained = timed(lambda: run(f"{build}/examples/{example}", "--flor", example, "--flor_no_git", "--flor_every", "1",
                                "--kwargs", f"epochs={epochs}", *arguments))
    shown = json.loads(flor("show", example, "--json"))["run"]
    raw = sum(each["raw_bytes"] for each in shown["stored_checkpoints"])
    before = packs()
    middle = f"{example}@{epochs // 2}"
    flor("export", middle, str(scratch / "before.safetensors"))
    proved = timed(lambda: flor("archive", example, "--prove", "--within", "60s"))
    after = packs()
    brought = timed(lambda: flor("keep", middle, "--undo"))
    flor("export", middle, str(scratch / "after.safetensors"))
    same = (scratch / "before.safetensors").read_bytes() == (scratch / "after.safetensors").read_bytes()
    print(f"{example:8} {raw / 1e6:8.1f} MB raw, stored/raw {before / raw:.4f} -> {after / raw:.4f}; recorded in {trained:.1f} s, "
          f"proven and archived in {proved:.1f} s, epoch {epochs // 2} back in {brought:.1f} s, "
          f"{'the same bytes' if same else 'OTHER BYTES'}", flush=True)


try:
    measure("linear", "pictures=2000")
    measure("charlm", "steps=20")
finally:
    shutil.rmtree(scratch)

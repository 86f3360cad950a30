#!/usr/bin/env python3
"""Measures what it costs to keep what a program prints, at about 1 MB/s.

bench/printed.py build/release/tests/programs/bin/printer [PAIRS [FLAG...]]

Runs the same computation, which prints all the time into a file, with `--flor_output none` and with the FLAGs, in
turns, so that both meet the same other work on the machine; prints the ratio of each pair, and the median. Without a
FLAG the file is read; with `--flor_output 16` the output is handed on by a process, since standard error is a pipe.
"""

import ctypes
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile


PR_SET_CHILD_SUBREAPER = 36


def wait_for_all():
    """Waits for the process that hands the output on, too: it was given to this one when the program had started it."""
    try:
        while True:
            os.wait()
    except ChildProcessError:
        pass


def took(program, directory, *flags):
    """Seconds of the computation, processor seconds of all processes, bytes printed."""
    before = os.times()
    with open(directory / "out", "w") as out:
        done = subprocess.run([program, "--flor", "printed", "--flor_no_git", *flags, "--kwargs", "scenario=pace", "mib=2", "epochs=3"],
                              stdout=out, stderr=subprocess.PIPE, text=True, check=True, cwd=directory,
                              env={**os.environ, "FLOR_HOME": str(directory / "home")})
    wait_for_all()
    after = os.times()
    seconds = sum(float(each) for each in re.findall(r"took ([0-9.]+) s", done.stderr))
    processor = after.children_user + after.children_system - before.children_user - before.children_system
    return seconds, processor, (directory / "out").stat().st_size


def main():
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    program = pathlib.Path(sys.argv[1]).resolve()
    pairs = int(sys.argv[2]) if len(sys.argv) > 2 else 7
    with tempfile.TemporaryDirectory() as name:
        directory = pathlib.Path(name)
        ratios, processor = [], []
        for _ in range(pairs):
            plain = took(program, directory, "--flor_output", "none")
            kept = took(program, directory, *sys.argv[3:])
            ratios.append(kept[0] / plain[0])
            processor.append(kept[1] / plain[1])
            print(f"{plain[2] / plain[0] / 1e6:.2f} MB/s: {plain[0]:.3f} s without, {kept[0]:.3f} s with: {ratios[-1]:.4f}; "
                  f"processor {plain[1]:.3f} s, {kept[1]:.3f} s: {processor[-1]:.4f}")
        print(f"median: {statistics.median(ratios):.4f} of the time, {statistics.median(processor):.4f} of the processor seconds")


if __name__ == "__main__":
    main()

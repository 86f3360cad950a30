"""Importing torch takes longer than most trainings of tests, so one process imports it and is forked for each program
that does, which then runs as `python3 SCRIPT WORDS` runs it. FLOR_TEST_COLD_STARTS=1 starts each program anew."""

import json
import os
import random
import signal
import subprocess
import sys
import types

MOST_SECONDS = 110  # a program may take


class WarmPython:
    """The process that waits; run() returns the exit status of one program, negative for a signal."""

    def __init__(self, environment):
        self.process = subprocess.Popen([sys.executable, __file__], env=environment, stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True)

    def run(self, words, *, directory, environment, out, err):
        request = {"words": words, "directory": str(directory), "environment": environment, "out": out, "err": err}
        print(json.dumps(request), file=self.process.stdin, flush=True)
        return int(self.process.stdout.readline())

    def close(self):
        self.process.stdin.close()
        self.process.wait()
        self.process.stdout.close()


def become(request):
    """Makes this process what a new one would be; returns what it is to run."""
    for number, (name, flags) in enumerate((("/dev/null", os.O_RDONLY), (request["out"], os.O_WRONLY),
                                            (request["err"], os.O_WRONLY))):
        opened = os.open(name, flags)
        os.dup2(opened, number)
        os.close(opened)
    signal.alarm(MOST_SECONDS)  # ends a program that hangs
    random.seed()  # two processes draw different numbers
    sys.modules["numpy"].random.seed()
    os.chdir(request["directory"])
    os.environ.clear()
    os.environ.update(request["environment"])
    script = request["words"][0]
    sys.argv = list(request["words"])
    sys.orig_argv = [sys.executable, *request["words"]]
    sys.path[0] = os.path.dirname(os.path.abspath(script))
    main = types.ModuleType("__main__")
    main.__file__ = os.path.abspath(script)
    sys.modules["__main__"] = main
    with open(script, "rb") as file:
        return compile(file.read(), main.__file__, "exec"), main.__dict__


def serve():
    """Forks for each line of the standard input until that ends; returns what a forked process is to run."""
    import numpy, torch  # noqa: F401, E401
    for line in sys.stdin:
        child = os.fork()
        if child == 0:
            return become(json.loads(line))
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
    return None


if __name__ == "__main__":
    program = serve()
    if program:
        exec(*program)

"""Programs in a repository and a home of their own, recorded and replayed as users do."""

import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

from warm_start import MOST_SECONDS, WarmPython

PROGRAMS = pathlib.Path(__file__).with_name("programs")
QUIETLY = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "PYTHONDONTWRITEBYTECODE": "1",
           "PYTHONWARNINGS": "ignore"}


class Workbench(unittest.TestCase):
    warm = None  # for all tests of the process

    @classmethod
    def setUpClass(cls):
        if not Workbench.warm and not os.environ.get("FLOR_TEST_COLD_STARTS"):
            Workbench.warm = WarmPython(dict(os.environ, **QUIETLY))
            unittest.addModuleCleanup(Workbench.close_warm)

    @staticmethod
    def close_warm():
        Workbench.warm.close()
        Workbench.warm = None

    def setUp(self):
        self.directory = pathlib.Path(tempfile.mkdtemp(prefix="flor-python-"))
        self.addCleanup(shutil.rmtree, self.directory, ignore_errors=True)
        self.repository = self.directory / "repository"
        self.repository.mkdir()
        self.environment = dict(os.environ, FLOR_HOME=str(self.directory / "home"), GIT_CONFIG_GLOBAL="/dev/null",
                                **QUIETLY)
        for name in ("FLOR_WORKER_FD", "RANK", "WORLD_SIZE"):
            self.environment.pop(name, None)
        self.git("init", "-q")
        self.git("-c", "user.name=a", "-c", "user.email=a@b", "commit", "-q", "--allow-empty", "-m", "first")

    def git(self, *words):
        subprocess.run(["git", *words], cwd=self.repository, env=self.environment, check=True)

    def write(self, name, text):
        file = self.repository / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        return file

    def copy(self, name, edits=(), to=None):
        """Copies a program, with texts replaced."""
        text = (PROGRAMS / name).read_text()
        for before, after in edits:
            self.assertIn(before, text)
            text = text.replace(before, after)
        return self.write(to or name, text)

    def run_words(self, words, status=0, **options):
        done = subprocess.run([str(word) for word in words], cwd=options.pop("cwd", self.repository),
                              env=self.environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                              timeout=MOST_SECONDS, **options)
        if status is not None:
            self.assertEqual(done.returncode, status, f"{words}\n{done.stdout}\n{done.stderr}")
        return done

    def python(self, script, *words, status=0):
        words = [str(word) for word in (script, *words)]
        if not self.warm or "import torch" not in (self.repository / script).read_text():
            return self.run_words([sys.executable, *words], status)
        with tempfile.NamedTemporaryFile("r") as out, tempfile.NamedTemporaryFile("r") as err:
            returned = self.warm.run(words, directory=self.repository, environment=self.environment,
                                     out=out.name, err=err.name)
            done = subprocess.CompletedProcess(words, returned, out.read(), err.read())
        if status is not None:
            self.assertEqual(done.returncode, status, f"{words}\n{done.stdout}\n{done.stderr}")
        return done

    def flor(self, *words, status=0):
        return self.run_words([os.environ["FLOR_COMMAND"], *words], status)

    def record(self, script, name, *words, status=0):
        return self.python(script, "--flor", name, "--flor_every", "1", *words, status=status)

    def values(self, metric, run):
        """The values of a metric by their places, as exact texts."""
        rows = self.flor("query", metric, "--run", run, "--jsonl").stdout.splitlines()
        result = []
        for row in map(json.loads, rows):
            result.append((row.get("loop"), row.get("epoch"), row.get("step"), json.dumps(row["values"][metric])))
        return result

    def verdicts(self, metric, run):
        rows = self.flor("query", metric, "--run", run, "--jsonl").stdout.splitlines()
        return {json.loads(row)["verdicts"][metric] for row in rows}

    def start(self, script, *words):
        return subprocess.Popen([sys.executable, script, *words], cwd=self.repository, env=self.environment,
                                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)

    def kill_when(self, process, line):
        """Kills the process with what it prints last."""
        for text in process.stdout:
            if line in text:
                process.send_signal(signal.SIGKILL)
                break
        process.stdout.read()
        process.wait()
        process.stdout.close()
        deadline = time.monotonic() + 5
        while time.monotonic() < deadline:  # workers of a DataLoader end a little later
            if process.poll() is not None:
                break


class Script(Workbench):
    """Short programs, written into the test."""

    HEAD = "import flor\nimport sys\nflor.init()\n"

    def program(self, text, name="train.py"):
        import textwrap
        return self.write(name, self.HEAD + textwrap.dedent(text))

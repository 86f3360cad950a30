"""A git repository and a store of a test's own, filled by real programs, and a real flor serve."""

import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest

import browser

FLOR, GALLERY = (pathlib.Path(word).resolve() for word in sys.argv[1:3])
NASTY = "<script>alert('x')</script>"
LONG = "a-very-long-name-of-an-experiment-that-somebody-chose-because-names-cost-nothing-0123456789"

JUDGE = '''#!/usr/bin/env python3
import os, pathlib, sys
path = sys.argv[1]
epoch = int(path.split("@")[1].split(".")[0])
print("looking at epoch", epoch)
if epoch % 2 and not pathlib.Path("judge-works").exists():
    print("epoch", epoch, "is odd, and I cannot judge it")
    sys.exit("no luck with odd epochs")
print('{"score": %.3f}' % (0.5 + 0.07 * epoch))
'''


class Workplace:
    def __init__(self):
        self.root = pathlib.Path(tempfile.mkdtemp(prefix="flor-page-"))
        self.home = self.root / "home"
        self.repository = self.root / "project"
        self.repository.mkdir()
        self.environment = {**os.environ, "FLOR_HOME": str(self.home), "HOME": str(self.root),
                            "GIT_CONFIG_GLOBAL": "/dev/null"}
        self.git("init", "-q", "-b", "main")
        self.git("config", "user.name", "Test")
        self.git("config", "user.email", "test@example.com")
        self.write("train.cpp", "int main() {\n  Net net(784, 64);\n  train(net);\n  return 0;\n}\n")
        self.write(".gitignore", "judge-works\n")
        self.git("add", ".")
        self.git("commit", "-q", "-m", "first")
        self.server = None

    def close(self):
        if self.server:
            self.server.kill()
            self.server.wait()
            self.server.stdout.close()
        shutil.rmtree(self.root, ignore_errors=True)

    def write(self, name, text):
        (self.repository / name).write_text(text)

    def git(self, *words):
        subprocess.run(["git", *words], cwd=self.repository, env=self.environment, check=True, timeout=60)

    def begin(self, name, *arguments, every=True, more=(), **settings):
        """Starts a recording; returns its process."""
        words = [str(GALLERY), "--flor", name, *(["--flor_every", "1"] if every else []), *more]
        if arguments:
            words += ["--kwargs", *arguments]
        return subprocess.Popen(words, cwd=self.repository, env={**self.environment, **settings},
                                stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)

    def record(self, name, *arguments, status=0, **settings):
        process = self.begin(name, *arguments, **settings)
        _, errors = process.communicate(timeout=60)
        assert (process.returncode == 0) == (status == 0), errors

    def run(self, *words, status=0, **settings):
        result = subprocess.run([str(FLOR), *words], cwd=self.repository, env={**self.environment, **settings},
                                capture_output=True, text=True, timeout=120)
        assert result.returncode == status, (words, result.returncode, result.stderr)
        return result.stdout

    def fill(self):
        """Runs of every kind."""
        self.record("digits", "lr=0.05", "epochs=5")
        self.write("train.cpp", "int main() {\n  Net net(784, 128);\n  train(net);\n  log(count(net));\n  return 0;\n}\n")
        self.write("net.cpp", "struct Net {};\n")
        self.record("digits", "lr=0.1", "epochs=8")
        # Another program, which logs more: of the recorded one that would be a difference.
        asking = self.repository / "asking"
        asking.write_bytes(pathlib.Path(GALLERY).read_bytes() + b"\0")
        asking.chmod(0o755)
        self.run("replay", "digits", "--", str(asking), GALLERY_MORE="1")
        asking.unlink()
        self.record(NASTY, f"note=<img src=x onerror=alert(1)>", "epochs=3")
        self.record(LONG, "note=" + "long " * 40, "epochs=3")
        self.record("digits", "lr=0.2", "epochs=6", status=1, GALLERY_FAIL="1")
        killed = self.begin("digits", "lr=0.15", "epochs=500", "pause_ms=20")
        try:
            while True:
                newest = json.loads(self.run("list", "-n", "1", "--json"))["runs"][0]
                if newest["status"] == "running" and newest["epochs"] > 0:
                    break
        finally:
            killed.send_signal(signal.SIGKILL)
            killed.communicate()

    def judge(self, name):
        """Evaluations of a run's checkpoints, of which some are given up."""
        self.write("judge", JUDGE)
        (self.repository / "judge").chmod(0o755)
        self.run("watch", "--run", name, "--as", "reference", "--evaluator", "./judge {}", "--retries", "0", "--existing",
                 "--until-idle", status=5)

    def serve(self):
        self.server = subprocess.Popen([str(FLOR), "serve", "--json"], cwd=self.repository, env=self.environment,
                                       stdout=subprocess.PIPE, text=True)
        return json.loads(self.server.stdout.readline())["url"]

    def key(self, name):
        return self.run("list", name, "-q", "-n", "1").strip()


def main():
    """Runs the tests of the calling file; 77 says that there is no browser to run them in."""
    if not browser.find_programs():
        print("skipped: no chromium, or no chromedriver (scripts/packages-browser.txt)")
        sys.exit(77)
    unittest.main(module="__main__", argv=[sys.argv[0], "-v", *sys.argv[3:]])

"""Presses Tab in a real shell.

completion.py SHELL COMPLETIONS FLOR TRAINER: SHELL is bash, zsh or fish, COMPLETIONS the file that
is installed for it. Status 77 where the shell is not installed, or where there are no
pseudo-terminals.
"""

import os
import pty
import select
import shutil
import subprocess
import sys
import tempfile
import time

shell, completions, flor, trainer = sys.argv[1:]
if not shutil.which(shell):
    print(f"{shell} is not installed: skipped")
    sys.exit(77)

work = tempfile.mkdtemp(prefix="flor-completion-")
environment = {
    "PATH": os.environ["PATH"],
    "HOME": work,
    "FLOR_HOME": work + "/store",
    "TERM": "dumb",
    "LC_ALL": "C.UTF-8",
    "LSAN_OPTIONS": "detect_leaks=0",
}


def record(name):
    subprocess.run(
        [trainer, "--flor", name, "--flor_no_git", "--kwargs", "epochs=2"],
        cwd=work, env=environment, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def candidates(line):
    """What fish offers."""
    script = f"function flor; {flor} $argv; end; source {completions}; complete -C '{line}'"
    result = subprocess.run(["fish", "-N", "-c", script], cwd=work, env=environment,
                            capture_output=True, text=True, timeout=30)
    return [offer.split("\t")[0] for offer in result.stdout.splitlines()]


class Terminal:
    """A shell that shows, instead of running flor, what it would be given."""

    SHOW = ("flor() { if [ \"$1\" = complete ]; then " + flor +
            " \"$@\"; else printf 'ARGS:'; printf '<%s>' \"$@\"; echo :END; fi; }")

    def __init__(self):
        if shell == "bash":
            start = ["bash", "--norc", "--noprofile", "-i"]
            setup = [self.SHOW, f"source {completions}"]
        else:
            start = ["zsh", "-f", "-i"]
            setup = [self.SHOW, f"fpath=({os.path.dirname(completions)} $fpath)",
                     f"autoload -Uz compinit; compinit -u -d {work}/dump"]
        try:
            self.pid, self.screen = pty.fork()
        except OSError as error:
            print(f"no pseudo-terminals: {error}")
            sys.exit(77)
        if self.pid == 0:
            os.chdir(work)
            os.execvpe(start[0], start, environment)
        for line in setup + ["echo REA''DY"]:
            self.send(line + "\n")
        self.wait("READY")

    def send(self, text):
        os.write(self.screen, text.encode())

    def wait(self, what, seconds=20):
        seen = ""
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            if select.select([self.screen], [], [], 0.1)[0]:
                seen += os.read(self.screen, 65536).decode(errors="replace")
                if what in seen:
                    return seen
        raise SystemExit(f"{shell} never showed {what!r}, but {seen!r}")

    def arguments(self, typed):
        """What flor is given after `typed`, in which \t is a press of Tab."""
        for piece in typed.split("\t")[:-1]:
            self.send(piece + "\t")
            time.sleep(0.5)
        self.send(typed.split("\t")[-1] + "\n")
        seen = self.wait(":END")
        return seen[seen.rindex("ARGS:") + 5:seen.rindex(":END")]

    def close(self):
        os.close(self.screen)
        os.waitpid(self.pid, 0)


def check(typed, expected, found):
    print(f"{shell}: {typed!r} gives {found}")
    if found != expected:
        raise SystemExit(f"expected {expected}")


try:
    for name in ["digits", "two words; touch pwned"]:
        record(name)
    open(work + "/archive.safetensors", "w").close()
    if shell == "fish":
        check("flor sho", ["show"], candidates("flor sho"))
        check("flor show dig", ["digits"], candidates("flor show dig"))
        check("flor replay digits --prob", ["--probe"], candidates("flor replay digits --prob"))
        check("flor replay digits --probe ", ["train"], candidates("flor replay digits --probe "))
        check("flor import arch", ["archive.safetensors"], candidates("flor import arch"))
    else:
        terminal = Terminal()
        for typed, expected in [
                ("flor sho\tdig\t", "<show><digits>"),
                ("flor show two\t", "<show><two words; touch pwned>"),
                ("flor replay digits --prob\ttr\t", "<replay><digits><--probe><train>"),
                ("flor show --color=al\t", "<show><--color=always>"),
                ("flor list --sort los\t", "<list><--sort><loss>"),
                ("flor import arch\t", "<import><archive.safetensors>"),
        ]:
            check(typed, expected, terminal.arguments(typed))
        terminal.close()
    if os.path.exists(work + "/pwned"):
        raise SystemExit("the name of an experiment was executed")
finally:
    shutil.rmtree(work, ignore_errors=True)

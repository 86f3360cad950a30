"""Runs the command blocks of a page and compares what they print with what the page shows.

    pages.py run|write PAGE --source DIR --prefix DIR [--programs DIR] [--as-written]

In a block that is fenced as `console`, lines that begin with `$ ` are commands (a line that ends in a backslash,
or within quotes, is continued in the next one), and the others are what they print; `...` stands for any lines. A
block that is fenced as `sh` has commands alone, which must succeed. A page says what its reader does not see in
comments of HTML, each on lines of its own:

    <!-- run: COMMANDS -->       runs them before the next block
    <!-- instead: COMMAND -->    runs it in the place of the next block's commands; not with --as-written, where it is
                                 there to save the time of a compiler (it speaks of PROGRAMS)
    <!-- file: NAME -->          the next block, of any language, is the content of this file
    <!-- numbers: REASON -->     in the next block no number is compared
    <!-- called: WORD COMMAND --> from here on WORD stands for what COMMAND prints now (an id that is another one in each run)
    <!-- not run: REASON -->     does not run the next block, since a test cannot

A page has one shell, a home and an empty directory of its own, in which it begins. In it FLOR_HOME, SOURCE
(the repository), PROGRAMS (built examples) and PREFIX (an installed Flor, first in PATH) are set; what a page calls
by its place below /usr is looked for below PREFIX; /mnt/archive is a directory of the page's own. `sample` fills FLOR_HOME with the runs of docs/sample;
`until_told TEXT SIGNAL COMMAND` sends a command the signal when it prints TEXT. What differs from run to
run is made alike by VOLATILE before it is compared. At the end each section's seconds are printed. `write` puts what was printed into the page: read the
difference before you believe it.
"""

import argparse
import os
import pathlib
import re
import selectors
import shutil
import signal
import subprocess
import sys
import tempfile
import time

# What stands for what differs from run to run, machine to machine and day to day; in this order.
VOLATILE = [
    (r"http://127\.0\.0\.1:\d+/[0-9a-f]{32}/", "http://127.0.0.1:PORT/TOKEN/"),
    (r"\b\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d+)?)?Z?", "DATE"),
    (r"\b(just now|\d+ (s|min|hours?|days?|weeks?|months?|years?) ago)", "WHEN"),
    (r"(?<![\w.])[0-9a-f]{64}\b|(?<![\w.])[0-9a-f]{40}\b|(?<![\w.])[0-9a-f]{16}\b|(?<![\w.])[0-9a-f]{10}\b|(?<![\w.])[0-9a-f]{8}(?![\w.]\w)", "ID"),
    (r"(?<![\w.])\d+(\.\d+)? (ns|us|ms|s|min|h)\b", "TIME"),
    (r"(?<![\w.])\d+(\.\d+)? (B|KiB|MiB|GiB)\b", "SIZE"),
    (r", overhead \d+\.\d %", ""),  # it is said of computations of at least 0.1 s
    (r"(?<![\w.])\d+(\.\d+)? %", "SHARE"),
    # Which epochs are worth a checkpoint depends on how fast the machine is.
    (r"\b\d+ checkpoints?\b", "N checkpoints"),
    (r"\b\d+ chunks?\b", "N chunks"),
    (r"skipped (\w+) (once|twice|\d+ times); executed \1 (once|twice|\d+ times): not stored", r"skipped \1 N times"),
    (r"skipped (\w+) (once|twice|\d+ times)", r"skipped \1 N times"),
    (r"(preempted by \w+|with run \w+|resuming run \w+ of \w+) at (the beginning|(the end of )?epoch \d+(, step \d+ of \w+)?)", r"\1 at PLACE"),
    (r"\bchecked: epoch \d+ computed again, \d+ values and \d+ states? equal", "checked: epoch N computed again"),
    (r"\b\d+ of \d+ recomputed values( and \d+ states)?", "N of N recomputed values"),
    (r"\bepochs? \d+( (to|and) \d+)? executed beside it", "epochs N executed beside it"),
    (r"\((verified by execution|(proven by the sources|unverified); verified in epochs? [\d, to]+)\)", "(found)"),
    (r"\brecorded\+(proven|verified|unverified)\b", "recorded+found"),
    (r"\b\d+@[\w.-]+|\bpid \d+ on [\w.-]+", "PROCESS"),
    (r"\bmodel_checkpoint_\d+", "model_checkpoint_N"),  # the one that a kill left
    (r"\b(worker \d+ +epochs) [\d., ]+", r"\1 N"),
    (r"^\[\s*\d+(%|/\d+)\] ", "[N] "),  # of CMake's builds
    (r"\s+", " "),  # columns are as wide as what is in them
    (r"-{3,}", "---"),
]

INSTALLED = ["share/flor/", "share/doc/libflor-"]
# With these words begin commands that are to stand in a fence.
COMMANDS = re.compile(r"    (\$|sudo|flor|git|cmake|ctest|c\+\+|cd|cp|dd|srun|ssh|sqlite3|torchrun|(\.|build|scripts)/[\w.]+) [^:=]*( |$)")
# What programs say since the tests did not build them in the project that records them, and what is said of work
# that takes a while: how often depends on the machine.
DROPPED = re.compile(r"flor: (\w+ was built in .*, outside of the repository |\d+ of \d+ epochs, \d+ workers?\b)")
MARK = "\x1e"

PRELUDE = r"""
sample() { flor fetch spirals "file://$PREFIX/share/flor/sample" >/dev/null 2>&1; }
until_told() {
  local text=$1 signal=$2 pid line; shift 2
  coproc told { exec stdbuf -oL "$@" 2>&1; }
  pid=$told_PID
  while read -r line <&"${told[0]}"; do
    printf '%s\n' "$line"
    case $line in *"$text"*) kill -s "$signal" "$pid"; text=nothing-else;; esac
  done
  { wait "$pid"; } 2>/dev/null
}
"""


class Block:
    """Commands with what they print, and where that stands in the page."""

    def __init__(self, line):
        self.line = line
        self.steps = []  # (command, lines that are expected, first line, line after the last)
        self.before = []  # commands that the page does not show, each with the word that is called what it prints
        self.instead = None
        self.reason = None  # why it is not run
        self.numbers = True  # whether they are compared
        self.file = None  # (its name, its content)
        self.section, self.seconds = None, 0


def unfinished(command):
    """True while the shell would wait for more: an open quote, or a backslash at the end."""
    check = subprocess.run(["bash", "-n", "-c", command], capture_output=True, text=True)
    return command.endswith("\\") or any(sign in check.stderr for sign in
                                          ("unexpected EOF", "unexpected end of file", "here-document"))


def parse(text):
    lines = text.split("\n")
    blocks, before, instead, reason, numbers, name = [], [], None, None, True, None
    at = 0
    while at < len(lines):
        line = lines[at]
        if match := re.match(r"<!-- (run|called|instead|numbers|file|not run): ?(.*)", line):
            kind, body = match.groups()
            while not body.endswith("-->"):
                at += 1
                body += "\n" + lines[at]
            body = body[:-3].strip()
            if kind == "run":
                before.append((None, body))
            elif kind == "called":
                before.append(body.split(None, 1))
            elif kind == "instead":
                instead = body
            elif kind == "numbers":
                numbers = False
            elif kind == "file":
                name = body
            else:
                reason = body
        elif name and line.startswith("```"):
            block = Block(at + 1)
            block.before, before = before, []
            first = at + 1
            at = lines.index("```", first)
            block.file, name = (name, "\n".join(lines[first:at]) + "\n"), None
            blocks.append(block)
        elif line == "```sh":
            block = Block(at + 1)
            block.before, block.instead, block.reason, block.numbers = before, instead, reason, numbers
            before, instead, reason, numbers = [], None, None, True
            end = lines.index("```", at)
            at += 1
            while at < end:  # each must succeed, not only the last
                first = at
                at += 1
                while unfinished("\n".join(lines[first:at])) and at < end:
                    at += 1
                block.steps.append(("\n".join(lines[first:at]), None, first + 1, at))
            blocks.append(block)
        elif line == "```console":
            block = Block(at + 1)
            block.before, block.instead, block.reason, block.numbers = before, instead, reason, numbers
            before, instead, reason, numbers = [], None, None, True
            at += 1
            while lines[at] != "```":
                if not lines[at].startswith("$ "):
                    raise ValueError(f"line {at + 1}: a block begins with a command")
                command = lines[at][2:]
                while unfinished(command) and lines[at + 1] != "```":
                    at += 1
                    command += "\n" + lines[at]
                at += 1
                first = at
                while lines[at] != "```" and not lines[at].startswith("$ "):
                    at += 1
                block.steps.append((command, lines[first:at], first, at))
            blocks.append(block)
        at += 1
    if before:  # what is to be run after the last block
        block = Block(len(lines))
        block.before = before
        blocks.append(block)
    for block in blocks:
        block.section = next((line for line in reversed(lines[:block.line]) if line.startswith("## ")), "")[3:]
    return lines, blocks


class Shell:
    """A bash that keeps its variables and its directory from command to command."""

    def __init__(self, place, settings, in_order):
        self.place, self.prefix, self.source = place, settings["PREFIX"], settings["SOURCE"]
        self.places = {f"/usr/{place}": f"{self.prefix}/{place}" for place in INSTALLED}
        self.places["/mnt/archive"] = str(place / "archive")
        self.called = {}  # words of the page, and what they stand for
        self.directory = place / "me"
        self.directory.mkdir()
        environment = {key: value for key, value in os.environ.items()
                       if not key.startswith(("FLOR", "GIT", "COLUMNS", "NO_COLOR"))}
        environment |= settings | {
            "HOME": str(self.directory), "FLOR_HOME": str(place / "home"), "LC_ALL": "C.UTF-8", "TERM": "dumb",
            "PATH": f"{settings['PREFIX']}/bin:{os.environ['PATH']}", "CMAKE_PREFIX_PATH": settings["PREFIX"],
            "GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "user.useConfigOnly",
            "GIT_CONFIG_VALUE_0": "true"}
        if shutil.which("ccache"):  # its cache, not one in the page's home
            environment["CMAKE_CXX_COMPILER_LAUNCHER"] = "ccache"
            environment["CCACHE_DIR"] = subprocess.run(["ccache", "--get-config", "cache_dir"], check=True,
                                                       capture_output=True, text=True).stdout.strip()
        if in_order:  # what programs print comes as it does on a terminal
            environment |= {"_STDBUF_O": "L", "LD_PRELOAD": "/usr/libexec/coreutils/libstdbuf.so"}
        self.bash = subprocess.Popen(["bash", "--noprofile", "--norc"], cwd=self.directory, env=environment,
                                     stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                     start_new_session=True)
        self.run(PRELUDE)

    def run(self, command):
        """What it prints, as (whether on stderr, line) in the order of arrival, and its status."""
        for place, here in (self.places | self.called).items():
            command = command.replace(place, here)
        self.bash.stdin.write(f"{command}\nprintf '\\n{MARK}%s\\n' $?; printf '\\n{MARK}\\n' >&2\n".encode())
        self.bash.stdin.flush()
        selector = selectors.DefaultSelector()
        parts = {self.bash.stdout: b"", self.bash.stderr: b""}
        for stream in parts:
            selector.register(stream, selectors.EVENT_READ)
        printed, status = [], None
        while selector.get_map():
            ready = selector.select(240)
            if not ready:
                raise RuntimeError(f"does not end: {command}")
            for key, _ in ready:
                stream, is_error = key.fileobj, key.fileobj is self.bash.stderr
                data = os.read(stream.fileno(), 65536)
                if not data:
                    raise RuntimeError(f"the shell ended in: {command}")
                *whole, parts[stream] = (parts[stream] + data).split(b"\n")
                for line in whole:
                    text = line.decode(errors="replace")
                    if not text.startswith(MARK):
                        if not DROPPED.match(text):
                            printed.append((is_error, self.neutral(text)))
                        continue
                    status = status if is_error else int(text[1:])
                    selector.unregister(stream)
                    own = [i for i, (error, _) in enumerate(printed) if error == is_error]
                    if own and printed[own[-1]][1] == "":  # the line break before the mark
                        del printed[own[-1]]
        return printed, status

    def set_up(self, command):
        """Runs what the reader does not see, which may commit: the reader's git knows no name."""
        self.run("export {GIT_AUTHOR,GIT_COMMITTER}_NAME=me {GIT_AUTHOR,GIT_COMMITTER}_EMAIL=me@localhost")
        result = self.run(command)
        self.run("unset {GIT_AUTHOR,GIT_COMMITTER}_{NAME,EMAIL}")
        return result

    def neutral(self, text):
        for place, here in (self.places | self.called).items():
            text = text.replace(here, place)
        return (text.replace(str(self.directory), "/home/me").replace(str(self.place), "/tmp")
                .replace(self.prefix + "/", "/usr/").replace(self.source, "/src/flor"))

    def close(self):
        try:
            os.killpg(self.bash.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.bash.wait()


def alike(line, numbers=True):
    for pattern, instead in VOLATILE:
        line = re.sub(pattern, instead, line)
    return (line if numbers else re.sub(r"(?<!\w)\d+(\.\d+)?", "NUMBER", line)).strip()


def matches(expected, printed, numbers):
    """True if `expected` can be read from the two streams, each in its order; `...` is any lines."""
    wanted = [alike(line, numbers) for line in expected]
    streams = [[alike(line, numbers) for error, line in printed if error == which] for which in (False, True)]
    reached, open_states = set(), [(0, 0, 0)]
    while open_states:
        state = open_states.pop()
        if state in reached:
            continue
        reached.add(state)
        at, *taken = state
        if at == len(wanted) and all(taken[i] == len(streams[i]) for i in (0, 1)):
            return True
        any_line = at < len(wanted) and wanted[at] == "..."
        if any_line:
            open_states.append((at + 1, *taken))
        for i in (0, 1):
            if taken[i] < len(streams[i]) and at < len(wanted) and (any_line or streams[i][taken[i]] == wanted[at]):
                further = list(taken)
                further[i] += 1
                open_states.append((at if any_line else at + 1, *further))
    return False


def shorten(expected, printed):
    """What was printed, with `...` where the page has it, if the lines around it are found again."""
    lines = [text for _, text in printed]
    if "..." not in [line.strip() for line in expected]:
        return lines
    result, at = [], 0
    groups, group = [], []
    for line in expected:
        if line.strip() == "...":
            groups.append((group, line))
            group = []
        else:
            group.append(line)
    for group, dots in groups:
        result += lines[at:at + len(group)] + [dots]
        at += len(group)
    return result + (lines[-len(group):] if group else [])


def shown(printed):
    return "\n".join("    " + text for _, text in printed)


def run_block(shell, block, write):
    """Complaints about the block; where `write`, what is to be put into the page instead."""
    complaints, changes = [], []
    for word, command in block.before:
        printed, status = shell.set_up(command)
        if status or (word and len(printed) != 1):
            complaints.append(f"line {block.line}: the set-up ends with status {status}:\n" + shown(printed))
        elif word:
            shell.called[word] = printed[0][1]
    if block.reason:
        return complaints, changes
    if block.file:
        name, content = block.file
        shell.run(f"cat > {name} << 'END OF THE BLOCK'\n{content}END OF THE BLOCK")
    for number, (command, expected, first, end) in enumerate(block.steps):
        if block.instead is not None:
            command = block.instead if number == 0 else ":"
        printed, status = shell.run(command)
        if expected is None:
            if status:
                complaints.append(f"line {first}: ends with status {status}: {command}\n" + shown(printed))
            continue
        if matches(expected, printed, block.numbers) and not (write and "..." not in expected):
            continue
        if write:
            changes.append((first, end, shorten(expected, printed)))
            continue
        complaints.append(f"line {first}: $ {command}\n  the page shows\n" + "\n".join("    " + line for line in expected) +
                          "\n  it prints\n" + shown(printed))
    return complaints, changes


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("action", choices=["run", "write"])
    parser.add_argument("page", type=pathlib.Path)
    parser.add_argument("--source", type=pathlib.Path, required=True)
    parser.add_argument("--prefix", type=pathlib.Path, required=True)
    parser.add_argument("--programs", type=pathlib.Path, default=pathlib.Path("/nonexistent"))
    parser.add_argument("--as-written", action="store_true")
    options = parser.parse_args()
    path = options.source / options.page
    lines, blocks = parse(path.read_text())
    for block in blocks:
        if options.as_written and block.instead and "$PROGRAMS" in block.instead:
            block.instead = None
    complaints, changes = [], []
    if any(block.steps and not block.reason for block in blocks):
        complaints, changes = run_page(blocks, options)
    if changes:
        for first, end, text in reversed(changes):
            lines[first:end] = text
        path.write_text("\n".join(lines))
    report(options, lines, blocks, complaints)


def run_page(blocks, options):
    """Complaints about the blocks, and what is to be put into the page: (first line, line after the last, text)."""
    place = pathlib.Path(tempfile.mkdtemp(prefix="flor-page-"))
    settings = {"SOURCE": str(options.source.resolve()), "PREFIX": str(options.prefix.resolve()),
                "PROGRAMS": str(options.programs.resolve())}
    shell = Shell(place, settings, options.action == "write")
    complaints, changes = [], []
    try:
        for block in blocks:
            began = time.monotonic()
            found = run_block(shell, block, options.action == "write")
            block.seconds = time.monotonic() - began
            complaints += found[0]
            changes += found[1]
    finally:
        shell.close()
        shutil.rmtree(place, ignore_errors=True)
    return complaints, changes


def report(options, lines, blocks, complaints):
    """Says what was run and what was not, and ends the program."""
    left = [block for block in blocks if block.reason]
    fenced = False
    for at, line in enumerate(lines):
        fenced ^= line.startswith("```")
        if not fenced and COMMANDS.match(line):
            complaints.append(f"line {at + 1}: a command is indented: in a fence it is run, or says why not: {line.strip()}")
    print(f"{options.page}: {sum(len(b.steps) for b in blocks if not b.reason)} commands in "
          f"{len([b for b in blocks if b.steps and not b.reason])} blocks were run, {len(left)} cannot be")
    for section in dict.fromkeys(block.section for block in blocks if block.steps and not block.reason):
        print(f"  {sum(block.seconds for block in blocks if block.section == section):6.1f} s  {section}")
    for block in left:
        print(f"  line {block.line}: {block.reason}")
    print("\n".join(complaints))
    sys.exit(1 if complaints else 0)


if __name__ == "__main__":
    main()

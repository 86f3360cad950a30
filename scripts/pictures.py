"""Makes the pictures of README.md from what the programs really print and show.

    pictures.py terminal|page OUTPUT --source DIR --prefix DIR

`terminal` records, asks and replays examples/spirals.cpp in a terminal of its own and writes an SVG of what is seen
there, line by line at the pace of the recording. `page` opens the page of `flor serve`, with the runs of docs/sample, in
Chromium and writes a PNG, which has what the page says as its description. PREFIX has an installed Flor.
"""

import argparse
import base64
import html
import json
import os
import pathlib
import pty
import re
import select
import shutil
import struct
import subprocess
import sys
import tempfile
import time
import fcntl
import termios
import zlib

COLUMNS = 100
SETUP = r"""
cp "$SOURCE/examples/spirals.cpp" .
printf '/build/\n' >.gitignore
cat >CMakeLists.txt <<'END'
cmake_minimum_required(VERSION 3.25)
project(spirals LANGUAGES CXX)
find_package(flor REQUIRED COMPONENTS core)
add_executable(spirals spirals.cpp)
flor_instrument(spirals)
END
git init -q -b main . && git add . && git commit -q -m 'Train a network'
cmake -G Ninja -B build -DCMAKE_BUILD_TYPE=Release >/dev/null && cmake --build build >/dev/null
"""
ASK = r"""
sed -i '/int correct = 0/i\
    double squares = 0;\
    for (double weight : net) squares += weight * weight;\
    flor::log("norm", std::sqrt(squares));' spirals.cpp
"""
# What is typed; where there is a second part, it is what happens unseen before it.
STEPS = [
    ("./build/spirals --flor spirals --kwargs epochs=8", ""),
    ("git diff -U0 spirals.cpp | tail -n 3   # how do the weights grow? that was never logged", ASK),
    ("cmake --build build | tail -n 1", ""),
    ("./build/spirals --replay_flor >/dev/null", ""),
    ("flor plot -m accuracy -m norm --size 96x18", ""),
]

# xterm's colours, softened for this ground.
PALETTE = {30: "#45475a", 31: "#f38ba8", 32: "#a6e3a1", 33: "#f9e2af", 34: "#89b4fa", 35: "#cba6f7", 36: "#94e2d5", 37: "#cdd6f4"}
PALETTE |= {number + 60: colour for number, colour in PALETTE.items()} | {90: "#7f849c"}
GROUND, BAR, TEXT, PROMPT = "#1e1e2e", "#313244", "#cdd6f4", "#a6e3a1"


class Screen:
    """The lines of a terminal that never scrolls: cells of (character, style)."""

    def __init__(self):
        self.lines, self.row, self.column, self.style = [[]], 0, 0, ()

    def feed(self, text):
        for part in re.findall(r"\x1b\[[0-9;?]*[A-Za-z]|\x1b\][^\x07]*\x07|[\r\n]|[^\x1b\r\n]", text):
            if part == "\n":
                self.row, self.column = self.row + 1, 0
                while len(self.lines) <= self.row:
                    self.lines.append([])
            elif part == "\r":
                self.column = 0
            elif part.startswith("\x1b["):
                self.control(part[2:-1], part[-1])
            elif not part.startswith("\x1b"):
                self.put(part)

    def put(self, character):
        if self.column == COLUMNS:
            self.feed("\n")
        line = self.lines[self.row]
        while len(line) <= self.column:
            line.append((" ", ()))
        line[self.column] = (character, self.style)
        self.column += 1

    def control(self, arguments, final):
        if final == "K":
            del self.lines[self.row][self.column:]
        elif final == "m":
            self.style = self.styled([int(each or 0) for each in arguments.split(";")])

    def styled(self, codes):
        style = set(self.style)
        while codes:
            code = codes.pop(0)
            if code == 0:
                style = set()
            elif code in (1, 2):
                style.add("bold" if code == 1 else "dim")
            elif code == 38 and codes[:1] == [5]:
                style = {each for each in style if not each.startswith("#")} | {indexed(codes[1])}
                codes = codes[2:]
            elif code == 39:
                style = {each for each in style if not each.startswith("#")}
            elif code in PALETTE:
                style = {each for each in style if not each.startswith("#")} | {PALETTE[code]}
        return tuple(sorted(style))


def indexed(number):
    """A colour of the 256."""
    if number < 16:
        return PALETTE[30 + number % 8 + (60 if number > 7 else 0)]
    if number > 231:
        return "#" + f"{8 + 10 * (number - 232):02x}" * 3
    number -= 16
    return "#" + "".join(f"{0 if each == 0 else 55 + 40 * each:02x}" for each in (number // 36, number // 6 % 6, number % 6))


def run_in_terminal(command, screen, place, environment, started, seen):
    """Feeds what the command prints to the screen; `seen` has when each line was begun."""
    leader, follower = pty.openpty()
    fcntl.ioctl(follower, termios.TIOCSWINSZ, struct.pack("HHHH", 50, COLUMNS, 0, 0))
    process = subprocess.Popen(["bash", "-c", command], cwd=place, env=environment, stdin=subprocess.DEVNULL,
                               stdout=follower, stderr=follower, start_new_session=True)
    os.close(follower)
    text = b""
    while True:
        select.select([leader], [], [])
        try:
            data = os.read(leader, 65536)
        except OSError:  # all who wrote there have ended
            break
        text += data
        whole, text = (text.decode(), b"") if valid(text) else ("", text)
        screen.feed(whole.replace("\r\n", "\n"))
        for row in range(screen.row + 1):
            seen.setdefault(row, time.monotonic() - started)
    os.close(leader)
    if process.wait() != 0:
        raise SystemExit(f"failed: {command}")


def valid(text):
    try:
        text.decode()
        return True
    except UnicodeDecodeError:
        return False


def record(source, prefix, place):
    environment = {key: value for key, value in os.environ.items() if not key.startswith(("FLOR", "GIT", "NO_COLOR"))}
    environment |= {"SOURCE": str(source), "PATH": f"{prefix}/bin:{os.environ['PATH']}", "CMAKE_PREFIX_PATH": str(prefix),
                    "HOME": str(place), "FLOR_HOME": f"{place}/.flor", "TERM": "xterm-256color", "LC_ALL": "C.UTF-8",
                    "GIT_PAGER": "cat", "GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "color.ui", "GIT_CONFIG_VALUE_0": "always"}
    for role in ("AUTHOR", "COMMITTER"):
        environment |= {f"GIT_{role}_NAME": "me", f"GIT_{role}_EMAIL": "me@localhost"}
    project = place / "spirals"
    project.mkdir()
    subprocess.run(["bash", "-ec", SETUP], cwd=project, env=environment, check=True)
    screen, seen, started = Screen(), {}, time.monotonic()
    for command, before in STEPS:
        subprocess.run(["bash", "-ec", before], cwd=project, env=environment, check=True)
        if screen.column:
            screen.feed("\n")
        seen[screen.row] = time.monotonic() - started
        screen.style = (PROMPT,)
        screen.feed("$ ")
        screen.style = ("bold",)
        screen.feed(command)
        screen.style = ()
        screen.feed("\n")
        run_in_terminal(command, screen, project, environment, started, seen)
        screen.style = ()
    while screen.lines and not screen.lines[-1]:
        screen.lines.pop()
    return screen.lines, seen


def paced(seen, lines):
    """When each line appears: no pause is longer than a second, and each command can be read."""
    delays, now = [], 0.5
    for row, line in enumerate(lines):
        pause = seen.get(row, seen.get(row - 1, 0)) - seen.get(row - 1, 0) if row else 0
        now += 1.2 if row and line[:1] == [("$", (PROMPT,))] else min(max(pause, 0.04), 1.0)
        delays.append(now)
    return delays


def draw(lines, delays):
    width, height, left, top = 8.4, 19, 18, 58
    wide, tall = 2 * left + COLUMNS * width, top + len(lines) * height + 6
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {wide:.0f} {tall:.0f}" width="{wide:.0f}" height="{tall:.0f}" '
           'role="img" aria-label="A training is recorded, asked what it had not logged, and replayed">',
           "<style>text{font:14px ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono','Liberation Mono',monospace;"
           f"fill:{TEXT};white-space:pre}}.bold{{font-weight:600}}.dim{{opacity:.65}}"
           "@keyframes appear{from{opacity:0}to{opacity:0}}"
           "@media(prefers-reduced-motion:no-preference){g{animation:appear linear backwards}}</style>",
           f'<rect x=".5" y=".5" width="{wide - 1:.0f}" height="{tall - 1:.0f}" rx="9" fill="{GROUND}" stroke="#585b70"/>',
           f'<path d="M1 34V9.5A8.5 8.5 0 0 1 9.5 1h{wide - 19:.0f}a8.5 8.5 0 0 1 8.5 8.5V34z" fill="{BAR}"/>']
    out += [f'<circle cx="{20 + 20 * i}" cy="17.5" r="6" fill="{colour}"/>'
            for i, colour in enumerate(("#f38ba8", "#f9e2af", "#a6e3a1"))]
    out.append(f'<text x="{wide / 2:.0f}" y="22" text-anchor="middle" class="dim">spirals</text>')
    for row, (line, delay) in enumerate(zip(lines, delays)):
        spans, column = [], 0
        while column < len(line):
            end = column
            while end < len(line) and line[end][1] == line[column][1]:
                end += 1
            text = "".join(character for character, _ in line[column:end])
            if text.strip():
                style = line[column][1]
                colours = [each for each in style if each.startswith("#")]
                classes = " ".join(each for each in style if not each.startswith("#"))
                begin = column + len(text) - len(text.lstrip())
                text = text.strip()
                spans.append(f'<text x="{left + begin * width:.1f}" y="{top + row * height}" textLength="{len(text) * width:.1f}"'
                             + (f' class="{classes}"' if classes else "") + (f' style="fill:{colours[0]}"' if colours else "")
                             + f">{html.escape(text, quote=False)}</text>")
            column = end
        if spans:
            out.append(f'<g style="animation-duration:{delay:.2f}s">' + "".join(spans) + "</g>")
    return "\n".join(out) + "\n</svg>\n"


def terminal(options):
    place = pathlib.Path(tempfile.mkdtemp(prefix="flor-"))
    try:
        lines, seen = record(options.source, options.prefix, place)
    finally:
        shutil.rmtree(place, ignore_errors=True)
    options.output.write_text(draw(lines, paced(seen, lines)))


def described(png, text):
    """The picture with this text as its description, behind its header."""
    chunk = b"iTXtDescription\0\0\0\0\0" + text.encode()
    header = 8 + 25
    return png[:header] + struct.pack(">I", len(chunk) - 4) + chunk + struct.pack(">I", zlib.crc32(chunk)) + png[header:]


def description(png):
    """What `described` put in; empty where there is none."""
    at = 8
    while at < len(png):
        size = struct.unpack(">I", png[at:at + 4])[0]
        if png[at + 4:at + 8] == b"iTXt":
            return png[at + 8:at + 8 + size].split(b"\0", 5)[5].decode()
        at += 12 + size
    return ""


def page(options):
    sys.path.insert(0, str(options.source / "tests/page"))
    import browser
    if not browser.find_programs():
        print("skipped: no chromium, or no chromedriver (scripts/packages-browser.txt)")
        sys.exit(77)
    place = pathlib.Path(tempfile.mkdtemp(prefix="flor-"))
    environment = os.environ | {"FLOR_HOME": str(place / "home"), "HOME": str(place)}
    flor = str(options.prefix / "bin/flor")
    server = None
    try:
        shutil.copytree(options.source / "docs/sample", place / "sample")  # the page shows where they came from
        subprocess.run([flor, "fetch", "spirals", f"file://{place}/sample"], env=environment, check=True,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        server = subprocess.Popen([flor, "serve", "--json"], env=environment, stdout=subprocess.PIPE, text=True)
        url = json.loads(server.stdout.readline())["url"]
        run = subprocess.run([flor, "list", "-q", "-n", "1"], env=environment, check=True, capture_output=True,
                             text=True).stdout.strip()
        with browser.Browser(1120, 860) as window:
            window.prefer("light")
            window.open(f"{url}#/run/{run}")
            window.wait_for("canvas")
            window.wait_text("main", "norm")
            picture = window.call("GET", window.session + "/screenshot")
            text = window.text("body")
        options.output.write_bytes(described(base64.b64decode(picture), text))
    finally:
        if server:
            server.terminate()
            server.wait()
        shutil.rmtree(place, ignore_errors=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("picture", choices=["terminal", "page"])
    parser.add_argument("output", type=pathlib.Path)
    parser.add_argument("--source", type=pathlib.Path, required=True)
    parser.add_argument("--prefix", type=pathlib.Path, required=True)
    options = parser.parse_args()
    options.source, options.prefix = options.source.resolve(), options.prefix.resolve()
    {"terminal": terminal, "page": page}[options.picture](options)


if __name__ == "__main__":
    main()

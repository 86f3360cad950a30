"""Draws comments, help lines and messages at random, for a reader who does not know the code.

    sample_language.py [--count N] [--seed SEED] [--flor PROGRAM]

Prints N (20) of each: comments of the sources, lines of `PROGRAM help COMMAND` (build/ci/cli/flor), and messages, each
with its place. What is not understood at first reading is to be written anew (CONTRIBUTING.md has the rules). The same
seed draws the same; without one the seed is printed.
"""

import argparse
import pathlib
import random
import re
import subprocess

SOURCE = pathlib.Path(__file__).resolve().parent.parent


def sources():
    for folder in ("store", "runtime", "cli", "python"):
        for path in sorted((SOURCE / folder).glob("**/*")):
            if path.suffix in (".cpp", ".h"):
                yield path


def place(path, text, offset):
    return f"{path.relative_to(SOURCE)}:{text.count(chr(10), 0, offset) + 1}"


def comments():
    """Consecutive lines of comment are one."""
    for path in sources():
        text = path.read_text()
        for match in re.finditer(r"(?:^[ \t]*///?(?!/).*\n)+", text, re.M):
            words = " ".join(line.strip().lstrip("/").strip() for line in match.group().splitlines())
            if len(words) > 20:
                yield place(path, text, match.start()), words


LITERAL = re.compile(r'"((?:[^"\\\n]|\\.)*)"')


def words_of(arguments):
    """The text that a call says: `{}` for what is added to literals, ` / ` before the next branch or argument."""
    words, end = "", 0
    for match in LITERAL.finditer(arguments):
        if not match.group(1):
            continue
        between = arguments[end:match.start()].strip()
        if between.endswith("+") and (between.startswith("+") or not words):
            words += "{}" if between != "+" else ""
        elif between and words:
            words += " / "
        words += match.group(1)
        end = match.end()
    return words + ("{}" if words and arguments[end:].lstrip().startswith("+") else "")


def messages():
    """Literals with several words in what throws or says something."""
    call = re.compile(r"\b(?:throw \w+|\w*(?:say|refuse|warn|trouble|remark)\w*)\s*\((.*?)\);", re.S)
    for path in sources():
        text = path.read_text()
        for match in call.finditer(text):
            words = words_of(match.group(1))
            if words.count(" ") >= 4:
                yield place(path, text, match.start()), words


def help_lines(program):
    first = subprocess.run([program, "help"], capture_output=True, text=True, check=True).stdout
    for command in sorted(set(re.findall(r"^  ([a-z][a-z-]+)  +\S", first, re.M))):
        text = subprocess.run([program, command, "--help"], capture_output=True, text=True).stdout
        for line in re.split(r"\n(?=  \S|      -)", text.split("Options of every command:")[0]):
            words = " ".join(line.split("\n\n")[0].split())
            if words.startswith("-") and " " in words and not re.match(r"--(json|color|home|version)\b|-h,", words):
                yield f"flor {command}", words


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=20)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(10**6))
    parser.add_argument("--flor", default=str(SOURCE / "build/ci/cli/flor"))
    options = parser.parse_args()
    print(f"seed {options.seed}")
    for title, lines in (("Comments", comments()), ("Help", help_lines(options.flor)), ("Messages", messages())):
        found = sorted(lines)
        chosen = random.Random(options.seed).sample(found, min(options.count, len(found)))
        print(f"\n{title}: {len(chosen)} of {len(found)}")
        for where, words in chosen:
            print(f"  {where}\n      {words}")


if __name__ == "__main__":
    main()

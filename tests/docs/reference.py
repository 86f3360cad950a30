"""The reference in docs/cli.md is what the declarations say: reference.py run|write PAGE --flor FLOR --program PROGRAM.

Between `<!-- reference: COMMAND -->` and `<!-- end of reference -->` the page has what `FLOR COMMAND --help` lists,
between `<!-- reference: flags -->` and its end what `PROGRAM --flor_help` does. Each command has one such place, and an
example in a block of some page beside PAGE, which pages.py runs (flor doctor tells of the machine: its block is shown).
"""

import argparse
import pathlib
import re
import subprocess
import sys

import pages

PLACE = re.compile(r"(<!-- reference: ([\w ]+) -->\n)(.*?)(<!-- end of reference -->)", re.S)


def printed(*command):
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.split("\n")


def entries(lines):
    """(what is written, what it means), as help lists them; a heading has no meaning."""
    for line in lines:
        if match := re.match(r" +(\S.*?) {2,}(\S.*)", line):
            yield match.groups()
        elif re.match(r"\w[\w ]*:$", line):
            yield line[:-1], None
        elif not line.startswith(" "):
            yield None, None  # text


def row(written, means):
    means = re.sub(r"docs/([\w-]+)\.md", r"[\1.md](\1.md)", means).replace("|", "\\|")
    return f"| `{written}` | {means} |".replace("`" + written, "`" + written.replace("|", "\\|"))


def table(rows):
    return ["| | |", "|---|---|", *rows] if rows else []


def of_command(flor, command):
    lines = printed(flor, command, "--help")
    usage = next(line for line in lines if line.startswith("Usage: "))[7:]
    others = [f"`{line.split(' is the same')[0].strip()}`" for line in lines if " is the same command" in line]
    rows, inside = [], False
    for written, means in entries(lines):
        if means is None:
            inside = written in ("Operands", "Options") if written else inside
        elif inside:
            rows.append(row(written, means))
    title = f"`{usage}`" + (f", also {', '.join(others)}" if others else "")
    return "\n".join([title, "", *table(rows)]).rstrip() + "\n"


def of_flags(program):
    rows, heading = [], ""
    for written, means in entries(printed(program, "--flor_help")):
        if means is not None:
            rows.append((heading.lower(), row(written, means)))
        elif written:
            heading = written
    return "\n".join(["| Flag | Means | With |", "|---|---|---|", *(f"{each} {when} |" for when, each in rows)]) + "\n"


def commands(flor):
    """The commands that `flor help` lists."""
    inside = False
    for line in printed(flor, "help"):
        if re.match(r"\w.*:$", line):
            inside = not line.startswith("Options")
        elif inside and (match := re.match(r"  (\w+) +\w", line)):
            yield match.group(1)


def examples(directory):
    """The commands in the blocks of all pages, those apart that are shown only."""
    blocks = [block for page in sorted(directory.glob("*.md")) for block in pages.parse(page.read_text())[1]]
    run, shown = (" ".join(step[0] for block in blocks if bool(block.reason) == reason for step in block.steps)
                  for reason in (False, True))
    return [set(re.findall(r"\bflor (\w+)", text)) for text in (run, shown)]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("action", choices=["run", "write"])
    parser.add_argument("page", type=pathlib.Path)
    parser.add_argument("--flor", required=True)
    parser.add_argument("--program", required=True)
    options = parser.parse_args()
    text, complaints = options.page.read_text(), []

    def wanted(match):
        name = match.group(2)
        says = of_flags(options.program) if name == "flags" else of_command(options.flor, name)
        if match.group(3) != says:
            complaints.append(f"{options.page}: the reference of {name} is not what its help says; `reference.py write` "
                              f"puts this there:\n{says}")
        return match.group(1) + says + match.group(4)

    declared, places = ["flags", *commands(options.flor)], [match.group(2) for match in PLACE.finditer(text)]
    changed = PLACE.sub(wanted, text)
    if options.action == "write":
        options.page.write_text(changed)
        complaints = []
    for name in declared:
        if places.count(name) != 1:
            complaints.append(f"{options.page} has {places.count(name)} places for the reference of {name}")
    run, shown = examples(options.page.parent)
    for name in declared[1:]:
        if name not in (shown if name == "doctor" else run):
            complaints.append(f"no page has an example of flor {name} that is run")
    print(f"{len(places)} of {len(declared)} references")
    print("\n".join(complaints), end="\n" if complaints else "")
    sys.exit(1 if complaints or len(declared) < 25 else 0)


if __name__ == "__main__":
    main()

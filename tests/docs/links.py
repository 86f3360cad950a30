"""Links and anchors lead to what exists, and README.md leads to every page: links.py SOURCE_DIRECTORY.

Looked at are the relative links of all pages of the repository, and the pages that sources, tests and scripts name in
comments and messages (by its place below docs, with or without an anchor).
"""

import functools
import pathlib
import re
import sys

# Not the project's own: what builds write, and the copies that tests keep.
FOREIGN = ("build", "out", "node_modules", "venv", "shared")
SOURCES = (".cpp", ".h", ".js", ".lua", ".py", ".sh", ".txt", ".cmake", ".in", ".service")


def files(source, folder, endings):
    for path in sorted(folder.iterdir()):
        if path.is_dir() and not path.is_symlink():
            top = folder == source
            if not path.name.startswith(".") and not (top and path.name.startswith(FOREIGN)):
                yield from files(source, path, endings)
        elif path.suffix in endings:
            yield path


def prose(text):
    """The lines of a page that are no code and no comment, with their numbers."""
    text = re.sub(r"<!--.*?-->", lambda match: "\n" * match.group(0).count("\n"), text, flags=re.S)
    fence = None
    for number, line in enumerate(text.split("\n"), 1):
        if match := re.match(r" *(`{3,})", line):
            fence = None if fence and match.group(1).startswith(fence) else fence or match.group(1)
        elif not fence:
            yield number, line


@functools.cache
def anchors(page):
    """What GitHub makes of the headings: lower case, blanks are dashes, the rest of the signs goes."""
    found = {}
    for _, line in prose(page.read_text()):
        if match := re.match(r"#{1,6} +(.*?) *#*$", line):
            heading = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", match.group(1)).lower()
            anchor = re.sub(r"[^\w\- ]", "", heading).replace(" ", "-")
            count = found[anchor] = found.get(anchor, -1) + 1
            if count:
                found[f"{anchor}-{count}"] = 0
    return found


def fault(source, base, target):
    """Why a link of a file in the directory `base` leads nowhere, or nothing; and the page that it leads to."""
    name, _, anchor = target.partition("#")
    page = (base / name).resolve() if name else None
    if page and not page.exists():
        return "there is no such file", None
    if page and source.resolve() not in [page, *page.parents]:
        return "it leads out of the repository", None
    if anchor and page and page.suffix == ".md" and anchor not in anchors(page):
        return "the page has no such heading", page
    return None, page


def main():
    source = pathlib.Path(sys.argv[1])
    complaints, leads, count = [], {}, 0
    for page in files(source, source, (".md",)):
        for number, line in prose(page.read_text()):
            for target in re.findall(r"\]\(([^)\s]+)\)", re.sub(r"`[^`]*`", "", line)):
                if re.match(r"[a-z]+:", target):
                    continue
                count += 1
                target = page.name + target if target.startswith("#") else target
                why, to = fault(source, page.parent, target)
                leads.setdefault(page.resolve(), set()).add(to)
                if why:
                    complaints.append(f"{page.relative_to(source)}:{number}: {target}: {why}")
    for path in files(source, source, SOURCES):
        for number, line in enumerate(path.read_text(errors="replace").split("\n"), 1):
            for target in re.findall(r"\bdocs/[\w./-]*\.md(?:#[\w-]+)?", line):
                count += 1
                if why := fault(source, source, target)[0]:
                    complaints.append(f"{path.relative_to(source)}:{number}: {target}: {why}")
    reached, open_pages = set(), [(source / "README.md").resolve()]
    while open_pages:
        page = open_pages.pop()
        if page and page not in reached:
            reached.add(page)
            open_pages += leads.get(page, ())
    for page in files(source, source / "docs", (".md",)):
        if page.resolve() not in reached:
            complaints.append(f"{page.relative_to(source)}: README.md does not lead here")
    print(f"{count} links")
    for complaint in complaints:
        print(complaint)
    sys.exit(1 if complaints or count < 200 else 0)


if __name__ == "__main__":
    main()

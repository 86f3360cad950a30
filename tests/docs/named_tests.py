"""The tests that pages name exist: named_tests.py SOURCE_DIRECTORY.

tests/exactness.md names tests of GoogleTest. In the last column of the tables of features in docs/comparison.md a name is
one for `ctest -R`: what is started together is named by its executable, not by a test in it. These tables have each
number once, in order, and a row says what shows it, or that there is nothing and why.
"""

import pathlib
import re
import sys

FEATURES = 101
NAME = re.compile(r"`([\w.-]+\*?)`")


def of_googletest(source):
    """The files in which each Suite.Name stands."""
    test = re.compile(r"^(?:TEST|TEST_F|TEST_P|RC_GTEST_PROP|RC_GTEST_FIXTURE_PROP)\((\w+),\s*(\w+)", re.M)
    found = {}
    for path in sorted((source / "tests").rglob("*.cpp")):
        for suite, name in test.findall(path.read_text()):
            found.setdefault(f"{suite}.{name}", set()).add(path)
    return found


def of_ctest(source, tests):
    """What `ctest -R` can be given."""
    names, hidden = set(), set()
    for lists in sorted((source / "tests").rglob("CMakeLists.txt")):
        text = re.sub(r"#.*", "", lists.read_text())
        names.update(re.findall(r"add_test\(NAME ([\w.-]+)\s", text))
        for name, arguments in re.findall(r"flor_(?:warm_)?test\(([\w.]+)\s([^)]*)\)", text):
            if "TOGETHER" in arguments:
                names.add(name)
                hidden.update(lists.parent / file for file in re.findall(r"[\w./]+\.cpp", arguments))
    names.update(f"python.{path.stem[:-5]}" for path in (source / "python/tests").glob("*_test.py"))
    names.update(f"page.{path.stem}" for path in (source / "tests/page").glob("*_test.py"))
    names.update(name for name, files in tests.items() if not files <= hidden)
    return names


def unknown(names, text):
    """The names in backquotes that are none of these; `Suite.*` is any that begins so."""
    for name in NAME.findall(text):
        if not (any(each.startswith(name[:-1]) for each in names) if name.endswith("*") else name in names):
            yield name


def main():
    source = pathlib.Path(sys.argv[1])
    tests = of_googletest(source)
    complaints = []
    exactness = (source / "tests/exactness.md").read_text()
    mentioned = re.findall(r"`[A-Z]\w+\.[A-Z*]\w*\*?`", exactness)
    complaints += [f"tests/exactness.md names {name}" for name in unknown(tests, " ".join(mentioned))]
    names = of_ctest(source, tests)
    rows = [re.split(r"(?<!\\)\|", line)[1:-1] for line in (source / "docs/comparison.md").read_text().split("\n")
            if re.match(r"\| *\d+ \|", line)]
    numbers = [int(row[0]) for row in rows]
    if numbers != list(range(1, FEATURES + 1)):
        complaints.append(f"docs/comparison.md: its features are not numbered from 1 to {FEATURES}: {numbers}")
    for number, row in zip(numbers, rows):
        shown = row[-1].strip()
        complaints += [f"docs/comparison.md, feature {number}: `ctest -R` finds no {name}" for name in unknown(names, shown)]
        if len(row) != 4 or not (NAME.search(shown) or "](" in shown or re.match(r" \*\*No\*\*.*: ", row[2])):
            complaints.append(f"docs/comparison.md, feature {number}: nothing shows it, and no reason is given")
    print(f"{len(mentioned)} tests are named in tests/exactness.md, and {len(rows)} features in docs/comparison.md")
    print("\n".join(complaints))
    sys.exit(1 if complaints or len(mentioned) < 50 else 0)


if __name__ == "__main__":
    main()

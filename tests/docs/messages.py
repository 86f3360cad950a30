"""The messages that docs/faq.md quotes exist: messages.py SOURCE_DIRECTORY.

A heading in backquotes is a message; `…` stands for what varies. What stands between must be found, in this order, in
one string of the sources.
"""

import pathlib
import re
import sys


def strings(source):
    """The string literals of all sources, adjacent ones joined."""
    for path in sorted(source.glob("*/**/*")):
        if path.suffix in (".cpp", ".h") and path.relative_to(source).parts[0] in ("cli", "runtime", "store"):
            text = re.sub(r'"\s*\n\s*"', "", path.read_text())
            for match in re.finditer(r'"((?:[^"\\\n]|\\.)*)"', text):
                yield match.group(1)


def main():
    source = pathlib.Path(sys.argv[1])
    known = list(strings(source))
    quoted = re.findall(r"^### `+ ?(.+?) ?`+$", (source / "docs/faq.md").read_text(), re.M)
    missing = []
    for message in quoted:
        parts = [re.escape(part) for part in message.split("…") if part]
        if not any(len(part) >= 10 for part in parts) or not any(re.search(".*?".join(parts), each) for each in known):
            missing.append(message)
    print(f"{len(quoted)} messages are quoted")
    for message in missing:
        print(f"docs/faq.md quotes what no source says: {message}")
    if len(quoted) < 25:
        print("the page quotes fewer than 25 messages")
    sys.exit(1 if missing or len(quoted) < 25 else 0)


if __name__ == "__main__":
    main()

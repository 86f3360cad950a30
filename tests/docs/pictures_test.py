"""The pictures of README.md are what scripts/pictures.py makes: pictures_test.py PICTURE SOURCE PREFIX."""

import pathlib
import re
import struct
import subprocess
import sys
import tempfile
import xml.etree.ElementTree

import pages


def text_of(svg):
    """What the picture says, line by line, with what differs from run to run made alike."""
    root = xml.etree.ElementTree.fromstring(svg)
    lines = ["".join(each.itertext()) for each in root.iter("{http://www.w3.org/2000/svg}g")]
    return [pages.alike(line) for line in lines]


def spoken(lines):
    """All but the accounting of a replay, whose length decides where a terminal breaks the line."""
    whole = re.sub(r"flor: epochs 0 to 7 replayed.*?flor plot", "flor plot", " ".join(lines))
    return re.sub(r"\s+", "", whole)


def size_of(png):
    if png[:8] != b"\x89PNG\r\n\x1a\n":
        sys.exit("it is no PNG")
    return struct.unpack(">II", png[16:24])


def main():
    picture, source, prefix = sys.argv[1], pathlib.Path(sys.argv[2]), sys.argv[3]
    kept = source / "docs/pictures" / picture
    with tempfile.TemporaryDirectory(prefix="flor-picture-test-") as place:
        made = pathlib.Path(place) / picture
        status = subprocess.run([sys.executable, source / "scripts/pictures.py", kept.stem, made, "--source", source,
                                 "--prefix", prefix]).returncode
        if status:
            sys.exit(status)
        if picture.endswith(".svg"):
            if kept.stat().st_size > 100_000 or made.stat().st_size > 100_000:
                sys.exit("it is larger than 100 KB")
            old, new = (spoken(text_of(path.read_text())) for path in (kept, made))
            if old != new:
                sys.exit(f"the picture says\n  {old}\nand the programs say\n  {new}\nmake it again: see scripts/pictures.py")
        else:
            if kept.stat().st_size > 300_000 or made.stat().st_size < 10_000:
                sys.exit("it is larger than 300 KB, or empty")
            if size_of(kept.read_bytes()) != size_of(made.read_bytes()):
                sys.exit("it has another size than the script gives it: make it again, see scripts/pictures.py")


if __name__ == "__main__":
    main()

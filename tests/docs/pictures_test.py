"""The pictures of README.md are what scripts/pictures.py makes: pictures_test.py PICTURE SOURCE PREFIX.

Compared is what they say. Where there is no Chromium to make another picture of the page, the kept one has to say what is
known of the newest run of docs/sample, and nothing else but what stands in the sources of the page.
"""

import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import xml.etree.ElementTree

import pages

sys.path.insert(0, sys.argv[2] + "/scripts")
import pictures

NO_CHROMIUM = 77
AGAIN = "make it again: see scripts/pictures.py"
# What stands between the words of the page: counts, amounts, times and places.
FILLED_IN = re.compile(r"\d[\d.,]*( (B|[KMG]iB|s|min|h|days?|weeks?|months?)( ago)?)?\b|(file://)?/\S+|[–\n]")


def text_of(svg):
    """What the picture says, line by line, with what differs from run to run made alike."""
    root = xml.etree.ElementTree.fromstring(svg)
    lines = ["".join(each.itertext()) for each in root.iter("{http://www.w3.org/2000/svg}g")]
    return [pages.alike(line) for line in lines]


def spoken(svg):
    """All but the accounting of a replay, whose length decides where a terminal breaks the line."""
    whole = re.sub(r"flor: epochs 0 to 7 replayed.*?flor plot", "flor plot", " ".join(text_of(svg)))
    return re.sub(r"\s+", "", whole)


def page_text(png):
    """What the page says; the directory it was made in is another one each time."""
    return re.sub(r"/tmp/flor-\w+", "/tmp", pictures.description(png.read_bytes()))


def check_alike(old, new):
    if old != new:
        sys.exit(f"the picture says\n  {old}\nand the programs say\n  {new}\n{AGAIN}")


def sample_runs(source, prefix, place):
    """The runs of docs/sample as `flor list --json` has them, the newest first."""
    environment = os.environ | {"FLOR_HOME": f"{place}/home", "HOME": place}
    for words in (["fetch", "spirals", f"file://{source}/docs/sample"], ["list", "--json"]):
        done = subprocess.run([f"{prefix}/bin/flor", *words], env=environment, check=True, capture_output=True, text=True)
    return json.loads(done.stdout)["runs"]


def check_words(text, source, prefix, place):
    runs = sample_runs(source, prefix, place)
    newest = runs[0]
    facts = [newest["experiment"], newest["id"][:8], newest["commit"][:8], newest["status"], f"{newest['epochs']} epochs",
             f"{newest['origin']['kind']} from "]
    facts += [f"{name}\n{of['count']:,} values, {of['min']:.6g} to {of['max']:.6g}, last {of['last']:.6g}\n"
              for name, of in newest["metrics"].items() if of["type"] == "real"]
    missing = [fact.strip() for fact in facts if fact not in text]
    for fact in facts:
        text = text.replace(fact, "\n")
    sources = "".join(path.read_text() for path in (source / "cli/src/serve/page").rglob("*.*"))
    phrases = [phrase.strip(" ,") for phrase in FILLED_IN.sub("\0", text).split("\0")]
    unknown = [phrase for phrase in phrases if phrase not in sources and phrase not in newest["metrics"]]
    if missing or unknown:
        sys.exit(f"the picture does not say {missing}, and says {unknown}, which the page does not\n{AGAIN}")


def main():
    picture, source, prefix = sys.argv[1], pathlib.Path(sys.argv[2]), sys.argv[3]
    kept = source / "docs/pictures" / picture
    if kept.stat().st_size > 300_000:
        sys.exit("it is larger than 300 KB")
    with tempfile.TemporaryDirectory(prefix="flor-picture-test-") as place:
        made = pathlib.Path(place) / picture
        status = subprocess.run([sys.executable, source / "scripts/pictures.py", kept.stem, made, "--source", source,
                                 "--prefix", prefix]).returncode
        if status == NO_CHROMIUM and picture == "page.png":
            check_words(page_text(kept), source, prefix, place)
        elif status:
            sys.exit(status)
        elif picture == "page.png":
            check_alike(*(pages.alike(page_text(path)) for path in (kept, made)))
        else:
            check_alike(*(spoken(path.read_text()) for path in (kept, made)))


if __name__ == "__main__":
    main()

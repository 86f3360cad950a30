"""How fast the page of flor serve is: page.py FLOR HOME, a store as fill_store makes it with LONG.

Prints what a browser says of its own paints, and how long things take until they are seen. Needs
chromium and chromium-driver.
"""

import json
import pathlib
import statistics
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "tests/page"))
from browser import Browser  # noqa: E402

ROUNDS = 5

# Resolves when a condition holds and a frame has been painted since. Returns the milliseconds since the start of the
# navigation, or since `begin`.
SEEN = """
const [condition, begin, done] = [arguments[0], arguments[1], arguments[arguments.length - 1]];
const holds = new Function('return ' + condition);
const look = () => holds() ? requestAnimationFrame(() => setTimeout(() => done(performance.now() - begin), 0))
                           : requestAnimationFrame(look);
look();
"""

# Scrolls through the whole list, one screen for each frame, and returns the durations of the frames.
SCROLL = """
const done = arguments[arguments.length - 1], list = document.querySelector('.scroller');
const frames = [], step = list.scrollHeight / 150;
let last = performance.now();
const next = (now) => {
  frames.push(now - last);
  last = now;
  list.scrollTop += step;
  if (frames.length < 150) requestAnimationFrame(next);
  else done(frames.slice(2).sort((a, b) => a - b));
};
requestAnimationFrame(next);
"""


def later(browser, script, *arguments):
    return browser.call("POST", browser.session + "/execute/async", {"script": script, "args": list(arguments)})


def line(name, values):
    print(f"{name:44} {statistics.median(values):7.1f} ms   (of {len(values)}: {min(values):.1f} to {max(values):.1f})")


def main():
    flor, home = sys.argv[1:]
    server = subprocess.Popen([flor, "--home", home, "serve", "--json"], stdout=subprocess.PIPE, text=True)
    try:
        url = json.loads(server.stdout.readline())["url"]
        first, rows = [], []
        with Browser() as browser:
            for _ in range(ROUNDS):
                browser.open("about:blank")
                browser.open(url)
                rows.append(later(browser, SEEN, "document.querySelectorAll('tbody tr[data-id]').length > 10", 0))
                first.append(browser.wait_until(lambda: browser.run(
                    "return (performance.getEntriesByName('first-contentful-paint')[0] || {}).startTime;"), "a paint"))
            print(browser.text(".count"))
            line("first contentful paint", first)
            line("rows of the table are seen", rows)
            frames = later(browser, SCROLL)
            print(f"{'frames while scrolling through all rows':44} {statistics.median(frames):7.1f} ms   "
                  f"(of {len(frames)}: 95 % under {frames[int(0.95 * len(frames))]:.1f}, longest {frames[-1]:.1f})")
            measure_search(browser)
            measure_curve(browser, url, flor, home)
    finally:
        server.terminate()
        server.wait()


def measure_search(browser):
    taken = []
    for word in ("alpha", "conv", "lr>0.001", "loss<1 and status=finished", ""):
        begin = browser.run("""
            window.before = document.querySelector('.count').innerText + document.querySelector('tbody').innerText;
            const f = document.querySelector('#filter'); f.value = arguments[0]; f.dispatchEvent(new Event('input'));
            return performance.now();""", word)
        taken.append(later(browser, SEEN, "document.querySelector('.count').innerText + document.querySelector('tbody').innerText !== window.before", begin) - 120)
    line("a search, behind the pause of 120 ms", taken)


def measure_curve(browser, url, flor, home):
    run = subprocess.run([flor, "--home", home, "list", "long", "-q"], capture_output=True, text=True, check=True).stdout.strip()
    browser.open("about:blank")
    drawn = "[...document.querySelectorAll('figure.chart figcaption .muted')].some((e) => e.innerText.includes('1,000,000 values'))"
    taken = []
    for _ in range(ROUNDS):
        browser.open("about:blank")
        browser.open(f"{url}#/run/{run}")
        taken.append(later(browser, SEEN, drawn, 0))
    print(f"{'a curve of 1,000,000 values, the first time':44} {taken[0]:7.1f} ms")
    line("the same, again", taken[1:])
    zoomed = []
    for start in (0.1, 0.4, 0.7):
        browser.run("addEventListener('mouseup', () => { window.released = performance.now(); }, {capture: true});")
        browser.drag("figure.chart .u-over", start, start + 0.2)
        closer = "document.querySelector('figure.chart figcaption .muted').innerText.includes('of what is seen')"
        browser.wait_until(lambda: browser.run(f"return {closer};"), "a part of the curve")
        browser.run("document.querySelector('figure.chart .plot').focus();")
        browser.press("0")
        later(browser, SEEN, "!document.querySelector('figure.chart').matches('.zoomed')", 0)
        time.sleep(0.5)
        browser.drag("figure.chart .u-over", start + 0.02, start + 0.22)
        zoomed.append(later(browser, SEEN, closer, browser.run("return window.released;")))
        browser.run("document.querySelector('figure.chart .plot').focus();")
        browser.press("0")
        time.sleep(0.5)
    line("looking at a fifth of it closer", zoomed)


main()

"""What a person sees and does on the page, in a real browser: look_test.py FLOR GALLERY."""

import json
import pathlib
import unittest

import workplace
from browser import Browser
from workplace import LONG, NASTY, Workplace


class LookTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.place = Workplace()
        cls.addClassCleanup(cls.place.close)
        cls.place.fill()
        cls.main = cls.place.run("list", "digits", "-q", "--where", "status=finished", "-n", "1").strip()
        cls.first = cls.place.run("list", "digits", "-q", "--sort", "when", "-n", "1").strip()
        cls.place.judge(cls.main)
        cls.url = cls.place.serve()
        cls.browser = cls.enterClassContext(Browser())

    def setUp(self):
        self.complaints = []
        self.browser.resize(1280, 800)
        self.browser.prefer("light")
        self.go("about:blank")
        self.browser.complaints()  # of the tests before

    def tearDown(self):
        complaints = [line for line in self.browser.complaints() if "favicon" not in line]
        self.assertEqual(complaints, [])

    def go(self, hash_or_url):
        self.browser.open(hash_or_url if ":" in hash_or_url else self.url + hash_or_url)

    def fresh(self, view="#/runs"):
        """The page as somebody sees it who was never here."""
        self.go(self.url + view)
        self.browser.run("localStorage.clear();")
        self.go("about:blank")
        self.go(self.url + view)

    def wait_rows(self, count):
        self.browser.wait_until(lambda: self.browser.count("table.runs tbody tr[data-id]") == count, f"{count} rows")

    def column(self, title):
        return self.browser.run("""
            const heads = [...document.querySelectorAll('table.runs thead th')].map((e) => e.innerText.replace(/ [↑↓]/, ''));
            const at = heads.indexOf(arguments[0]);
            return [...document.querySelectorAll('table.runs tbody tr[data-id]')].map((row) => row.children[at].innerText);""", title)

    @staticmethod
    def pixel(x, y):
        """A script that tells the colour there of the first picture."""
        return ("const c = document.createElement('canvas'), p = c.getContext('2d', {willReadFrequently: true});"
                f"p.drawImage(document.querySelector('canvas.picture'), {-x}, {-y}); return [...p.getImageData(0, 0, 1, 1).data];")

    def no_overflow(self):
        """Nothing makes the page itself scroll sideways."""
        wide = self.browser.run("return document.documentElement.scrollWidth - document.documentElement.clientWidth;")
        self.assertLessEqual(wide, 0)

    def test_the_table_of_runs(self):
        self.fresh()
        self.wait_rows(6)
        self.assertIn("interrupted", self.column("status")[0])
        self.assertIn("failed", self.column("status")[1])
        self.assertIn(NASTY, self.column("experiment"))
        self.browser.wait_text("#live", "live")
        self.no_overflow()
        cut = self.browser.run("const s = document.querySelector('.scroller'); return s.scrollWidth - s.clientWidth;")
        self.assertLessEqual(cut, 0, "the usual columns do not fit")
        self.browser.screenshot("runs-light")
        self.browser.resize(800, 700)
        self.no_overflow()
        self.browser.screenshot("runs-narrow")

    def test_clicks_sort_it(self):
        self.fresh()
        self.wait_rows(6)
        self.browser.click("button[data-name='arg:lr']")
        self.browser.wait_for("th[aria-sort='descending']")
        self.browser.wait_until(lambda: self.column("lr")[:2] == ["0.2", "0.15"], "the greatest first")
        self.browser.click("button[data-name='arg:lr']")
        self.browser.wait_for("th[aria-sort='ascending']")
        self.browser.wait_until(lambda: self.column("lr")[0] == "0.05", "the least first")
        self.browser.screenshot("runs-sorted")
        self.browser.click("button[data-name='arg:lr']")
        self.browser.wait_until(lambda: self.browser.count("th[aria-sort='none']") > 4, "the usual order")

    def test_words_and_conditions_find_runs(self):
        self.fresh()
        self.wait_rows(6)
        self.browser.click("#filter")
        self.browser.write("#filter", "lr>=0.1 and status=finished")
        self.browser.wait_until(lambda: "of 6 runs" in self.browser.text(".count"), "fewer runs")
        self.assertEqual(set(self.column("status")), {"finished"})
        self.browser.screenshot("runs-found")
        self.browser.run("document.querySelector('#filter').value = '';")
        self.browser.write("#filter", "lr>>1")
        self.browser.wait_text(".failure", "condition")
        self.browser.screenshot("runs-wrong-condition")
        self.browser.run("document.querySelector('#filter').value = '';")
        self.browser.write("#filter", "nobody has this")
        self.browser.wait_text(".empty", "No matching runs")
        self.browser.complaints()  # a refused condition shows in the console, too

    def test_columns_are_chosen_and_remembered(self):
        self.fresh()
        self.wait_rows(6)
        self.browser.click("#columns")
        self.browser.wait_for("dialog[open] input[value='duration']")
        self.browser.screenshot("columns")
        self.browser.click("dialog input[value='duration']")
        self.browser.click("dialog input[value='size']")
        self.browser.click("dialog .main")
        self.browser.wait_for("button[data-name='duration']")
        self.assertEqual(self.browser.count("button[data-name='size']"), 0)
        self.go("about:blank")
        self.go(self.url)
        self.browser.wait_for("button[data-name='duration']")

    def test_everything_is_reached_by_keys(self):
        self.fresh()
        self.wait_rows(6)
        self.browser.press("j", "j", "x", "j")
        self.browser.wait_until(lambda: self.browser.count("tr.chosen") == 1, "a chosen run")
        self.assertEqual(self.browser.run("return [...document.querySelectorAll('tbody tr[data-id]')].findIndex((e) => e.matches('.at'));"), 3)
        self.browser.press("ArrowDown", "x")
        self.browser.wait_text("#compare", "Compare 2")
        self.browser.screenshot("runs-chosen")
        self.browser.press("c")
        self.browser.wait_text("h1", "Comparing 2 runs")
        self.browser.press("g", "r")
        self.wait_rows(6)
        self.browser.press("/")
        self.browser.press(*"digits")
        self.browser.wait_until(lambda: "of 6 runs" in self.browser.text(".count"), "fewer runs")
        self.browser.press("Enter", "j", "Enter")
        self.browser.wait_for(".tabs")
        for key, tab in (("2", "Logged"), ("3", "Checkpoints"), ("7", "Details"), ("1", "Metrics")):
            self.browser.press(key)
            self.browser.wait_until(lambda: tab in self.browser.text("[aria-selected='true']"), tab)
        self.browser.press("u")
        self.wait_rows(4)  # the list is as it was left
        self.browser.press("?")
        self.browser.wait_for("dialog#keys[open]")
        self.browser.screenshot("help")
        self.browser.press("Escape")
        self.browser.wait_until(lambda: self.browser.count("dialog[open]") == 0, "the help to go")
        self.browser.press("Tab")
        self.assertNotEqual(self.browser.run("return document.activeElement.tagName;"), "BODY")

    def test_names_of_people_are_text(self):
        self.fresh()
        key = self.place.run("list", NASTY, "-q").strip()
        self.go(f"{self.url}#/run/{key}/details")
        self.browser.wait_text("h1", NASTY)
        self.browser.wait_text("main", "<img src=x onerror=alert(1)>")
        self.assertEqual(self.browser.count("main script, main img"), 0)
        self.browser.screenshot("nasty-name")

    def test_metrics_of_a_run(self):
        self.fresh(f"#/run/{self.main}")
        self.browser.wait_for("figure.chart canvas")
        self.browser.wait_until(lambda: self.browser.count("figure.chart canvas") >= 3, "three plots")
        self.browser.wait_text("figure.chart figcaption", "160 values")
        self.no_overflow()
        self.browser.screenshot("run-metrics-light")
        self.browser.run("const s = document.querySelector('#smoothing'); s.value = 0.8; s.dispatchEvent(new Event('input'));")
        self.browser.wait_text("figure.chart .u-legend", "as logged")
        self.browser.screenshot("run-metrics-smooth")
        self.browser.run("const s = document.querySelector('#axis'); s.value = 'epoch'; s.dispatchEvent(new Event('change'));")
        self.browser.wait_text("figure.chart .u-legend", "epoch")
        self.browser.resize(800, 900)
        self.browser.wait_until(lambda: self.browser.run(
            "return document.querySelector('.u-wrap').clientWidth === document.querySelector('.plot').clientWidth;"), "a plot as wide as its place")
        self.no_overflow()
        self.browser.screenshot("run-metrics-narrow")

    def test_a_part_of_a_curve_is_seen_closer(self):
        self.fresh(f"#/run/{self.main}")
        self.browser.wait_for("figure.chart .u-over")
        self.browser.drag("figure.chart .u-over", 0.25, 0.5)
        self.browser.wait_for("figure.chart.zoomed")
        self.browser.wait_text("figure.chart figcaption", "of what is seen")
        self.browser.screenshot("run-metrics-zoomed")
        self.browser.run("document.querySelector('figure.chart .plot').focus();")
        self.browser.press("0")
        self.browser.wait_until(lambda: self.browser.count("figure.chart.zoomed") == 0, "all of the curve")

    def test_dark_as_the_system_prefers_or_as_somebody_chose(self):
        self.browser.prefer("dark")
        self.fresh()
        self.wait_rows(6)
        back = "return getComputedStyle(document.documentElement).backgroundColor;"
        self.assertEqual(self.browser.run(back), "rgb(18, 22, 27)")
        self.browser.screenshot("runs-dark")
        self.browser.click("#theme")
        self.assertEqual(self.browser.run(back), "rgb(255, 255, 255)")
        self.browser.click("#theme")
        self.browser.prefer("light")
        self.assertEqual(self.browser.run(back), "rgb(18, 22, 27)")
        self.go("about:blank")
        self.go(f"{self.url}#/run/{self.main}")
        self.browser.wait_until(lambda: self.browser.count("figure.chart canvas") >= 3, "three plots")
        self.browser.screenshot("run-metrics-dark")
        self.go(f"{self.url}#/run/{self.main}/logged")
        self.browser.wait_for(".confusion")
        self.browser.screenshot("run-logged-dark")

    def test_histograms_pictures_and_tables(self):
        self.fresh(f"#/run/{self.main}/logged")
        self.browser.wait_for("svg.histogram .bars")
        self.browser.wait_for("canvas.picture")
        self.browser.wait_text(".confusion caption", "accuracy")
        self.assertIn("horse", self.browser.text(".confusion thead"))
        self.assertEqual(self.browser.text(".confusion tbody tr:first-child td.right"), "92")
        self.browser.wait_text("main", "64 × 64")
        self.browser.wait_text("main", "as usual")
        self.browser.resize(1280, 2300)
        self.browser.screenshot("run-logged")
        # Overlays: other epochs over a histogram, a mask over a picture.
        self.browser.click(".logged label input[type='checkbox']")
        self.browser.wait_for("svg.histogram .ghost")
        colour = self.pixel(25, 16)
        before = self.browser.run(colour)
        self.browser.run("const s = document.querySelector('.logged .controls select'); s.value = 'mask'; s.dispatchEvent(new Event('change'));")
        self.browser.wait_until(lambda: self.browser.run(colour) != before, "the mask over the picture")
        self.browser.screenshot("run-logged-overlays")
        # Another epoch.
        self.browser.click("section.logged .stepper button")
        self.browser.wait_text("section.logged .where", "epoch 6")
        self.browser.resize(800, 2300)
        self.no_overflow()
        self.browser.screenshot("run-logged-narrow")

    def test_checkpoints_and_why_they_are_kept(self):
        self.fresh(f"#/run/{self.main}/checkpoints")
        self.browser.wait_text("main table", "no rule deletes it")
        self.assertIn("forced by --flor_every", self.browser.text("main table"))
        self.no_overflow()
        self.browser.screenshot("run-checkpoints")

    def test_verdicts_of_replays(self):
        self.fresh(f"#/run/{self.main}/replays")
        self.browser.wait_text("main table", "verified")
        self.browser.screenshot("run-replays")
        self.go(f"{self.url}#/run/{self.first}/replays")
        self.browser.wait_text(".empty", "Not replayed yet")

    def test_sources_since_the_version_before(self):
        self.fresh(f"#/run/{self.main}/sources")
        self.browser.wait_text("main", "Net net(784, 128);")
        self.assertGreaterEqual(self.browser.count("tr.added"), 2)
        self.assertGreaterEqual(self.browser.count("tr.removed"), 1)
        self.browser.screenshot("run-sources")

    def test_details(self):
        self.fresh(f"#/run/{self.main}/details")
        self.browser.wait_text("main", "nested loops")
        self.no_overflow()
        self.browser.screenshot("run-details")

    def test_runs_beside_each_other(self):
        self.fresh(f"#/compare/{self.main},{self.first}")
        self.browser.wait_until(lambda: self.browser.count("figure.chart canvas") >= 2, "two plots")
        self.browser.wait_text("main", "Arguments")
        self.browser.wait_text("main", "Net net(784, 64);")
        rows = self.browser.texts("section table tbody tr")
        self.assertTrue(any(row.startswith("lr") and "0.05" in row and "0.1" in row for row in rows), rows)
        self.no_overflow()
        self.browser.screenshot("compare-light")
        self.browser.resize(1280, 2200)
        self.browser.screenshot("compare-whole")
        self.browser.click(".toolbar label input[type='checkbox'][type='checkbox']:not(#log)")
        self.browser.wait_text("main", "steps")

    def test_long_names_do_not_break_anything(self):
        key = self.place.run("list", LONG, "-q").strip()
        self.fresh(f"#/run/{key}/details")
        self.browser.wait_text("h1", LONG)
        self.browser.resize(800, 700)
        self.no_overflow()
        self.browser.screenshot("long-name")

    def test_evaluations_are_tried_again(self):
        self.fresh("#/jobs")
        self.browser.wait_text("main table", "given up")
        self.browser.screenshot("jobs-light")
        dead = self.browser.run("return [...document.querySelectorAll('tr[data-id]')].filter((r) => r.innerText.includes('given up')).map((r) => r.dataset.id);")
        self.browser.click(f"[data-key='log {dead[0]}']")
        self.browser.wait_text("pre.log", "I cannot judge it")
        self.browser.screenshot("jobs-log")
        self.browser.click(f"[data-key='retry {dead[0]}']")
        self.browser.wait_text(f"tr[data-id='{dead[0]}']", "waiting")
        self.place.write("judge-works", "")
        self.place.run("watch", "--run", self.main, "--as", "reference", "--evaluator", "./judge {}", "--retries", "0", "--existing",
                       "--until-idle")
        self.browser.wait_text(f"tr[data-id='{dead[0]}']", "done")
        self.browser.wait_text(f"tr[data-id='{dead[0]}']", "score = ")
        self.browser.screenshot("jobs-done")
        self.go(f"{self.url}#/run/{self.main}/jobs")
        self.browser.wait_text("main table", "judge")
        self.browser.screenshot("run-jobs")

    def test_a_run_that_is_not_there(self):
        self.fresh("#/run/abcdefabcdef")
        self.browser.wait_text(".failure", "abcdefabcdef")
        self.browser.screenshot("no-such-run")
        self.browser.complaints()

    def test_a_report_opens_from_a_file(self):
        file = self.place.root / "report.html"
        self.place.run("report", self.main, "-o", str(file))
        self.go(f"file://{file}")
        self.browser.wait_text("h1", "digits")
        self.browser.wait_until(lambda: self.browser.count("figure.chart canvas") >= 3, "three plots")
        self.assertEqual(self.browser.count("nav a"), 0)
        self.browser.screenshot("report")
        self.browser.press("2")
        self.browser.wait_for(".confusion")
        self.browser.wait_for("canvas.picture")
        self.browser.wait_until(lambda: self.browser.run(self.pixel(3, 3))[3] == 255, "the picture")
        self.browser.press("3")
        self.browser.wait_text("main table", "no rule deletes it")
        self.browser.press("5")
        self.browser.wait_text("main table", "given up")
        self.browser.press("6")
        self.browser.wait_text("main", "Net net(784, 128);")
        asked = self.browser.run("return performance.getEntriesByType('resource').map((e) => e.name).filter((n) => !n.startsWith('data:'));")
        self.assertEqual(asked, [])


if __name__ == "__main__":
    workplace.main()

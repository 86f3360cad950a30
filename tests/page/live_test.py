"""The page while things happen: live_test.py FLOR GALLERY."""

import signal
import unittest

import workplace
from browser import Browser
from workplace import Workplace


class LiveTest(unittest.TestCase):
    def setUp(self):
        self.place = Workplace()
        self.addCleanup(self.place.close)
        self.place.record("before", "epochs=2")
        self.url = self.place.serve()
        self.browser = self.enterContext(Browser())

    def values(self):
        """How many of the loss the page has."""
        return int(self.browser.text("figure.chart figcaption .muted").split()[0].replace(",", ""))

    def test_a_run_appears_and_is_drawn_while_it_goes_on(self):
        browser = self.browser
        browser.open(self.url)
        browser.wait_text("table.runs", "before")
        training = self.place.begin("live", "epochs=400", "steps=10", "pause_ms=20")
        try:
            browser.wait_text("table.runs tbody", "live", 20)
            browser.wait_text("table.runs tbody", "running", 20)
            browser.press("Home", "Enter")
            browser.wait_text("h1", "live")
            first = browser.wait_until(self.values, "values of the loss", 20)
            browser.wait_until(lambda: self.values() > first + 20, "more values", 20)
            epochs = browser.text(".facts")
            browser.wait_until(lambda: browser.text(".facts") != epochs, "more epochs", 20)
            # Looking closer stays where it is while values come.
            browser.drag("figure.chart .u-over", 0.1, 0.6)
            browser.wait_for("figure.chart.zoomed")
            browser.screenshot("live")
            # Killed: nobody writes that down, and the page sees it all the same.
            training.send_signal(signal.SIGKILL)
            browser.wait_text(".head", "interrupted", 20)
            self.assertEqual(browser.count("figure.chart.zoomed"), 1)
            browser.wait_text(".head", "--flor_resume")
        finally:
            training.kill()
            training.communicate()

    def test_it_says_that_the_server_is_gone(self):
        self.browser.open(self.url)
        self.browser.wait_text("#live", "live")
        self.place.server.send_signal(signal.SIGINT)
        self.assertEqual(self.place.server.wait(20), 0)
        self.browser.wait_text("#live", "no answer")
        self.browser.screenshot("server-gone")


if __name__ == "__main__":
    workplace.main()

"""Values of iterations and flor.iteration: recorded, compared in replays, columns of every frame."""

import os
import unittest

from workbench import Script

PARSE = """
    import os, pathlib
    files = [pathlib.Path(name) for name in os.environ.get("DOCUMENTS", "b.pdf a.pdf").split()]
    for document in flor.loop("document", files):
        for page in flor.loop("page", 2):
            flor.log("words", 100 * len(document.name) + page)
"""
LABEL = """
    import threading
    def answer(number, name, text):
        with flor.iteration("document", number, name):
            for page in flor.loop("page", 2):
                flor.log("label", f"{text}{page}")
            flor.log("by", "me")
    answer(1, "a.pdf", "letter")
    handler = threading.Thread(target=answer, args=(0, "b.pdf", "bill"))
    handler.start(); handler.join()
    answer(1, "a.pdf", "bill")
"""


class IterationsTest(Script):
    def frame(self, *names, **options):
        os.environ["FLOR_HOME"] = self.environment["FLOR_HOME"]
        import flor
        return flor.query(*names, **options)

    def rows(self, frame, *columns):
        return [tuple(row) for row in frame[list(columns)].itertuples(index=False)]

    def test_features_and_labels_meet_in_the_value_of_the_document(self):
        self.program(PARSE)
        self.record("train.py", "parse")
        words = self.frame("words", run="parse")
        self.assertEqual(self.rows(words, "document", "document_value", "page", "words"),
                         [(0, "b.pdf", 0, 500), (0, "b.pdf", 1, 501), (1, "a.pdf", 0, 500), (1, "a.pdf", 1, 501)])
        self.program(LABEL)
        self.record("train.py", "label")
        labels = self.frame("label", run="label")
        last = labels.sort_values("ordinal").groupby(["document_value", "page"]).tail(1)
        joined = words.merge(last, on=["document_value", "page"]).sort_values(["document_value", "page"])
        self.assertEqual(self.rows(joined, "document_value", "page", "words", "label"),
                         [("a.pdf", 0, 500, "bill0"), ("a.pdf", 1, 501, "bill1"),
                          ("b.pdf", 0, 500, "bill0"), ("b.pdf", 1, 501, "bill1")])
        self.assertIn("verified", self.python("train.py", "--replay_flor").stderr)

    def test_a_replay_over_other_files_differs(self):
        self.program(PARSE)
        self.record("train.py", "parse")
        self.assertIn("verified", self.python("train.py", "--replay_flor").stderr)
        self.environment["DOCUMENTS"] = "b.pdf x.pdf"
        other = self.python("train.py", "--replay_flor", status=7)
        self.assertIn("the value of the iteration at document 1: recorded 'a.pdf', replayed 'x.pdf'", other.stderr)

    def test_elements_of_every_kind(self):
        self.program(r"""
            import enum, numpy, os, pathlib, torch
            class Kind(enum.IntEnum):
                ODD = 7
            class Word(str): pass
            class Broken:
                def __fspath__(self): raise ValueError("no path")
            def seen(name, elements):
                for count, element in enumerate(flor.loop(name, elements)):
                    flor.log("n", count)
            seen("numbers", [10, 0.5, numpy.float32(0.25), numpy.int64(3), Kind.ODD, 1 << 70, float("inf")])
            seen("texts", ["h\u00e9", Word("word"), pathlib.Path("a/b"), numpy.str_("np"), "half \udcff", b"bytes"])
            seen("none", [True, None, (1, 2), torch.tensor(5), torch.ones(2), numpy.ones(2), Broken(), object()])
            seen("plain", range(3))
            seen("by_tens", range(0, 30, 10))
            seen("settings", ["password=tr0ub4dor"])
            seen("long", ["x" * 5000])
        """)
        done = self.record("train.py", "t")
        self.assertIn('a value of the loop "long" has more than 1024 bytes', done.stderr)
        frame = self.frame("n", run="t")
        def values(name):
            return list(frame[frame["loop"] == name][name + "_value"])
        self.assertEqual(values("numbers"), [10, 0.5, 0.25, 3, 7, str(1 << 70), float("inf")])
        self.assertEqual(values("texts")[:5], ["h\u00e9", "word", "a/b", "np", "half \\xff"])
        self.assertNotIn("none_value", frame.columns)
        self.assertNotIn("plain_value", frame.columns)
        self.assertEqual(values("by_tens"), [0, 10, 20])
        self.assertEqual(values("settings"), ["password=***"])
        self.assertEqual(values("long"), ["x" * 1021 + "..."])
        self.assertEqual(list(frame[frame["loop"] == "plain"]["plain"]), [0, 1, 2])
        self.assertIn("verified", self.python("train.py", "--replay_flor").stderr)

    def test_without_a_session_and_with_a_wrong_number(self):
        self.program("""
            with flor.iteration("document", 0, "a.pdf"):
                print([page for page in flor.loop("page", 2)])
            try:
                with flor.iteration("document", -1): pass
            except flor.UsageError as error:
                print(error)
        """)
        said = "[0, 1]\nflor.iteration(\"document\", -1): iterations are counted from 0: give the number of this one\n"
        self.assertEqual(self.python("train.py").stdout, said)
        self.assertEqual(self.record("train.py", "t").stdout, said)

    def test_a_resumed_run_has_each_value_once(self):
        self.program("""
            import os
            for document in flor.loop("document", ["b.pdf", "a.pdf", "c.pdf"]):
                with flor.iteration("round", 0, "first"):
                    flor.log("before", document)
                for page in flor.loop("page", 3):
                    flor.log("words", page)
                    if document == "a.pdf" and page == 1 and os.environ.get("DIES"):
                        os.kill(os.getpid(), 9)
        """)
        self.environment["DIES"] = "1"
        self.python("train.py", "--flor", "t", "--flor_every", "1", status=-9)
        del self.environment["DIES"]
        self.python("train.py", "--flor", "t", "--flor_resume")
        frame = self.frame("before", "words", run="t")
        self.assertEqual(self.rows(frame[frame["loop"] == "document/page"], "document_value", "page", "words"),
                         [(name, page, page) for name in ("b.pdf", "a.pdf", "c.pdf") for page in range(3)])
        self.assertEqual(self.rows(frame[frame["loop"] == "document/round"], "document_value", "round_value", "before"),
                         [(name, "first", name) for name in ("b.pdf", "a.pdf", "c.pdf")])


if __name__ == "__main__":
    unittest.main()

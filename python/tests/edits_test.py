"""Questions whose loops have to be executed: found in the sources, and answered as the first run would have."""

import os
import unittest

from flor._sources import analyze

from edits import aliases, calls, inside, names, objects
from workbench import Workbench

HEAD = "import flor\nimport sys\nflor.init()\n"
EDITS = [edit for module in (names, calls, inside, objects, aliases) for edit in module.EDITS]


def versions(files, edits):
    before = {name: (HEAD if name == "train.py" else "") + text.lstrip("\n") for name, text in files.items()}
    now = dict(before)
    for name, pairs in edits.items():
        for old, new in pairs:
            assert old in now[name], (name, old)
            now[name] = now[name].replace(old, new, 1)
    return before, now


class FoundTest(unittest.TestCase):
    def test_each_question_executes_the_loop(self):
        for name, files, edits in EDITS:
            with self.subTest(name):
                before, now = versions(files, edits)
                changed = [(file, before[file], now[file]) for file in now if now[file] != before[file]]
                rest = [(file, text) for file, text in now.items() if text == before[file]]
                found = analyze(changed, rest, "/somewhere/train.py", {"train"}, {"epoch"}, True)
                self.assertEqual([row[0] for row in found.touched], ["train"])
                self.assertEqual(found.computation, [])


class AnsweredTest(Workbench):
    """Every twelfth is recorded, asked, and compared with a recording that had the question; all with
    FLOR_TEST_ALL_EDITS=1."""

    def test_the_answers_are_those_of_the_first_run(self):
        chosen = EDITS if os.environ.get("FLOR_TEST_ALL_EDITS") else EDITS[::12]
        for name, files, edits in chosen:
            with self.subTest(name):
                before, now = versions(files, edits)
                label = name.replace(" ", "_")
                for file, text in before.items():
                    self.write(f"asked_{label}/{file}", text)
                    self.write(f"truth_{label}/{file}", now[file])
                self.run_in(f"truth_{label}", "--flor", f"truth_{label}", "--flor_every", "1")
                self.run_in(f"asked_{label}", "--flor", f"asked_{label}", "--flor_every", "1")
                for file, text in now.items():
                    self.write(f"asked_{label}/{file}", text)
                self.run_in(f"asked_{label}", "--replay_flor", "--flor_verify", "none")
                self.assertEqual(self.values("q", f"asked_{label}"), self.values("q", f"truth_{label}"))

    def run_in(self, directory, *words):
        import sys
        self.run_words([sys.executable, "train.py", *words], cwd=self.repository / directory)


if __name__ == "__main__":
    unittest.main()

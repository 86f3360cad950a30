"""flor.query in a recorded session: what it is told is an input of the run, and is told again."""

import json
import unittest

from workbench import Script


class AskingTest(Script):
    ASKS = """
        def count(name, **options):
            try:
                return len(flor.query(name, **options))
            except flor.NotFound as error:
                print("none:", str(error).split(":")[0])
                return 0
        frame = flor.query("label", experiment="labels", latest=True, columns="annotator")
        print("labels", dict(zip(frame["document_value"], frame["label"])), sorted(set(frame["annotator"])))
        print("corrections", count("label", experiment="corrections"))
        weight = 0.0
        state = {"weight": weight}
        flor.checkpoints(state=state)
        for epoch in flor.loop("epoch", 3):
            for label in flor.loop("step", len(frame)):
                state["weight"] += float(frame["label"].iloc[label])
            flor.log("weight", state["weight"])
    """

    def setUp(self):
        super().setUp()
        self.program("""
            flor.arg("annotator", "ada")
            for document in flor.loop("document", sys.argv[1:]):
                flor.log("label", len(document) * 0.5)
        """, "label.py")
        self.program(self.ASKS)
        self.label("labels", "a.pdf", "bb.pdf")

    def label(self, name, *documents):
        self.python("label.py", *documents, "--flor", name)

    def inputs(self, run):
        shown = json.loads(self.flor("show", run, "--json").stdout)["run"]["inputs"]
        return [(each["kind"], each["name"], each["rows"], [kin["experiment"] for kin in each["from"]])
                for each in shown]

    def test_a_replay_is_told_what_the_recording_was_told(self):
        recorded = self.record("train.py", "t")
        self.assertIn("labels {'a.pdf': 2.5, 'bb.pdf': 3.0} ['ada']\n"
                      "none: no experiment 'corrections'\ncorrections 0\n", recorded.stdout)
        self.assertEqual(self.inputs("t"),
                         [("query", "label --experiment labels --latest --columns annotator", 2, ["labels"])])
        labels = json.loads(self.flor("show", "labels", "--json").stdout)["run"]
        self.assertEqual([each["experiment"] for each in labels["read_by"]], ["t"])
        self.label("labels", "a.pdf", "bb.pdf", "c.pdf")
        self.label("corrections", "a.pdf")
        self.flor("rm", labels["id"])
        for words in ([], ["--flor_probe", "step"], ["1/3"]):
            replayed = self.python("train.py", "--replay_flor", *words)
            self.assertTrue(replayed.stdout.startswith(recorded.stdout), replayed.stdout)
            self.assertNotIn("not in the record", replayed.stderr)
        self.assertIn("'c.pdf': 2.5", self.record("train.py", "t").stdout)

    def test_the_run_that_asks_is_no_part_of_the_answer(self):
        self.program("print(len(flor.query('label')))\nfor e in flor.loop('epoch', 2): flor.log('label', e)", "own.py")
        self.assertEqual(self.python("own.py", "--flor", "labels").stdout, "2\n")

    def test_means_come_from_all_runs_of_their_groups(self):
        self.python("label.py", "a.pdf", "bb.pdf", "--flor", "labels", "--kwargs", "annotator=eve")
        self.program("print(flor.query('label', experiment='labels', over='annotator')['n'].tolist())\n"
                     "for e in flor.loop('epoch', 2): pass", "means.py")
        recorded = self.record("means.py", "m")
        self.assertEqual(recorded.stdout, "[2, 2]\n")
        self.assertEqual(self.inputs("m"),
                         [("query", "label --experiment labels --over annotator", 2, ["labels", "labels"])])
        self.label("labels", "a.pdf")
        self.assertEqual(self.python("means.py", "--replay_flor").stdout, recorded.stdout)

    def test_a_question_that_was_added_since_makes_a_replay_doubtful(self):
        self.record("train.py", "t")
        self.program(self.ASKS + "    flor.query('label', run='labels')\n")
        replayed = self.python("train.py", "--replay_flor", status=None)
        self.assertIn("flor.query label --run labels, ", replayed.stderr)
        self.assertIn("is not in the record of run", replayed.stderr)

    def test_a_replay_is_told_again_what_was_refused(self):
        self.program("for options in ({'run': 'labels', 'experiment': 'labels'}, {'run': 'labels'}):\n"
                     "    try:\n"
                     "        print(len(flor.query('label', **options)))\n"
                     "    except flor.UsageError as error:\n"
                     "        print('refused', error)\n"
                     "for e in flor.loop('epoch', 2): flor.log('e', e)", "refused.py")
        recorded = self.record("refused.py", "r")
        self.assertRegex(recorded.stdout, "refused --run and --experiment exclude each other.*\n2\n")
        replayed = self.python("refused.py", "--replay_flor")
        self.assertEqual(replayed.stdout, recorded.stdout)
        self.assertNotIn("not in the record", replayed.stderr)

    def test_without_a_session_nothing_is_kept(self):
        runs = self.flor("list", "--json").stdout
        self.assertIn("labels {'a.pdf': 2.5", self.python("train.py").stdout)
        self.assertEqual(self.flor("list", "--json").stdout, runs)


if __name__ == "__main__":
    unittest.main()

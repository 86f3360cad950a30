"""Values, arguments and checkpoints: recorded, and read again through the store."""

import textwrap
import unittest

import numpy
import pandas
import torch

from workbench import Script


class ValuesTest(Script):
    def frame(self, *names, **options):
        import os
        os.environ["FLOR_HOME"] = self.environment["FLOR_HOME"]
        import flor
        return flor.query(*names, **options)

    def test_values_of_every_kind(self):
        self.program("""
            import torch, numpy, decimal
            values = dict(real=0.1, whole=7, yes=True, text="a\\u00e9", tensor=torch.tensor(0.25), array=numpy.array([3]),
                          scalar=numpy.float32(0.1), half=torch.tensor(1.5, dtype=torch.bfloat16), nan=float("nan"),
                          big=1 << 70, items=[1, torch.tensor(2)], table={"a": 0.5}, boolean=numpy.bool_(False))
            for epoch in flor.loop("epoch", 2):
                for name, value in values.items():
                    assert flor.log(name, value) is value
                flor.log_histogram("histogram", torch.randn(100))
                flor.log_tensor("matrix", torch.eye(2).t())
                flor.log_tensor("doubles", numpy.ones((2, 3))[:, ::2])
                flor.log_image("image", numpy.zeros((4, 5), dtype="uint8"))
                flor.log_table("confusion", numpy.eye(2), columns=["a", "b"], row_names=["a", "b"])
        """)
        self.record("train.py", "t")
        names = ["real", "whole", "yes", "text", "tensor", "array", "scalar", "half", "nan", "big", "boolean"]
        frame = self.frame(*names, run="t")
        row = frame.iloc[0]
        self.assertEqual(len(frame), 2)
        self.assertEqual([row[name] for name in names if name != "nan"],
                         [0.1, 7, True, "a\u00e9", 0.25, 3, float(numpy.float32(0.1)), 1.5, str(1 << 70), False])
        self.assertTrue(pandas.isna(row["nan"]))
        self.assertEqual(row["verdict"], "recorded")
        shown = self.flor("show", "t").stdout
        for name in ("histogram", "matrix", "doubles", "image", "confusion", "items", "table"):
            self.assertIn(name, shown)

    def test_a_value_that_cannot_be_kept_is_said_and_does_not_end_the_training(self):
        self.program("""
            import torch
            for epoch in flor.loop("epoch", 1):
                flor.log("many", torch.ones(2))
                flor.log("odd", object())
                flor.log_table("words", [["a", 1]])
                flor.log_table("nothing", None)
                flor.log_histogram("texts", ["a"])
                flor.log_tensor("uneven", [[1], [1, 2]])
                flor.log_tensor("objects", [object()])
                flor.log_image("letters", ["a"])
        """)
        done = self.record("train.py", "t")
        for line in ('"many"): it has more than one element: use flor.log_tensor', '"odd"): a object is no number',
                     '"words"): the cells of a table are numbers, which \'a\' is not', '"nothing"): ', '"texts"): ',
                     '"uneven"): ', '"objects"): its elements are of type object', '"letters"): its elements are of type <U1'):
            self.assertIn(f"flor.log({line}", done.stderr)
        self.assertNotIn("objects", self.flor("show", "t").stdout)

    def test_an_object_inside_of_a_value_is_the_same_text_in_a_replay(self):
        self.program("""
            import decimal, torch
            for epoch in flor.loop("epoch", 2):
                flor.log("settings", {"loss": torch.nn.functional.relu, "half": decimal.Decimal("0.5"), "odd": object()})
        """)
        self.record("train.py", "t")
        self.assertEqual(self.frame("settings", run="t")["settings"][1],
                         {"loss": "<function relu>", "half": "0.5", "odd": "<object object>"})
        self.assertIn("verified: 2 of 2", self.python("train.py", "--replay_flor").stderr)

    def test_a_name_that_is_no_text_is_an_error_in_every_mode(self):
        self.program("flor.log(1, 2)")
        self.assertIn("the name is a text", self.python("train.py", status=1).stderr)

    def test_arguments_are_recorded_and_come_back(self):
        self.program("""
            import random
            print(flor.arg("lr", 0.1), flor.arg("n", 3), flor.arg("name", "x"), flor.arg("yes", False),
                  flor.arg("seed", random.randrange(1 << 40)), sys.argv[1:])
            for epoch in flor.loop("epoch", 1): flor.log("a", 1)
        """)
        done = self.python("train.py", "--own", "--flor", "t", "--kwargs", "lr=0.5", "yes=true")
        self.assertTrue(done.stdout.startswith("0.5 3 x True "))
        self.assertTrue(done.stdout.endswith("['--own']\n"))
        self.assertEqual(self.python("train.py", "--replay_flor", "--own").stdout, done.stdout)
        wrong = self.python("train.py", "--flor", "t", "--kwargs", "n=x", status=2)
        self.assertIn("flor: --kwargs n=x: 'x' is not a whole number", wrong.stderr)

    def test_frames_have_columns_of_the_run_and_means_over_runs(self):
        self.program("""
            rate = flor.arg("rate", 0.5)
            for epoch in flor.loop("epoch", 2):
                flor.log("loss", rate * epoch)
        """)
        for rate in ("0.5", "1.5"):
            self.record("train.py", "t", "--kwargs", f"rate={rate}")
        frame = self.frame("loss", experiment="t", columns="rate,commit")
        self.assertEqual(list(frame)[:4], ["run", "experiment", "rate", "commit"])
        self.assertEqual(list(frame["loss"]), list(frame["rate"] * frame["epoch"]))
        means = self.frame("loss", experiment="t", over="rate")
        self.assertEqual(list(means["mean"]), [0, 1])
        self.assertEqual(list(means["runs"]), [2, 2])
        self.assertEqual(set(self.frame("loss", experiment="t", group_by="rate")["rate"]), {0.5, 1.5})
        with self.assertRaisesRegex(Exception, "two columns are called 'loss'"):
            self.frame("loss", experiment="t", columns="loss")

    def test_wrong_flags_end_the_program_with_one_line_and_status_2(self):
        self.program("print('no')")
        done = self.python("train.py", "--flor_evry", "1", status=2)
        self.assertEqual(len(done.stderr.splitlines()), 1)
        self.assertEqual(done.stdout, "")

    def test_keyword_arguments_open_a_session_and_flags_win(self):
        text = ("import flor\nsession = flor.init(record='t', every=1)\nprint(session.mode, flor.mode())\n"
                "for e in flor.loop('epoch', 2):\n    for s in flor.loop('train', 2): flor.log('s', s)\n")
        self.write("train.py", text)
        self.assertEqual(self.python("train.py").stdout, "record record\n")
        self.assertEqual(self.python("train.py", "--replay_flor").stdout, "replay replay\n")
        self.assertIn("verified", self.flor("replay", "t", "--workers", "2", "--probe", "train").stdout)
        self.write("bad.py", "import flor\ntry:\n    flor.init(record='a', every=-1)\nexcept flor.UsageError as e:\n"
                             "    print('caught', e)\n")
        self.assertIn("caught", self.python("bad.py").stdout)

    def test_the_statuses_of_the_program_are_kept(self):
        for code, status in (("sys.exit(0)", 0), ("sys.exit(5)", 5), ("sys.exit('words')", 1), ("1 / 0", 1)):
            with self.subTest(code=code):
                self.program(f"for e in flor.loop('epoch', 1): pass\n{code}")
                done = self.python("train.py", "--flor", "t", status=status)
                self.assertIn("failed" if status else "recorded t", done.stderr)

    def test_a_replay_that_differs_ends_with_status_7(self):
        self.program("""
            hidden = [0.0]
            def secret(): hidden[0] += len(sys.argv)
            for epoch in flor.loop("epoch", 2):
                for step in flor.loop("train", 2):
                    secret()
                flor.log("hidden", hidden[0])
        """)
        self.record("train.py", "t")
        done = self.python("train.py", "--replay_flor", status=7)
        self.assertIn("DIFFERS FROM THE RECORD", done.stderr)

    def test_output_goes_elsewhere_during_a_replay(self):
        self.program("""
            for epoch in flor.loop("epoch", 1):
                flor.output("out/file.txt").write_text(flor.mode())
        """)
        self.record("train.py", "t")
        self.python("train.py", "--replay_flor")
        self.assertEqual((self.repository / "out/file.txt").read_text(), "record")

    def test_what_is_read_and_written_connects_runs(self):
        import json
        self.write("data.txt", "3")
        self.program("""
            import pathlib
            read, written = flor.arg("read", "data.txt"), flor.arg("written", "out/model.txt")
            assert flor.input(read) is read
            assert flor.input(pathlib.Path(read)) == pathlib.Path(read)
            number = int(open(read).read())
            for epoch in flor.loop("epoch", 2):
                flor.log("epoch", epoch)
            flor.output(written).write_text(str(number + 1))
        """)
        self.record("train.py", "first")
        self.record("train.py", "second", "--kwargs", "read=out/model.txt", "written=out/next.txt")
        shown = [json.loads(self.flor("show", name, "--json").stdout)["run"] for name in ("first", "second")]
        self.assertEqual([each["name"] for each in shown[0]["inputs"]], ["data.txt"])
        self.assertEqual(shown[1]["inputs"][0]["from"][0]["run"], shown[0]["id"])
        self.assertEqual(shown[0]["outputs"][0]["read_by"][0]["run"], shown[1]["id"])
        same = self.python("train.py", "--replay_flor", "--flor_run", shown[0]["id"])
        self.assertNotIn("data.txt", same.stderr)
        self.write("data.txt", "4")
        other = self.python("train.py", "--replay_flor", "--flor_run", shown[0]["id"])
        self.assertIn("doubtful: input data.txt has other content than was recorded: 1 B", other.stderr)

    def test_the_shadow_commit_has_the_sources_and_the_command(self):
        self.write("helper.py", "VALUE = 3\n")
        self.program("import helper\nfor e in flor.loop('epoch', 1): flor.log('v', helper.VALUE)")
        self.record("train.py", "t")
        import subprocess
        files = subprocess.run(["git", "ls-tree", "-r", "--name-only", "flor.shadow"], cwd=self.repository,
                               env=self.environment, stdout=subprocess.PIPE, text=True, check=True).stdout.split()
        self.assertLessEqual({"helper.py", "train.py"}, set(files))
        shown = self.flor("show", "t", "--all").stdout
        self.assertIn("train.py --flor t", shown)


class CheckpointsTest(Script):
    def test_saved_best_and_latest_checkpoints_and_load(self):
        self.program("""
            import torch
            session = flor.Session()
            w = torch.zeros(3)
            flor.checkpoints(w=w)
            session.keep(2, "loss", order="min")
            for epoch in flor.loop("epoch", 4):
                w += 1
                flor.log("loss", abs(epoch - 1))
            print(flor.best_checkpoint().epoch, flor.latest_checkpoint().epoch, flor.save_checkpoint("mine", loss=3).name,
                  flor.latest_checkpoint().address[16:])
        """)
        self.assertEqual(self.record("train.py", "t").stdout, "1 3 mine @mine\n")
        self.assertEqual(self.load("t@1")["w"].tolist(), [2.0, 2.0, 2.0])
        import flor
        with self.assertRaises(flor.NotFound):
            self.load("t@77")

    def test_a_script_that_catches_ctrl_c_catches_it_while_it_is_recorded(self):
        self.program("""
            import os, signal
            try:
                for epoch in flor.loop("epoch", 3):
                    flor.log("epoch", epoch)
                    if epoch == 1:
                        os.kill(os.getpid(), signal.SIGINT)
            except KeyboardInterrupt:
                print("caught")
        """)
        self.assertEqual(self.record("train.py", "t").stdout, "caught\n")

    def test_a_saved_checkpoint_holds_the_objects_that_it_is_given(self):
        self.program("""
            import torch
            w, words = torch.zeros(3), {"one": 1}
            flor.checkpoints(w=w)
            for epoch in flor.loop("epoch", 2):
                w += 1
                words[str(epoch)] = epoch
                flor.save_checkpoint("deploy", w[:2].clone(), objects={"words": words}, loss=epoch)
        """)
        self.record("train.py", "t")
        self.assertEqual(set(self.load("t@deploy")), {"value"})
        self.assertEqual(self.load("t@deploy")["value"].tolist(), [2.0, 2.0])
        import flor
        words = {}
        self.assertEqual(flor.load("t@deploy", words=words).name, "deploy")
        self.assertEqual(words, {"one": 1, "0": 0, "1": 1})
        replayed = self.python("train.py", "--replay_flor")
        self.assertIn("verified", replayed.stderr)

    def load(self, address):
        import os
        os.environ["FLOR_HOME"] = self.environment["FLOR_HOME"]
        import flor
        return flor.load(address)

    def test_a_checkpoint_of_another_run_is_loaded_into_objects_and_again_by_a_replay(self):
        self.program("""
            import torch
            torch.manual_seed(flor.arg("seed", 1))
            net = torch.nn.Linear(2, 2)
            optimizer = torch.optim.Adam(net.parameters(), lr=0.1)
            flor.checkpoints(net, optimizer)
            for epoch in flor.loop("epoch", 4):
                optimizer.zero_grad()
                net(torch.ones(2)).sum().backward()
                optimizer.step()
                flor.log("loss", abs(epoch - 1))
        """)
        self.record("train.py", "teacher")
        self.write("student.py", textwrap.dedent("""
            import flor, torch
            flor.init()
            net = torch.nn.Linear(2, 2)
            wide = torch.nn.Linear(2, 3)
            optimizer = torch.optim.Adam(net.parameters(), lr=0.5)
            before = wide.weight.tolist(), net.weight.tolist()
            try:
                flor.load("teacher@latest", optimizer, model=wide)
            except flor.Error as error:
                print("refused", "model/weight" in str(error), (wide.weight.tolist(), net.weight.tolist()) == before,
                      optimizer.param_groups[0]["lr"], len(optimizer.state))
            print(flor.load("teacher@best:loss:min", net, optimizer).address[16:], optimizer.param_groups[0]["lr"])
            print(flor.load("teacher@latest")["model/weight"].sum().item())
            print(net.weight.tolist(), len(optimizer.state))
            w = torch.zeros(1)
            flor.checkpoints(w=w)
            for epoch in flor.loop("epoch", 2):
                w += net.weight.sum().item()
        """))
        recorded = self.record("student.py", "student").stdout
        lines = recorded.splitlines()
        self.assertEqual(lines[:2], ["refused True True 0.5 0", "@1 0.1"])
        self.assertEqual(lines[3].split("]] ")[0] + "]]", str(self.load("teacher@1")["model/weight"].tolist()))
        self.record("train.py", "teacher", "--kwargs", "seed=2")  # the text means another run now
        self.assertEqual(self.python("student.py", "--replay_flor", "--flor_run", "student").stdout, recorded)

    def test_a_dict_is_loaded_again_by_a_replay_though_its_checkpoint_was_deleted(self):
        self.program("""
            import torch
            w = torch.zeros(2)
            flor.checkpoints(w=w)
            for epoch in flor.loop("epoch", 3):
                w += 1
        """)
        self.record("train.py", "teacher")
        self.write("student.py", textwrap.dedent("""
            import flor, torch
            flor.init()
            try:
                print("loaded", flor.load("teacher@1")["w"].tolist())
            except flor.NotFound as error:
                print("refused", error)
            for epoch in flor.loop("epoch", 1):
                pass
        """))
        recorded = self.record("student.py", "student").stdout
        self.assertEqual(recorded, "loaded [2.0, 2.0]\n")
        self.flor("keep", "teacher", "--last", "1")
        self.assertEqual(self.python("student.py", "--replay_flor", "--flor_run", "student").stdout, recorded)
        self.assertIn("it was deleted", self.python("student.py").stdout)
        # And from the store that --flor_home names, whatever the environment says.
        self.flor("keep", "teacher", "--undo")
        home, self.environment["FLOR_HOME"] = self.environment["FLOR_HOME"], str(self.directory / "none")
        self.assertEqual(self.python("student.py", "--flor_home", home).stdout, recorded)

    def test_an_optimizer_of_another_kind_is_refused(self):
        self.program("""
            import torch
            net = torch.nn.Linear(2, 2)
            optimizer = torch.optim.Adam(net.parameters(), lr=0.1)
            flor.checkpoints(net, optimizer)
            for epoch in flor.loop("epoch", 1):
                net(torch.ones(2)).sum().backward()
                optimizer.step()
        """)
        self.record("train.py", "teacher")
        self.write("student.py", textwrap.dedent("""
            import flor, torch
            net = torch.nn.Linear(2, 2)
            optimizer = torch.optim.SGD(net.parameters(), lr=0.5, momentum=0.9)
            before = net.weight.tolist()
            try:
                flor.load("teacher@0", net, optimizer)
            except flor.Error as error:
                print(error)
            print(net.weight.tolist() == before, optimizer.param_groups[0]["lr"], len(optimizer.state))
        """))
        self.assertRegex(self.python("student.py").stdout, "another kind of optimizer: it has no 'dampening', which SGD has"
                         "; nothing was loaded\nTrue 0.5 0")

    def test_tensors_that_shared_memory_share_it_again_where_they_did_not(self):
        self.program("""
            import torch
            base = torch.arange(6.)
            row = base[2:4]
            flor.checkpoints(base=base, row=row)
            for epoch in flor.loop("epoch", 2):
                base += 1
        """)
        self.record("train.py", "teacher")
        self.write("student.py", textwrap.dedent("""
            import flor, torch
            class Box: pass
            box = Box()
            box.base, box.row = torch.zeros(6), torch.zeros(2)
            alone = torch.zeros(2)
            flor.load("teacher@1", row=alone)
            print(alone.tolist())
            flor.load("teacher@1", base=box.base, row=box.row)
            box.base[2] = 9
            print(box.base.tolist(), box.row.tolist())
        """))
        self.assertEqual(self.python("student.py").stdout,
                         "[4.0, 5.0]\n[2.0, 3.0, 9.0, 5.0, 6.0, 7.0] [9.0, 5.0]\n")

    def test_another_model_than_recorded_is_refused(self):
        text = "import torch\nnet = torch.nn.Linear(2, {})\nflor.checkpoints(net)\nfor e in flor.loop('epoch', 2): pass"
        self.program(text.format(2))
        self.record("train.py", "t")
        self.program(text.format(3))
        done = self.python("train.py", "--replay_flor", status=1)
        self.assertIn("'model/weight' was recorded as a tensor float32 [2, 2], but is a tensor float32 [3, 2] here",
                      done.stderr)

    def test_objects_that_cannot_be_kept_are_named(self):
        self.program("flor.checkpoints(state={'f': lambda: 1})\nfor e in flor.loop('epoch', 2): pass")
        done = self.record("train.py", "t", status=None)
        self.assertIn("'state/f' is <lambda>", done.stderr)

    def test_programs_without_torch(self):
        self.program("""
            import random
            random.seed(2)
            state = {"x": 0.5, "seen": []}
            flor.checkpoints(state=state)
            for epoch in flor.loop("epoch", 4):
                for step in flor.loop("train", 5):
                    state["x"] += random.random()
                    state["seen"].append(step)
                flor.log("x", state["x"])
            assert "torch" not in sys.modules and "numpy" not in sys.modules
        """)
        self.record("train.py", "t")
        for words in ([], ["--flor_probe", "train"], ["1/2"]):
            segment, rest = ([words[0]], words[1:]) if words and "/" in words[0] else ([], words)
            self.assertIn("verified", self.python("train.py", "--replay_flor", *segment, *rest).stderr)

    def test_a_library_that_comes_with_the_question_is_no_difference(self):
        text = "import random\nrandom.seed(1)\nfor e in flor.loop('epoch', 3):\n    for s in flor.loop('train', 2):\n        flor.log('r', random.random())\n"
        self.program(text)
        self.record("train.py", "t")
        self.program("import numpy\n" + text + "        flor.log('sum', numpy.ones(2).sum())\n")
        self.assertIn("verified", self.python("train.py", "--replay_flor").stderr)


class VersionsTest(Script):
    def test_of_a_script_are_replayed_where_they_are_checked_out(self):
        text = """
            for epoch in flor.loop("epoch", 2):
                flor.log("loss", 1 / (1 + epoch))
        """
        self.program(text)
        self.record("train.py", "t")
        self.program(text + "                flor.log('more', epoch)\n")
        refused = self.flor("replay", "t", "--all-versions", "--apply", "--dry-run", status=2)
        self.assertIn("was recorded by the script", refused.stderr)
        self.assertIn("git worktree add DIR", refused.stderr)


if __name__ == "__main__":
    unittest.main()

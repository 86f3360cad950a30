"""Values from outside that are pinned, and sessions that a script opens one after another."""

import json
import unittest

from workbench import Script


class Pinned(Script):
    LEARNER = """
        import numpy, os, time
        w = numpy.zeros(3)
        flor.checkpoints(w=w)
        shown = []
        def show(name, value):
            shown.append(f"{name} {type(value).__name__} {getattr(value, 'dtype', '')} {getattr(value, 'shape', '')} {value!r}")
        draw = lambda: int.from_bytes(os.urandom(4), "little")
        for name, f in {
            "none": lambda: None, "yes": lambda: draw() % 2 == 0, "list": lambda: [draw(), {"a": -0.0, "b": None}],
            "bytes": lambda: os.urandom(5), "empty": lambda: b"", "zero": lambda: -0.0, "nan": lambda: float("nan"),
            "array": lambda: numpy.frombuffer(os.urandom(16), "i4").reshape(2, 2), "scalar": lambda: numpy.float32(draw()),
            "point": lambda: numpy.array(draw()), "flags": lambda: numpy.array([draw() % 2 == 0, True]),
            "large": lambda: 2**70 + draw(), "long": lambda: [draw()] * 20000, "text": lambda: "\u00e9" * 40000 + str(draw()),
            "raw": lambda: "a\\0b"}.items():
            show(name, flor.pinned(name, f))
        def storm():
            raise ConnectionResetError(f"gone {draw()}")
        for epoch in flor.loop("epoch", 4):
            try:
                flor.pinned("storm", storm)
            except ConnectionError as error:
                show("storm", error)
            for step in flor.loop("train", 3):
                w += flor.pinned("rate", time.time) % 1
                w -= flor.pinned("rate", draw) % 3
                flor.log("w", w[0])
            show("tail", w.tolist())
        print("\\n".join(shown))
        """

    def test_a_replay_is_told_the_same(self):
        self.program(self.LEARNER)
        recorded = self.record("train.py", "told")
        for words in (("--flor_probe", "train"), ("--flor_verify", "all", "--flor_init", "strong", "--flor_probe", "train")):
            replayed = self.python("train.py", "--replay_flor", *words)
            self.assertEqual(replayed.stdout, recorded.stdout)
            self.assertIn("verified: ", replayed.stderr)
            self.assertNotIn("is not in the record", replayed.stderr)
        self.assertEqual(len(self.values("pinned:rate", "told")), 24)
        self.assertIn("verified", self.flor("replay", "told", "--workers", "2", "--probe", "train").stdout)

    def test_without_it_a_replay_differs(self):
        self.program(self.LEARNER.replace("flor.pinned(", "(lambda name, f: f())("))
        self.record("train.py", "told")
        self.python("train.py", "--replay_flor", "--flor_probe", "train", status=7)

    def test_a_killed_run_that_is_resumed_is_replayed_exactly(self):
        self.program(self.LEARNER.replace("show(\"tail\", w.tolist())", "print('epoch', epoch, flush=True); time.sleep(0.2)"))
        self.kill_when(self.start("train.py", "--flor", "told", "--flor_every", "1"), "epoch 2")
        self.python("train.py", "--flor_resume", "--flor", "told")
        replayed = self.python("train.py", "--replay_flor", "--flor_probe", "train")
        self.assertIn("verified: ", replayed.stderr)

    def test_what_was_added_since_is_asked_and_doubted(self):
        self.program(self.LEARNER)
        self.record("train.py", "told")
        self.program(self.LEARNER.replace('flor.log("w", w[0])', 'flor.log("w", w[0]); flor.log("late", flor.pinned("late", draw))'))
        replayed = self.python("train.py", "--replay_flor", "--flor_probe", "train")
        self.assertEqual(replayed.stderr.count("is not in the record of run"), 1)
        self.assertIn("doubtful", replayed.stderr)
        rows = [json.loads(row) for row in self.flor("query", "late", "--run", "told", "--jsonl").stdout.splitlines()]
        self.assertEqual([row["verdict"] for row in rows], ["doubtful"] * 12)

    def test_what_cannot_come_back_is_refused(self):
        for function, part in (("lambda: (1, 2)", "as a list for a tuple"), ("lambda: {1: 2}", "text keys"),
                               ("lambda: [float('nan')]", "kept as JSON"), ("lambda: object()", "kept as JSON"),
                               ("lambda: '\\ud800'", "surrogate"), ("lambda: {'flor:threw': 1}", "kept as JSON"),
                               ("lambda: {'db_password': 'q8Zr1vLx0Tf5'}", "reads like a secret"),
                               ("lambda: numpy.ma.masked_array([1.0, 2.0], mask=[0, 1])", "more than its numbers"),
                               ("lambda: numpy.matrix([[1, 2]])", "more than its numbers"),
                               ("lambda: flor.pinned('inner', lambda: 1)", "function of another pinned value")):
            self.program(f"import numpy\nflor.pinned('x', {function})\n")
            self.assertIn(part, self.record("train.py", "refused", status=2).stderr)

    def test_the_recording_gets_what_a_replay_gets(self):
        self.program("""
            import collections, enum, numpy
            class Color(enum.IntEnum):
                RED = 3
            draw = numpy.random.default_rng().random
            for epoch in flor.loop("epoch", 3):
                for f in (lambda: Color.RED, lambda: collections.defaultdict(int, a=1), lambda: [numpy.float64(0.1)],
                          lambda: numpy.asfortranarray(draw((3, 4))), lambda: draw((4, 6))[::2, ::3].T):
                    value = flor.pinned("value", f)
                    print(epoch, type(value), type(value[0]) if isinstance(value, list) else "",
                          getattr(value, "strides", ""), repr(value))
                try:
                    kept = flor.pinned("other", lambda: (1, draw()))
                except flor.Error:
                    kept = "refused"
                print(epoch, kept, flor.pinned("other", lambda: [1, draw()]))
            """)
        recorded = self.record("train.py", "same")
        self.assertEqual(recorded.stdout.count("refused"), 3)
        self.assertEqual(self.python("train.py", "--replay_flor").stdout, recorded.stdout)

    def test_without_a_session_it_is_the_call(self):
        self.program("print(flor.pinned('x', lambda: (1, 2)))\n")
        self.assertEqual(self.python("train.py").stdout, "(1, 2)\n")


class Sessions(Script):
    HEAD = "import flor\nimport sys\n"
    SERVER = """
        import numpy, threading
        for request in range(int(sys.argv[1])):
            try:
                with flor.session("requests", kwargs={"begin": request}, every=1) as session:
                    w = numpy.full(2, float(flor.arg("begin", 0)))
                    flor.checkpoints(w=w)
                    for epoch in flor.loop("epoch", 2):
                        for step in flor.loop("train", 3):
                            w += request + step
                            flor.log("w", w[0])
                        print("tail", request, epoch, w[0], flush=True)
                    if request == 1:
                        raise ValueError("a bad request")
                    def second():
                        try:
                            with flor.session("other"):
                                pass
                        except flor.Error as error:
                            print("refused:", error)
                    if request == 2:
                        thread = threading.Thread(target=second)
                        thread.start()
                        thread.join()
            except ValueError as error:
                print("failed:", error)
        """

    def test_each_is_a_run(self):
        self.program(self.SERVER, name="server.py")
        served = self.python("server.py", 4)
        self.assertIn("failed: a bad request", served.stdout)
        self.assertIn("refused: flor", served.stdout)
        runs = json.loads(self.flor("list", "--json").stdout)["runs"]
        self.assertEqual([run["status"] for run in runs], ["finished", "finished", "failed", "finished"])
        self.assertEqual([run["arguments"]["begin"] for run in runs], [3, 2, 1, 0])
        self.assertEqual(len({run["commit"] for run in runs}), 1)
        self.assertIn("a bad request", runs[2]["message"])
        third = runs[1]["id"]
        replayed = self.flor("replay", third, "--probe", "train")
        self.assertIn("verified", replayed.stdout + replayed.stderr)
        by_hand = self.python("server.py", 4, "--replay_flor", "--flor_run", third)
        self.assertIn("verified: ", by_hand.stderr)
        self.assertNotIn("tail 3", by_hand.stdout)
        self.assertEqual(len(json.loads(self.flor("list", "--json").stdout)["runs"]), 4)


if __name__ == "__main__":
    unittest.main()

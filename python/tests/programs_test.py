"""Whole trainings: recorded, asked afterwards, replayed by workers, killed and resumed; all bit for bit."""

import signal
import unittest

from workbench import Workbench

INSIDE = ("        # inside\n", "        flor.log(\"norm\", net.first.weight.grad.norm())\n")
OUTSIDE = ("    # outside\n", "    flor.log(\"weight\", net.last.weight.sum())\n")
AFTER = ("# after\n", "flor.log(\"final\", net.norm.running_mean.sum())\n")


class TrainingTest(Workbench):
    def weights(self, done):
        return [line for line in done.stdout.splitlines() if line.startswith("weights")]

    def test_without_flags_nothing_is_written_and_the_training_is_the_same(self):
        self.copy("trainer.py")
        plain = self.python("trainer.py")
        self.assertFalse((self.directory / "home").exists())
        self.assertEqual(self.weights(plain), self.weights(self.record("trainer.py", "t")))

    def test_a_replay_without_a_question_skips_the_training_and_verifies(self):
        self.copy("trainer.py")
        recorded = self.record("trainer.py", "t")
        replayed = self.python("trainer.py", "--replay_flor")
        self.assertIn("skipped train 4 times", replayed.stderr)
        self.assertIn("verified", replayed.stderr)
        self.assertEqual(self.weights(recorded), self.weights(replayed))

    def ask(self, edits, metrics, *, kwargs=(), workers=None):
        """Hindsight values equal those of a run that logged them from the start."""
        self.copy("trainer.py", edits)
        self.record("trainer.py", "oracle", *(["--kwargs", *kwargs] if kwargs else []))
        self.copy("trainer.py")
        self.record("trainer.py", "t", *(["--kwargs", *kwargs] if kwargs else []))
        self.copy("trainer.py", edits)
        if workers:
            done = self.flor("replay", "t", "--workers", workers)
        else:
            done = self.python("trainer.py", "--replay_flor", "--flor_run", "t")
        for metric in metrics:
            expected = self.values(metric, "oracle")
            self.assertTrue(expected)
            self.assertEqual(self.values(metric, "t"), expected, metric)
        return done

    def test_a_question_outside_the_nested_loops_skips_them(self):
        done = self.ask([OUTSIDE, AFTER], ["weight", "final"])
        self.assertIn("skipped train 4 times", done.stderr)
        self.assertIn('outside the nested loops', done.stderr)

    def test_a_question_inside_the_training_loop_executes_it(self):
        done = self.ask([INSIDE], ["norm"])
        self.assertIn('stepping into train: trainer.py:84 logs "norm"', done.stderr)
        self.assertIn("executed train 4 times: changed", done.stderr)
        self.assertEqual(self.verdicts("norm", "t"), {"verified"})

    def test_a_shuffled_loader_with_two_workers_is_exact(self):
        self.ask([INSIDE, OUTSIDE], ["norm", "weight"], kwargs=["workers=2", "epochs=3"])

    def test_workers_of_flor_replay_find_the_same(self):
        done = self.ask([INSIDE, OUTSIDE, AFTER], ["norm", "weight", "final"], workers=2)
        self.assertIn("verified", done.stdout)

    def test_segments_by_hand_find_the_same(self):
        self.copy("trainer.py", [INSIDE])
        self.record("trainer.py", "oracle", "--kwargs", "epochs=3")
        self.copy("trainer.py")
        self.record("trainer.py", "t", "--kwargs", "epochs=3")
        self.copy("trainer.py", [INSIDE])
        for segment in ("1/2", "0/2"):
            self.python("trainer.py", "--replay_flor", segment, "--flor_run", "t")
        self.assertEqual(self.values("norm", "t"), self.values("norm", "oracle"))

    def test_optimizers_and_schedules(self):
        for optimizer, scheduler in (("sgd", "cosine"), ("lbfgs", "step"), ("adam", "plateau")):
            with self.subTest(optimizer=optimizer, scheduler=scheduler):
                self.tearDown()
                self.setUp()
                self.ask([INSIDE, OUTSIDE], ["norm", "weight"],
                         kwargs=[f"optimizer={optimizer}", f"scheduler={scheduler}", "epochs=3"])

    def test_a_program_that_seeds_nothing_draws_the_recorded_numbers(self):
        seeds = ("torch.manual_seed(seed)\nnumpy.random.seed(seed)\nrandom.seed(seed)\n", "")
        self.copy("trainer.py", [seeds])
        recorded = self.record("trainer.py", "t")
        replayed = self.python("trainer.py", "--replay_flor", "--flor_probe", "train")
        self.assertIn("executed train 4 times: probed", replayed.stderr)
        self.assertIn("verified", replayed.stderr)
        self.assertEqual(self.weights(recorded), self.weights(replayed))

    def test_sparse_checkpoints_are_caught_up_with(self):
        self.copy("trainer.py")
        self.python("trainer.py", "--flor", "t", "--flor_every", "3", "--kwargs", "epochs=5")
        self.assertIn("verified", self.python("trainer.py", "--replay_flor").stderr)

    def test_a_changed_computation_is_doubtful(self):
        self.copy("trainer.py")
        self.record("trainer.py", "t")
        self.copy("trainer.py", [("total += loss.item()", "total += 2 * loss.item()"), OUTSIDE])
        done = self.python("trainer.py", "--replay_flor", status=7)
        self.assertIn("changes what train computes", done.stderr)
        self.assertIn("DIFFERS FROM THE RECORD", done.stderr)


class ScriptsTest(Workbench):
    def test_a_script_without_an_ending_is_a_source(self):
        text = ("import flor\nflor.init()\nw = [0.0]\nflor.checkpoints(w)\nfor epoch in flor.loop('epoch', 2):\n"
                "    for step in flor.loop('train', 3):\n        w[0] += step\n")
        self.write("train", text)
        self.record("train", "t")
        self.write("train", text + "        flor.log('w', w[0])\n")
        done = self.python("train", "--replay_flor")
        self.assertIn("stepping into train: train:8 logs", done.stderr)
        self.assertEqual(len(self.values("w", "t")), 6)

    def test_an_iterable_given_by_its_name_is_part_of_the_loop(self):
        text = ("import flor\nflor.init()\nfor epoch in flor.loop('epoch', iterable=range(2)):\n"
                "    for step in flor.loop('train', iterable=range(3)):\n        flor.log('s', step)\n")
        self.write("train.py", text)
        self.record("train.py", "t")
        self.write("train.py", text.replace("range(3)", "range(4)"))
        done = self.python("train.py", "--replay_flor", status=7)
        self.assertIn("'3' is now '4': changes what train computes", done.stderr)
        self.assertIn("more than the 3 iterations", done.stderr)


class ResumeTest(Workbench):
    def final(self, done):
        return [line for line in done.stdout.splitlines() if line.startswith("weights")]

    def test_a_killed_run_goes_on_as_if_nothing_had_happened(self):
        arguments = ["--kwargs", "epochs=5", "workers=2"]
        self.copy("trainer.py")
        whole = self.record("trainer.py", "whole", *arguments)
        slow = [("    # outside\n", "    print('done', epoch, flush=True)\n    import time\n    time.sleep(0.5)\n")]
        self.copy("trainer.py", slow, to="slow.py")
        process = self.start("slow.py", "--flor", "t", "--flor_every", "1", *arguments)
        self.kill_when(process, "done 2")
        resumed = self.python("slow.py", "--flor", "t", "--flor_every", "1", "--flor_resume")
        self.assertIn("resuming run", resumed.stderr)
        self.assertEqual(self.final(resumed), self.final(whole))
        for metric in ("loss", "mean", "accuracy"):
            self.assertEqual(self.values(metric, "t"), self.values(metric, "whole"), metric)

    def test_a_preempted_run_goes_on_inside_its_epoch(self):
        arguments = ["--kwargs", "epochs=2"]
        self.copy("trainer.py")
        whole = self.record("trainer.py", "whole", *arguments)
        raising = [("        # inside\n",
                    "        import os, signal\n"
                    "        if os.environ.get('PREEMPT') and epoch == 1 and inputs is not None and len(history) == 1:\n"
                    "            seen = globals().setdefault('seen', [])\n"
                    "            seen.append(1)\n"
                    "            if len(seen) == 2:\n"
                    "                os.kill(os.getpid(), getattr(signal, os.environ['PREEMPT']))\n")]
        self.copy("trainer.py", raising, to="raising.py")
        for name, status, said in (("SIGTERM", 75, "preempted"), ("SIGINT", -signal.SIGINT, "interrupted by Ctrl-C")):
            with self.subTest(name):
                self.environment["PREEMPT"] = name
                stopped = self.python("raising.py", "--flor", "t", "--flor_every", "1", *arguments, status=status)
                self.assertIn(said, stopped.stderr)
                self.assertNotIn("KeyboardInterrupt", stopped.stderr)
                del self.environment["PREEMPT"]
                resumed = self.python("raising.py", "--flor", "t", "--flor_every", "1", "--flor_resume")
                self.assertEqual(self.final(resumed), self.final(whole))
                self.assertEqual(self.values("loss", "t"), self.values("loss", "whole"))


if __name__ == "__main__":
    unittest.main()

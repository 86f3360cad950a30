"""flor.loop: how loops end, elements of every kind, locals that come back."""

import unittest

from workbench import Script

class LoopTest(Script):
    def test_elements_of_every_kind_of_range(self):
        self.program("""
            print([i for i in flor.loop("a", 3)], [x for x in flor.loop("b", [4, 5])], list(flor.loop("c", "x y".split())),
                  list(flor.loop("d", range(5, 0, -2))), list(flor.loop("e", (i * i for i in range(3)))),
                  list(flor.loop("f", {1: 2}.items())), list(flor.loop(2)), list(flor.loop(None, iter([7]))))
        """)
        expected = "[0, 1, 2] [4, 5] ['x', 'y'] [5, 3, 1] [0, 1, 4] [(1, 2)] [0, 1] [7]\n"
        self.assertEqual(self.python("train.py").stdout, expected)
        self.assertEqual(self.record("train.py", "t").stdout, expected)
        self.assertEqual(self.python("train.py", "--replay_flor").stdout, expected)

    def test_break_ends_a_loop_as_exhaustion_does(self):
        self.program("""
            for epoch in flor.loop("epoch", 10):
                for step in flor.loop("train", 10):
                    if step == 2:
                        break
                flor.log("step", step)
                if epoch == 1:
                    break
            flor.log("epoch", epoch)
        """)
        done = self.record("train.py", "t")
        self.assertIn("2 epochs", done.stderr)
        replayed = self.python("train.py", "--replay_flor", "--flor_probe", "train")
        self.assertIn("verified: 3 of 3 recomputed values", replayed.stderr)

    def test_chosen_steps_have_the_bits_of_a_whole_replay(self):
        text = """
            w = [1.0]
            flor.checkpoints(w=w)
            for epoch in flor.loop("epoch", 4):
                for step in flor.loop("train", 6):
                    w[0] = 0.7 * w[0] + (7 * epoch + 3 * step) % 5
                    flor.log("loss", w[0]){}
                    print("train", epoch, step)
                    if step == epoch + 2:
                        break
                w[0] *= 1.1
        """
        self.program(text.format(""))
        self.record("train.py", "t")
        self.program(text.format('; flor.log("seen", w[0] / 3)'))
        first = self.python("train.py", "--replay_flor", "--flor_step", "1", "--flor_verify", "none")
        self.assertEqual(first.stdout.count("train"), 4 * 2, first.stdout)
        self.assertIn("verified: 8 of 8 recomputed values", first.stderr)
        self.python("train.py", "--replay_flor", "--flor_step", "last", "--flor_verify", "none")
        chosen = self.values("seen", "t")
        self.python("train.py", "--replay_flor", "--flor_verify", "none")
        whole = self.values("seen", "t")
        last = {epoch: max(step for _, e, step, _ in whole if e == epoch) for epoch in range(4)}
        self.assertEqual(last, {0: 2, 1: 3, 2: 4, 3: 5})
        self.assertEqual(chosen, [one for one in whole if one[2] in (1, last[one[1]])])

    def test_return_ends_all_loops(self):
        self.program("""
            def train():
                for epoch in flor.loop("epoch", 10):
                    for step in flor.loop("train", 10):
                        flor.log("step", step)
                        if epoch == 1 and step == 1:
                            return step
            flor.log("result", train())
        """)
        self.assertIn("2 epochs", self.record("train.py", "t").stderr)
        self.assertIn("verified", self.python("train.py", "--replay_flor").stderr)

    def test_an_exception_leaves_no_epoch_and_the_run_has_failed(self):
        self.program("""
            for epoch in flor.loop("epoch", 10):
                flor.log("epoch", epoch)
                for step in flor.loop("train", 10):
                    if epoch == 2 and step == 3 and len(sys.argv) == 1:
                        raise ValueError("no luck")
        """)
        done = self.record("train.py", "t", status=1)
        self.assertIn("ValueError: no luck", done.stderr)
        self.assertIn("failed after 2 epochs", done.stderr)
        self.assertIn("no luck", self.flor("show", "t").stdout)
        resumed = self.python("train.py", "--flor", "t", "--flor_resume", "x")
        self.assertIn("10 epochs", resumed.stderr)

    def test_an_exception_that_is_caught_goes_on(self):
        self.program("""
            for epoch in flor.loop("epoch", 3):
                try:
                    for step in flor.loop("train", 10):
                        flor.log("step", step)
                        if step == epoch:
                            raise KeyError("x")
                except KeyError:
                    flor.log("caught", epoch)
        """)
        self.assertIn("3 epochs", self.record("train.py", "t").stderr)
        replayed = self.python("train.py", "--replay_flor")
        self.assertIn("verified: 9 of 9 recomputed values", replayed.stderr)

    def test_loops_through_generators_such_as_progress_bars(self):
        self.program("""
            def bar(range):
                for one in range:
                    yield one
            for epoch in bar(flor.loop("epoch", 5)):
                for i, step in enumerate(bar(flor.loop("train", 5))):
                    flor.log("step", step)
                    if i == 3:
                        break
                if epoch == 3 and len(sys.argv) == 1:
                    raise ValueError("no luck")
                if epoch == 4:
                    break
        """)
        self.assertIn("failed after 3 epochs", self.record("train.py", "t", status=1).stderr)
        resumed = self.python("train.py", "--flor", "t", "--flor_resume", "x")
        self.assertIn("5 epochs", resumed.stderr)
        replayed = self.python("train.py", "--replay_flor", "--flor_probe", "train", "--flor_run", "t", "x")
        self.assertIn("verified", replayed.stderr)

    def test_a_loop_that_is_held_does_not_disturb_those_after_it(self):
        self.program("""
            for epoch in flor.loop("epoch", 3):
                held = iter(flor.loop("train", 5))
                next(held)
                for step in flor.loop("other", 2):
                    flor.log("step", step)
            held = iter(flor.loop("second", 2))
            print(next(held), next(held), next(held, "end"))
        """)
        done = self.record("train.py", "t")
        self.assertEqual(done.stdout, "0 1 end\n")
        self.assertIn("5 epochs", done.stderr)

    def test_a_cycle_that_is_collected_ends_its_loop(self):
        self.program("""
            import gc
            class Holder: pass
            for epoch in flor.loop("epoch", 2):
                holder = Holder()
                holder.me = holder
                holder.loop = iter(flor.loop("train", [holder, holder]))
                next(holder.loop)
                del holder
                gc.collect()
                for step in flor.loop("train", 2):
                    flor.log("step", step)
        """)
        self.assertIn("2 epochs", self.record("train.py", "t").stderr)

    def test_a_range_that_raises_ends_the_loop_with_its_exception(self):
        self.program("""
            def bad():
                yield 1
                raise OSError("lost")
            for epoch in flor.loop("epoch", 2):
                try:
                    for x in flor.loop("train", bad()):
                        pass
                except OSError as error:
                    flor.log("error", str(error))
        """)
        self.assertIn("2 epochs", self.record("train.py", "t").stderr)

    def test_misuse_is_said_in_one_line(self):
        for code, words in (("flor.loop('a')", "a name alone is no range"),
                            ("loop = flor.loop('a', 2); list(loop); list(loop)", "iterated twice"),
                            ("flor.loop('a', 2, attached='x')", "no local variable 'x'"),
                            ("flor.checkpoints(3)", "cannot be changed in place")):
            with self.subTest(code=code):
                self.program(code)
                done = self.python("train.py", "--flor", "t", status=None)
                self.assertNotEqual(done.returncode, 0)
                self.assertIn(words, done.stderr)
                self.assertNotIn("Traceback", done.stderr)

    def test_other_threads_have_plain_loops(self):
        self.program("""
            import threading
            out = []
            thread = threading.Thread(target=lambda: out.extend(flor.loop("a", 3)))
            thread.start(); thread.join()
            for epoch in flor.loop("epoch", 1): pass
            print(out)
        """)
        done = self.record("train.py", "t")
        self.assertEqual(done.stdout, "[0, 1, 2]\n")
        self.assertIn("1 epoch,", done.stderr)


class AttachedTest(Script):
    def test_variables_of_a_function_and_of_a_module_come_back(self):
        body = """
            total, best, seen = 0, None, []
            for epoch in flor.loop("epoch", 4, attached="best"):
                total = 0.0
                names = ()
                for step in flor.loop("train", 5, attached=flor.attached("total, names", seen)):
                    total += 0.1 * step * (epoch + 1)
                    names = names + (step,)
                    seen.append(step)
                best = max(best or 0, total)
                flor.log("total", total)
                flor.log("names", list(names))
                flor.log("seen", len(seen))
                flor.log("best", best)
            flor.log("end", [total, best])
        """
        import textwrap
        function = "def main():\n" + textwrap.indent(textwrap.dedent(body), "    ") + "\nmain()\n"
        closure = ("def main():\n" + textwrap.indent(textwrap.dedent(body), "    ")
                   + "\n    return lambda: (total, names)\nmain()\n")
        for text in (body, function, closure):
            with self.subTest(text=text[:12]):
                self.tearDown()
                self.setUp()
                self.program(text)
                self.record("train.py", "t")
                replayed = self.python("train.py", "--replay_flor", "--flor_verify", "none")
                self.assertIn("skipped train 4 times", replayed.stderr)
                self.assertIn("verified: 17 of 17", replayed.stderr)
                replayed = self.python("train.py", "--replay_flor", "1/2", "--flor_verify", "none")
                self.assertIn("verified", replayed.stderr)

    def test_a_cell_and_objects_with_attributes(self):
        self.program("""
            class Meter:
                def __init__(self):
                    self.sum, self.items = 0, []
            meter, cell = Meter(), flor.Cell(0)
            flor.checkpoints(cell=cell)
            for epoch in flor.loop("epoch", 3):
                for step in flor.loop("train", 3, attached=[meter]):
                    meter.sum += step
                    meter.items.append(step)
                    cell.value += 1
                flor.log("sum", [meter.sum, len(meter.items), cell.value])
        """)
        self.record("train.py", "t")
        replayed = self.python("train.py", "--replay_flor", "--flor_verify", "none")
        self.assertIn("skipped train 3 times", replayed.stderr)
        self.assertIn("verified: 3 of 3", replayed.stderr)


class SharingTest(Script):
    def test_tensors_share_memory_as_they_did_then(self):
        """`best = w` in one epoch, a copy in another; views; two names of one list in two objects."""
        self.program("""
            import torch
            torch.manual_seed(1)
            w = torch.zeros(3)
            best = torch.zeros(3)
            state = {"w": w, "view": w[1:]}
            shared = []
            flor.checkpoints(state=state, a={"list": shared}, b=[shared])
            for epoch in flor.loop("epoch", 6, attached="best"):
                for step in flor.loop("train", 2):
                    w.add_(1)
                    shared.append(step)
                if epoch % 2:
                    best = w
                elif epoch == 4:
                    best = w.clone()
                flor.log("best", best.sum())
                flor.log("same", best is w)
                flor.log("view", state["view"].sum())
                flor.log("shares", state["view"].data_ptr() == w.data_ptr() + 4)
                flor.log("list", len(shared))
        """)
        self.record("train.py", "t")
        for words in (["--flor_probe", "train"], [], ["1/2"], ["5/6"], ["3/6", "--flor_probe", "train"]):
            with self.subTest(words=words):
                segment = [word for word in words if "/" in word]
                rest = [word for word in words if "/" not in word]
                replayed = self.python("train.py", "--replay_flor", *segment, *rest, "--flor_verify", "none")
                self.assertIn("verified", replayed.stderr)


if __name__ == "__main__":
    unittest.main()

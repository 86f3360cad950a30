"""What a checkpoint brings back, also of objects that Python's own tools do not keep; and what is refused."""

import unittest

from workbench import Script

NET = """
import torch, random
torch.manual_seed(1)
torch.use_deterministic_algorithms(True)
class Count:
    def __init__(self): self.n = 0
    def __call__(self, x):
        self.n += 1
        return x * (1 + self.n / 100)
class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer, self.count, self.sign, self.running, self.late = torch.nn.Linear(4, 4), Count(), 0.0, 0, None
    def forward(self, x):
        self.sign = -self.sign
        self.running = self.running + x.detach().mean(0)
        self.late = {} if self.late is None else self.late
        self.late[len(self.late)] = x.sum().item()
        return self.layer(self.count(x) + self.running) + torch.tensor(1 / (3 + self.sign)).copysign(torch.tensor(self.sign))
class Own(torch.optim.Optimizer):
    def __init__(self, parameters):
        super().__init__(parameters, dict(lr=0.1))
        self.steps, self.seen = 0, []
    @torch.no_grad()
    def step(self):
        self.steps += 1
        self.seen.append(self.steps)
        for group in self.param_groups:
            for p in group["params"]:
                p.add_(p.grad, alpha=-group["lr"] / self.steps / len(self.seen))
net = Net()
optimizer = Own(net.parameters())
data = torch.utils.data.DataLoader(torch.randn(16, 4), batch_size=4, shuffle=True)
"""
TRAIN = """
for epoch in flor.loop("epoch", 4):
    for x in flor.loop("train", data):
        optimizer.zero_grad()
        loss = net(x).square().mean()
        loss.backward()
        optimizer.step()
        schedule.step()
        flor.log("loss", loss)
"""


class AttributesTest(Script):
    def test_attributes_of_modules_their_parts_and_optimizers(self):
        self.program(NET + "schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda n: 1 / (1 + n))\n"
                     "flor.checkpoints(net, optimizer, schedule)\n" + TRAIN)
        self.record("train.py", "t")
        done = self.python("train.py", "--replay_flor", "2/3", "--flor_probe", "train")
        self.assertIn("verified: ", done.stderr)

    def test_a_schedule_that_refers_to_itself(self):
        self.program(NET.replace("optimizer = Own(net.parameters())", "optimizer = torch.optim.SGD(net.parameters(), 0.1)")
                     + "schedule = torch.optim.lr_scheduler.CyclicLR(optimizer, 0.01, 0.1, 3, cycle_momentum=False)\n"
                     "flor.checkpoints(net, optimizer, schedule)\n" + TRAIN)
        self.assertNotIn("MISSING", self.record("train.py", "t").stderr)
        done = self.python("train.py", "--replay_flor", "2/3", "--flor_probe", "train")
        self.assertIn("verified: ", done.stderr)

    def test_a_counter(self):
        self.program("""
            import collections
            counts = collections.Counter()
            flor.checkpoints(counts)
            for epoch in flor.loop("epoch", 4):
                for step in flor.loop("train", 3):
                    counts[step % 2] += epoch
                    flor.log("n", counts[0])
        """)
        self.record("train.py", "t")
        done = self.python("train.py", "--replay_flor", "2/3", "--flor_probe", "train")
        self.assertIn("verified: ", done.stderr)


class RefusedTest(Script):
    def recorded(self, setup, attached=""):
        self.program(f"{setup}\nfor epoch in flor.loop('epoch', 2{attached}):\n    for step in flor.loop('train', 2): pass\n")
        return self.record("train.py", "t").stderr

    def test_what_no_restore_could_make_is_refused_while_recording(self):
        self.assertIn("made by builtins.iter, which no restore calls",
                      self.recorded("held = iter([1, 2])", ", attached='held'"))
        self.assertIn("which a restore could only make anew: attach the variable by its name",
                      self.recorded("import fractions\nflor.checkpoints(half=fractions.Fraction(1, 2))"))


class CarriedTest(Script):
    """Variables that outlive an epoch, and that nothing keeps: a resume has them, or there is none."""

    STOP = """
        import os, random, signal, time
        random.seed(1)
        w = [1.0]
        flor.checkpoints(w)
        best, bad = 1e9, 0
        for epoch in flor.loop("epoch", 5):
            if os.environ.get("KILL") == str(epoch):
                time.sleep(0.5)
                os.kill(os.getpid(), signal.SIGKILL)
            for step in flor.loop("train", 4):
                w[0] = w[0] * 0.9 + random.random()
            flor.log("w", w[0])
            if w[0] < best:
                best, bad = w[0], 0
            else:
                bad += 1
        print(best, bad)
    """

    def killed(self):
        self.environment["KILL"] = "3"
        self.record("train.py", "t", status=-9)
        del self.environment["KILL"]

    def test_what_epochs_decide_outside_of_nested_loops_is_decided_again(self):
        self.program(self.STOP)
        whole = self.record("train.py", "whole").stdout
        self.killed()
        done = self.record("train.py", "t", "--flor_resume")
        self.assertEqual(done.stdout, whole)
        self.assertIn("epoch leaves 'bad' (train.py:21) and 'best' (train.py:21) to later code, and no "
                      "checkpoint holds it: going through the earlier epochs again", done.stderr)

    def test_what_nested_loops_leave_is_not_made_up(self):
        self.program(self.STOP.replace("w[0] = w[0] *", "bad += step; w[0] = w[0] *"))
        self.killed()
        done = self.record("train.py", "t", "--flor_resume", status=7)
        self.assertIn("not resumed: epoch leaves 'bad' (train.py:21) to later code, and no checkpoint "
                      "of run ", done.stderr)
        self.assertIn("resuming run",
                      self.record("train.py", "t", "--flor_resume", "--flor_check", "none").stderr)

    def test_a_fork_has_them_or_there_is_none(self):
        self.program(self.STOP)
        whole = self.record("train.py", "whole").stdout
        done = self.record("train.py", "again", "--flor_from", "whole@2")
        self.assertEqual(done.stdout, whole)
        self.assertIn("going through the earlier epochs again", done.stderr)
        self.program(self.STOP.replace("w[0] = w[0] *", "bad += step; w[0] = w[0] *"))
        self.record("train.py", "other")
        done = self.record("train.py", "again", "--flor_from", "other@2", status=7)
        self.assertIn("not forked: epoch leaves 'bad' (train.py:21) to later code", done.stderr)

    def test_what_is_attached_is_kept(self):
        self.program(self.STOP.replace('"epoch", 5', '"epoch", 5, attached="best, bad"'))
        whole = self.record("train.py", "whole").stdout
        self.killed()
        done = self.record("train.py", "t", "--flor_resume")
        self.assertEqual(done.stdout, whole)
        self.assertNotIn("carries", done.stderr)


if __name__ == "__main__":
    unittest.main()

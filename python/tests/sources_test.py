"""Which loops an edit concerns: found in the syntax trees, and rather a loop too many than one too few."""

import textwrap
import unittest

from flor._sources import analyze, imports

PROGRAM = """
import torch, flor
from torch.utils.data import DataLoader
import helpers

flor.init()
net = torch.nn.Linear(2, 2)
criterion = torch.nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(net.parameters(), lr=flor.arg("lr", 0.1))
train_set = DataLoader(helpers.samples(), shuffle=True)
test_set = DataLoader(helpers.samples())
device = torch.device("cpu")
flor.checkpoints(net, optimizer)


def evaluate(net, samples):
    net.eval()
    right = 0
    for x, y in samples:
        right += (net(x.to(device)).argmax(1) == y).sum().item()
    net.train()
    return right


def loss_of(x, y):
    out = net(x)
    return criterion(out, y)


best = 0
for epoch in flor.loop("epoch", 3):
    total = 0.0
    for x, y in flor.loop("train", train_set, attached="total"):
        loss = loss_of(x.to(device), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
    accuracy = evaluate(net, test_set)
    best = max(best, accuracy)
    flor.log("accuracy", accuracy)
print("done")
"""
HELPERS = """
import torch


def samples():
    return torch.utils.data.TensorDataset(torch.zeros(4, 2), torch.zeros(4).long())


def scale(x):
    return x * 2
"""


class Case(unittest.TestCase):
    program, helpers = PROGRAM, HELPERS
    nested, main = {"train"}, {"epoch"}

    def after(self, *edits, helpers=None):
        text = self.program
        for before, now in edits:
            self.assertIn(before, text)
            text = text.replace(before, now, 1)
        changed = [("train.py", self.program, text)] if text != self.program else []
        rest = [] if changed else [("train.py", self.program)]
        if helpers is not None:
            changed.append(("helpers.py", self.helpers, helpers))
        else:
            rest.append(("helpers.py", self.helpers))
        return analyze(changed, rest, "/somewhere/train.py", self.nested, self.main, True)

    def loops(self, found):
        return [row[0] for row in found.touched]


class EditsTest(Case):
    def test_what_is_no_change(self):
        found = self.after(("total = 0.0", "total  =  0.0  # nothing"), ("import torch, flor", "import torch,  flor"))
        self.assertTrue(found.nothing_changed)
        self.assertTrue(self.after().nothing_changed)

    def test_a_log_inside_the_loop_executes_it(self):
        found = self.after(("        total +=", "        flor.log(\"norm\", net.weight.grad.norm())\n        total +="))
        self.assertEqual(found.touched, [("train", 'train.py:38 logs "norm"', "")])
        self.assertEqual((found.computation, found.walk), ([], ""))

    def test_a_log_around_an_expression_executes_the_loop_and_changes_nothing(self):
        found = self.after(("total += loss.item()", "total += flor.log(\"l\", loss.item())"))
        self.assertEqual(self.loops(found), ["train"])
        self.assertEqual(found.computation, [])

    def test_logs_of_registered_state_outside_leave_the_loop_alone(self):
        for text in ('flor.log("w", net.weight.norm())', 'flor.log("again", evaluate(net, test_set))',
                     'flor.log("lr", optimizer.param_groups[0]["lr"])', 'flor.log("mean", total / len(train_set))',
                     'flor.log("acc2", accuracy * 2)', 'with torch.no_grad():\n        flor.log("n", net.weight.sum())',
                     'flor.log_histogram("h", net.weight)', 'print(epoch)',
                     'flor.log("loss", criterion(net(torch.zeros(1, 2)), torch.zeros(1).long()))',
                     'flor.log("device", str(device))'):
            with self.subTest(text=text):
                found = self.after(("    accuracy =", "    accuracy ="), ("    best = max", f"    {text}\n    best = max"))
                self.assertEqual((self.loops(found), found.walk, found.computation), ([], "", []))
                self.assertTrue(found.looking)

    def test_statements_around_a_log_may_have_variables_of_their_own(self):
        found = self.after(("    best = max", "    table = torch.zeros(2, 2)\n    for a, b in test_set:\n        "
                            "table[b, net(a).argmax(1)] += 1\n    flor.log_table(\"t\", table)\n    best = max"))
        self.assertEqual((self.loops(found), found.walk, found.computation), ([], "", []))

    def test_what_the_loop_leaves_behind_executes_it(self):
        for text, question in (('flor.log("last", loss.item())', '"last"'), ('flor.log("x", x.sum())', '"x"'),
                               ('last = loss * 2\n    flor.log("y", last)', "'last = loss * 2' is new")):
            with self.subTest(text=text):
                found = self.after(("    best = max", f"    {text}\n    best = max"))
                self.assertEqual(self.loops(found), ["train"])
                self.assertEqual(found.touched[0][2], question)
                self.assertIn("that is not registered", found.touched[0][1])

    def test_a_variable_that_outlives_the_epochs_is_followed_from_the_start(self):
        found = self.after(("print(\"done\")", "flor.log(\"best\", best)"))
        self.assertIn("'best' that epoch changes", found.walk)
        found = self.after(("    flor.log(\"accuracy\"", "    flor.log(\"best\", best)\n    flor.log(\"accuracy\""))
        self.assertIn("'best' that epoch changes", found.walk)
        found = self.after(("print(\"done\")", "flor.log(\"w\", net.weight.sum())"))
        self.assertEqual(found.walk, "")

    def test_a_change_in_a_function_that_the_loop_calls_executes_it(self):
        found = self.after(("    out = net(x)\n", "    out = net(x)\n    flor.log(\"out\", out.mean())\n"))
        self.assertEqual(found.touched, [("train", 'train.py:27 (loss_of) logs "out"', "")])
        found = self.after(("    right = 0\n", "    flor.log(\"e\", 1)\n    right = 0\n"))
        self.assertEqual(self.loops(found), [])
        found = self.after(("criterion(out, y)", "criterion(out * 2, y)"))
        self.assertEqual(self.loops(found), ["train"])
        self.assertEqual(found.computation, [("", "train.py:27 'out' is now 'out * 2'", "")])

    def test_a_changed_computation_is_told(self):
        found = self.after(("total += loss.item()", "total += loss.item() * 2"))
        self.assertEqual(found.computation, [("train", "train.py:38 'loss.item()' is now 'loss.item() * 2'", "")])
        found = self.after(("flor.arg(\"lr\", 0.1)", "flor.arg(\"lr\", 0.2)"))
        self.assertEqual(found.computation, [("", "train.py:9 '0.1' is now '0.2'", "")])
        found = self.after(("        optimizer.zero_grad()\n", ""))
        self.assertEqual(found.computation, [("train", "train.py:35 'optimizer.zero_grad()' is gone", "")])
        self.assertEqual(self.loops(found), ["train"])
        found = self.after(("    net.eval()\n", ""))
        self.assertEqual(found.computation[0][0], "")

    def test_a_change_in_a_module_that_the_program_imports(self):
        found = self.after(helpers=HELPERS.replace("x * 2", "x * 3"))
        self.assertEqual((self.loops(found), found.computation),
                         ([], [("", "helpers.py:10 '2' is now '3'", "")]))
        used = self.program.replace("loss_of(x.to(device), y)", "loss_of(helpers.scale(x), y)")
        found = analyze([("helpers.py", HELPERS, HELPERS.replace("return x * 2", "return flor.log('x', x * 2)").replace(
            "import torch", "import torch, flor"))], [("train.py", used)], "/a/train.py", self.nested, self.main, True)
        self.assertEqual(found.touched, [("train", 'helpers.py:10 (scale) logs "x"', "")])

    def test_files_of_other_programs_do_not_count(self):
        found = analyze([("other.py", "x = 1", "x = 2")], [("train.py", PROGRAM), ("helpers.py", HELPERS)],
                        "/a/train.py", self.nested, self.main, True)
        self.assertTrue(found.nothing_changed)

    def test_a_source_that_cannot_be_read_executes_everything(self):
        found = analyze([("train.py", PROGRAM, PROGRAM + "\ndef (")], [("helpers.py", HELPERS)], "/a/train.py",
                        self.nested, self.main, True)
        self.assertFalse(found.nothing_changed)
        self.assertEqual([row[0] for row in found.touched_at("train.py", 33, "train")], ["train"])

    def test_places_of_loops(self):
        found = self.after(("        total +=", "        flor.log(\"n\", 1)\n        total +="))
        self.assertEqual([row[0] for row in found.touched_at("/elsewhere/train.py", 33, "train")], ["train"])
        self.assertEqual(found.touched_at("/elsewhere/train.py", 31, "epoch")[0][0], "epoch")
        self.assertFalse(found.may_leave_function("/elsewhere/train.py", 33))
        self.assertIsNone(found.may_leave_function("/elsewhere/train.py", 20))

    def test_a_log_after_that_is_removed_changes_nothing(self):
        found = self.after(("    flor.log(\"accuracy\", accuracy)\n", ""))
        self.assertEqual((self.loops(found), found.computation), ([], []))

    def test_other_things_attached_or_registered_change_no_computation(self):
        found = self.after(("attached=\"total\"", "attached=\"total, loss\""), ("flor.checkpoints(net,", "flor.checkpoints(criterion, net,"))
        self.assertEqual((self.loops(found), found.computation), ([], []))


class ClassesTest(Case):
    program = """
import torch, flor
flor.init()


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.a = torch.nn.Linear(2, 2)

    def forward(self, x):
        return self.a(x)


class Trainer:
    def __init__(self):
        self.net = Net()
        self.optimizer = torch.optim.SGD(self.net.parameters(), lr=0.1)
        self.total, self.best = 0.0, 0.0
        flor.checkpoints(self.net, self.optimizer)

    def step(self, x):
        loss = self.net(x).sum()
        loss.backward()
        self.optimizer.step()
        self.total += loss.item()

    def fit(self, loader):
        for epoch in flor.loop("epoch", 3):
            for x in flor.loop("train", loader):
                self.step(x)
            flor.log("epoch", epoch)


Trainer().fit([torch.ones(1, 2)])
"""

    def test_methods_and_attributes(self):
        for text, loops in (('flor.log("w", self.net.a.weight.sum())', []), ('flor.log("t", self.total)', ["train"])):
            found = self.after(("            flor.log(\"epoch\"", f"            {text}\n            flor.log(\"epoch\""))
            self.assertEqual(self.loops(found), loops, text)

    def test_a_log_in_forward_concerns_every_loop(self):
        found = self.after(("        return self.a(x)", "        flor.log(\"x\", x.mean())\n        return self.a(x)"))
        self.assertEqual(self.loops(found), ["train"])

    def test_a_log_in_a_method_that_the_loop_calls(self):
        found = self.after(("        loss.backward()", "        flor.log(\"l\", loss)\n        loss.backward()"))
        self.assertEqual(self.loops(found), ["train"])


class ImportsTest(unittest.TestCase):
    def closure(self, sources, start="train.py"):
        return imports.Imports(sources).closure([start])

    def test_the_files_of_a_program(self):
        sources = {"train.py": "import a\nfrom pkg import b", "a.py": "", "pkg/__init__.py": "from . import c",
                   "pkg/b.py": "", "pkg/c.py": "from .d import x", "pkg/d.py": "", "other.py": "", "src/a.py": ""}
        self.assertEqual(self.closure(sources), set(sources) - {"other.py"})

    def test_an_import_that_is_computed_means_every_file(self):
        self.assertEqual(self.closure({"train.py": "import importlib", "x.py": ""}), {"train.py", "x.py"})


if __name__ == "__main__":
    unittest.main()

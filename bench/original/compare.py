"""Runs both systems and prints a Markdown table a model. Started by bench/original.sh.

Every figure comes from one run. Training alone and recording take turns, and who begins changes
from round to round; ratios are of two that ran in the same round. Whole processes are timed, and
the time from the line of the first epoch to that of the last. Before each recording the store is
emptied. The last round's records are replayed: with the training skipped, and the second half of
the epochs with the training executed.

Equal is what equals the record in every bit. Of the original the programs print the values and a
digest of the weights. Of Flor it is what the replay itself compared (each value that it computed
again, and the digest of the state, with optimizer and generators, after each executed loop);
besides, what the examples print has to be the same.
"""
import argparse
import json
import os
import re
import shutil
import sqlite3
import statistics
import subprocess
import sys
import time
from pathlib import Path

MODELS = {
    "mlp": ("linear", "mnist", ["epochs=6", "hidden=512"]),
    "charlm": ("charlm", "tinyshakespeare.txt",
               ["epochs=6", "steps=12", "width=192", "layers=4", "batch=4"]),
}


class Result:
    """A process that ended well: its times in seconds, and what it printed, by epochs."""

    def __init__(self, command, directory, environment):
        began = time.time()
        self.epochs, self.printed = {}, {}
        with open(directory / "stderr", "w+") as errors:
            process = subprocess.Popen(command, cwd=directory, env=os.environ | environment,
                                       stdout=subprocess.PIPE, stderr=errors,
                                       encoding="latin-1")  # charlm may print any byte
            epoch = None
            for line in process.stdout:
                found = re.match(r'(?:epoch |\{"epoch": )(\d+)', line)
                if found:
                    epoch = int(found[1])
                    self.printed[epoch] = time.time()
                    self.epochs[epoch] = line
                    epoch = None if line.startswith("{") else epoch  # one line of JSON is the whole epoch
                elif epoch is not None:
                    self.epochs[epoch] += line
            _, status, used = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
            errors.seek(0)
            if status != 0:
                sys.exit(f"{' '.join(command)} failed: {errors.read()[-2000:]}")
        self.process = time.time() - began
        self.cpu = used.ru_utime + used.ru_stime

    def loop(self):
        """Without what only the check of exactness takes."""
        last = max(self.printed)
        checking = [json.loads(line)["checking"] for epoch, line in self.epochs.items()
                    if line.startswith("{") and epoch > min(self.printed)]
        return self.printed[last] - self.printed[min(self.printed)] - sum(checking)


def size_of(directory):
    return sum(path.stat().st_size for path in directory.rglob("*") if path.is_file())


class Original:
    """The Python original, which records every epoch."""

    def __init__(self, options, model):
        self.directory = options.scratch / "python"
        self.store = Path(os.environ["HOME"]) / ".flor"
        _, data, _ = MODELS[model]
        self.command = [options.python, f"{model}.py", "--data", str(options.data / data)]
        self.kwargs = ["--kwargs"] + options.settings
        self.model = model

    def run(self, *flags):
        return Result(self.command + list(flags) + self.kwargs, self.directory, {})

    def plain(self):
        return self.run("--plain")

    def record(self, *flags):
        shutil.rmtree(self.store, ignore_errors=True)
        self.recorded = self.run("--flor", self.model, *flags)
        return self.recorded

    def stored_epochs(self):
        return len(list(self.store.rglob("*.pkl"))) // 2  # two files: the model and the optimizer

    def stored(self):
        return size_of(self.store)

    def outer(self, *flags):
        return self.checked(self.run("--replay_flor", *flags), range(len(self.recorded.epochs)),
                            False)

    def half(self, *flags):
        count = len(self.recorded.epochs)  # if their number is odd, the first half is the larger one
        return self.checked(self.run("--replay_flor", "2/2", *flags),
                            range((count + 1) // 2, count), True)

    def checked(self, result, epochs, executed):
        """Adds to the result how many of the weights and of the values are those of the record."""
        weights, values = [], []
        for epoch in epochs:
            record = json.loads(self.recorded.epochs[epoch])
            replay = json.loads(result.epochs[epoch])
            weights.append(record["weights"] == replay["weights"])
            values += [replay["values"][k] == v for k, v in record["values"].items()]
            if executed:
                values += [a == b for a, b in zip(record["losses"], replay["losses"], strict=True)]
        result.weights = f"{sum(weights)}/{len(weights)}"
        result.values = f"{sum(values)}/{len(values)}"
        return result


class Flor:
    """The C++ example; `flags` say which epochs are stored."""

    def __init__(self, options, model, name, *flags):
        example, data, _ = MODELS[model]
        self.directory = options.scratch / "work"
        self.store = options.scratch / name
        self.command = ["stdbuf", "-oL", str(options.build / "examples" / example),
                        "--data", str(options.data / data)]
        self.kwargs = ["--kwargs"] + options.settings
        self.flags = ["--flor", model, *flags]

    def run(self, *flags):
        return Result(self.command + list(flags), self.directory, {"FLOR_HOME": str(self.store)})

    def plain(self):
        return self.run(*self.kwargs)

    def record(self):
        shutil.rmtree(self.store, ignore_errors=True)
        self.recorded = self.run(*self.flags, *self.kwargs)
        return self.recorded

    def stored(self):
        return size_of(self.store)

    def query(self, text):
        connection = sqlite3.connect(self.store / "catalog.db")
        try:
            return connection.execute(text).fetchone()
        finally:
            connection.close()

    def stored_epochs(self):
        return self.query(
            "SELECT count(DISTINCT iteration) FROM checkpoint WHERE loop = 'train'")[0]

    def outer(self):
        return self.checked(self.run("--replay_flor"))

    def half(self):
        return self.checked(self.run("--replay_flor", "1/2", "--flor_probe", "train"))

    def checked(self, result):
        values, other_values, states, other_states = self.query(
            "SELECT values_compared, values_different, states_compared, states_different "
            "FROM replay ORDER BY id DESC LIMIT 1")
        result.values = f"{values - other_values}/{values}"
        executed = len(self.recorded.epochs) - self.stored_epochs()
        loaded = "all loaded" if executed == 0 else f"{executed} executed, the others loaded"
        result.weights = f"{states - other_states}/{states}" if states else loaded
        same = [self.recorded.epochs[epoch] == text for epoch, text in result.epochs.items()]
        result.lines = f"{sum(same)}/{len(same)}"
        return result


def process(result):
    return result.process


def loop(result):
    return result.loop()


def cpu(result):
    return result.cpu


class Series:
    """A system that records, and what each round took: trained alone and recorded."""

    def __init__(self, system, alone):
        self.system = system
        self.alone = alone  # shared by the systems whose training is the same program
        self.recorded = []

    def record(self):
        self.recorded.append(self.system.record())

    def training(self, measure):
        return statistics.median(map(measure, self.alone))

    def added(self, measure):
        """Median, least and greatest of what recording adds in a round, in percent."""
        each = [100 * (measure(recorded) / measure(alone) - 1)
                for alone, recorded in zip(self.alone, self.recorded, strict=True)]
        return f"{statistics.median(each):+.1f} % ({min(each):+.1f} to {max(each):+.1f})"


def run_rounds(pairs, model, all_series):
    """Each round trains with each program alone and records with each system."""
    for number in range(pairs):
        groups = {}
        for series in all_series if number % 2 else reversed(all_series):
            groups.setdefault(id(series.alone), []).append(series)
        for group in groups.values():
            turns = [lambda: group[0].alone.append(group[0].system.plain())]
            turns += [series.record for series in group]
            for turn in turns if number % 2 else reversed(turns):
                turn()
        print(f"{model}: round {number + 1} of {pairs}", file=sys.stderr)


def row(name, cells):
    print("| " + " | ".join([name, *cells]) + " |")


def print_recording(all_series, count, raw):
    for what, measure in (("the process", process), ("epoch 2 to the last", loop)):
        row(f"training alone, {what}", [f"{s.training(measure):.2f} s" for s in all_series])
    for what, measure in (("the process", process), ("epoch 2 to the last", loop),
                          ("processor time", cpu)):
        row(f"recording adds, {what}", [s.added(measure) for s in all_series])
    systems = [s.system for s in all_series]
    row("epochs stored", [f"{system.stored_epochs()} of {count}" for system in systems])
    row("bytes stored, of the raw states of all epochs",
        [f"{size / 1e6:.1f} MB, {size / raw:.3f}" for size in (s.stored() for s in systems)])


def print_replay(name, all_series, replays):
    row(f"{name}: the process, of the training's",
        [f"{r.process:.2f} s, {r.process / s.training(process):.2f}"
         for s, r in zip(all_series, replays, strict=True)])
    row(f"{name}: values equal", [r.values for r in replays])
    row(f"{name}: weights (of Flor whole states) equal", [r.weights for r in replays])
    row(f"{name}: epochs printed alike", ["", *[r.lines for r in replays[1:]]])


def compare(options, model):
    original = Original(options, model)
    flor_alone = []
    all_series = [Series(original, []),
                  Series(Flor(options, model, "every", "--flor_every", "1"), flor_alone),
                  Series(Flor(options, model, "adaptive"), flor_alone)]
    run_rounds(options.pairs, model, all_series)

    count = len(original.recorded.epochs)
    raw = count * json.loads(original.recorded.epochs[0])["state_bytes"]
    size = f"{raw / count / 1e6:.1f} MB of state an epoch"
    print(f"\n{model}, {' '.join(options.settings)}: {size}\n")
    row("", ["the original", "Flor, every epoch stored", "Flor, adaptive"])
    row("---", ["---"] * 3)
    print_recording(all_series, count, raw)
    skipped = [series.system.outer() for series in all_series]
    print_replay("training skipped", all_series, skipped)
    row("training skipped: epoch 2 to the last",
        [f"{r.loop():.2f} s, {s.training(loop) / r.loop():.1f} times faster"
         for s, r in zip(all_series, skipped, strict=True)])
    print_replay("second half executed", all_series,
                 [series.system.half() for series in all_series])
    original.record("--rng")
    for name, result in (("training skipped", original.outer("--rng")),
                         ("second half executed", original.half("--rng"))):
        row(f"{name}, the generator registered by hand: values; weights equal",
            [f"{result.values}; {result.weights}", "", ""])


def main():
    parser = argparse.ArgumentParser(prog="original.sh BUILD ORIGINAL")
    for name in ("build", "scratch"):
        parser.add_argument(f"--{name}", type=Path, required=True, help=argparse.SUPPRESS)
    parser.add_argument("--python", required=True, help=argparse.SUPPRESS)
    parser.add_argument("--pairs", type=int, default=3, help="rounds of each model (3)")
    parser.add_argument("--models", nargs="+", choices=MODELS, default=list(MODELS),
                        help="both, if not said")
    for model, (_, _, settings) in MODELS.items():
        parser.add_argument(f"--{model}", nargs="+", default=settings, metavar="NAME=VALUE",
                            help=" ".join(settings))
    options = parser.parse_args()
    options.data = Path(os.environ["FLOR_TEST_DATA"]).resolve()
    print(f"{os.cpu_count()} cores, load {' '.join(Path('/proc/loadavg').read_text().split()[:3])}")
    for model in options.models:
        options.settings = getattr(options, model)
        compare(options, model)


if __name__ == "__main__":
    main()

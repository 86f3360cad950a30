#!/bin/sh
# From a complete checkpoint to its evaluator, a burst of 200, and an idle watch.
# Usage: bench/watch.sh BUILD_DIRECTORY [CHECKPOINTS [IDLE_SECONDS]]
set -eu
build=$(realpath "$1")
. "$(dirname "$0")/setup.sh"
notes=$(mktemp -d -p /dev/shm)  # what the evaluator notes is no part of what is measured
trap 'rm -rf "$scratch" "$notes"' EXIT
mkdir "$scratch/judges"
cat > "$scratch/judges/judge.py" <<'PYTHON'
import os, time
notes = os.open(os.environ["FLOR_BENCH_NOTES"], os.O_WRONLY | os.O_CREAT | os.O_APPEND)
def note(path):
    os.write(notes, "{} {}\n".format(path, time.time_ns()).encode())
    return {"n": 1}
PYTHON

"${PYTHON:-/usr/bin/python3}" - "$build" "$scratch" "$notes" "${2:-100}" "${3:-10}" <<'PYTHON'
import json, os, random, signal, struct, subprocess, sys, threading, time

build, scratch, notes = sys.argv[1:4]
count, idle_seconds = int(sys.argv[4]), float(sys.argv[5])
flor = build + "/cli/flor"


def tensors(number):
    header = json.dumps({"__metadata__": {"number": str(number)},
                         "w": {"dtype": "U8", "shape": [4096], "data_offsets": [0, 4096]}})
    return struct.pack("<Q", len(header)) + header.encode() + bytes(4096)


class Watch:
    """A flor watch with an empty store, and the times at which its evaluator was called."""

    made = 0

    def __init__(self, evaluator, workers=1, files=0):
        Watch.made += 1
        self.place = "{}/{}".format(scratch, Watch.made)
        self.runs, self.notes = self.place + "/runs", "{}/{}".format(notes, Watch.made)
        os.makedirs(self.runs)
        for i in range(files):
            self.write(i, self.runs + "/step_{}.safetensors".format(i))
        self.number = files
        environment = dict(os.environ, FLOR_HOME=self.place + "/home", FLOR_BENCH_NOTES=self.notes)
        command = [flor, "watch", self.runs, "--evaluator", evaluator, "--workers", str(workers)]
        if files == 0:
            self.publish("warm.safetensors")
            command.append("--existing")
        self.process = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE)
        self.told = []
        self.reader = threading.Thread(target=self.read)
        self.reader.start()
        if files == 0:
            self.wait(1)

    def read(self):
        for line in self.process.stdout:
            self.told.append(time.time_ns())

    def write(self, number, path):
        with open(path, "wb") as file:
            file.write(tensors(number))

    def publish(self, name):
        self.number += 1
        self.write(self.number, self.place + "/temporary")
        os.rename(self.place + "/temporary", self.runs + "/" + name)
        return time.time_ns()

    def called(self):
        with open(self.notes) as file:
            pairs = [line.rsplit(" ", 1) for line in file]
        return [(os.path.basename(path), int(at)) for path, at in pairs]

    def wait(self, number):
        while len(self.told) < number:
            if self.process.poll() is not None:
                sys.exit("flor watch has ended")
            time.sleep(0.002)

    def processes(self):
        found, waiting = [], [self.process.pid]
        while waiting:
            pid = waiting.pop()
            found.append(pid)
            with open("/proc/{0}/task/{0}/children".format(pid)) as file:
                waiting += [int(child) for child in file.read().split()]
        return found

    def cpu_seconds(self):
        # As the scheduler counts: ticks are too coarse for this.
        nanoseconds = 0
        for pid in self.processes():
            for task in os.listdir("/proc/{}/task".format(pid)):
                with open("/proc/{}/task/{}/schedstat".format(pid, task)) as file:
                    nanoseconds += int(file.read().split()[0])
        return nanoseconds / 1e9

    def end(self):
        self.process.send_signal(signal.SIGTERM)
        self.process.wait()
        self.reader.join()


def latency(name, evaluator):
    watch = Watch(evaluator)
    done = {}
    for i in range(count):
        time.sleep(random.uniform(0.02, 0.2))
        file = "step_{}.safetensors".format(i)
        done[file] = watch.publish(file)
    watch.wait(1 + count)
    called = dict(watch.called())
    times = sorted((called[file] - at) / 1e6 for file, at in done.items())
    watch.end()
    print("{:8} complete to running: p50 {:6.2f} ms, p95 {:6.2f} ms, max {:6.2f} ms ({} checkpoints)"
          .format(name, times[count // 2], times[int(count * 0.95)], times[-1], count), flush=True)


def burst(name, evaluator, workers):
    watch = Watch(evaluator, workers)
    number = 200
    for i in range(number):
        watch.write(1000 + i, watch.runs + "/step_{}.tmp".format(i))
    time.sleep(0.5)
    begin = time.time_ns()
    for i in range(number):
        os.rename(watch.runs + "/step_{}.tmp".format(i), watch.runs + "/step_{}.safetensors".format(i))
    last_file = time.time_ns()
    watch.wait(1 + number)
    called = watch.called()[1:]
    watch.end()
    last = max(at for _, at in called)
    order = [int(file[5:-12]) for file, _ in sorted(called, key=lambda pair: pair[1])]
    late = max(abs(turn - i) for i, turn in enumerate(order))
    print("{:8} burst of {}, {} worker{}: {:5.0f} evaluations/s, last file to last evaluation {:5.1f} ms,"
          " to last durable result {:5.1f} ms, {}".format(
              name, number, workers, "s" if workers > 1 else "", number / ((last - begin) / 1e9),
              (last - last_file) / 1e6, (watch.told[number] - last_file) / 1e6,
              "in order" if late == 0 else "in order but for {} places".format(late)), flush=True)


def idle(files):
    watch = Watch(judges["native"], files=files)
    time.sleep(3)
    before = watch.cpu_seconds()
    time.sleep(idle_seconds)
    used = watch.cpu_seconds() - before
    watch.end()
    print("idle, {} files: {:.3f} % of a core in {:.0f} s".format(
        files, 100 * used / idle_seconds, idle_seconds), flush=True)


judges = {"native": build + "/bench/libwatch_note.so:note",
          "program": build + "/bench/watch_note {}",
          "python": scratch + "/judges/judge.py:note"}
for name, evaluator in judges.items():
    latency(name, evaluator)
for name, workers in (("native", 1), ("native", 2), ("program", 2), ("python", 1), ("python", 2)):
    burst(name, judges[name], workers)
for files in (0, 5000):
    idle(files)
PYTHON

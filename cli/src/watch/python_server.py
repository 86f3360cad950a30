# Imports an evaluator once and forks a worker for each socket that it is sent; `flor watch` starts
# it as: python3 -c THIS PARENT FILE MODULE FUNCTION, with a socket as descriptor 3; FILE or MODULE
# is empty. Workers read how to begin, {"environment": {...}}, then a job a line, {"path": ...,
# "log": ..., "arguments": ...}, and answer a line each, {"result": ...} or {"error": ...}.
import ctypes
import importlib
import importlib.util
import json
import os
import signal
import socket
import sys
import traceback

PR_SET_PDEATHSIG = 1
PARENT_DIED = signal.SIGRTMAX - 1
RESULT_LIMIT = 1 << 20
workers = set()


def hear_of_death(number):
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, int(number))


def die_with(parent):
    hear_of_death(signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)


def die_with_group(parent):
    signal.signal(PARENT_DIED, lambda *_: kill_group(0))
    hear_of_death(PARENT_DIED)
    if os.getppid() != parent:
        kill_group(0)


def say(stream, message):
    stream.sendall(json.dumps(message).encode() + b"\n")


def load(path, module_name, name):
    if sys.version_info < (3, 9):
        raise RuntimeError("python3 is older than 3.9")
    if module_name:
        sys.path.insert(0, os.getcwd())
        return getattr(importlib.import_module(module_name), name)
    sys.path.insert(0, os.path.dirname(path))
    module_name = os.path.splitext(os.path.basename(path))[0]
    spec = importlib.util.spec_from_file_location(module_name, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[module_name] = module
    spec.loader.exec_module(module)
    return getattr(module, name)


def plain(value):
    # Numbers of numpy and torch know how to become Python's.
    if hasattr(value, "item"):
        return value.item()
    return str(value)


def in_words(error):
    text = "{}: {}".format(type(error).__name__, error)
    frames = traceback.extract_tb(error.__traceback__)
    if frames:
        text += " ({}:{})".format(os.path.basename(frames[-1].filename), frames[-1].lineno)
    return text


def redirect(path):
    try:
        log = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o666)
    except OSError:
        return  # the result counts, not what is said beside it
    os.dup2(log, 1)
    os.dup2(log, 2)
    os.close(log)


def flush():
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError):
            pass  # the disk is full, or the evaluator has closed it


def evaluate(function, job):
    redirect(job["log"])
    os.environ["FLOR_ARGUMENTS"] = job["arguments"]
    try:
        arguments = json.loads(job["arguments"] or "{}")
        result = json.dumps(function(job["path"], **arguments), default=plain)
        if len(result) > RESULT_LIMIT:
            raise ValueError("the result has {} bytes: it may have {}".format(len(result), RESULT_LIMIT))
        return {"result": result}
    except BaseException as error:
        traceback.print_exc()
        return {"error": in_words(error)}
    finally:
        flush()


def work(function, stream, server):
    os.set_inheritable(stream.fileno(), False)
    os.setpgid(0, 0)
    die_with_group(server)
    lines = stream.makefile("rb")
    first = lines.readline()
    if not first:
        return
    os.environ.update(json.loads(first)["environment"])
    say(stream, {"ready": os.getpid()})
    for line in lines:
        say(stream, evaluate(function, json.loads(line)))


def kill_group(pid):
    try:
        os.killpg(pid, signal.SIGKILL)
    except OSError:
        pass


def reap():
    # A number is free for others only once its process is reaped; until then the group is its own.
    for pid in list(workers):
        if os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT):
            kill_group(pid)
            os.waitpid(pid, 0)
            workers.discard(pid)


def main():
    die_with(int(sys.argv[1]))
    control = socket.socket(fileno=3)
    os.set_inheritable(3, False)
    try:
        function = load(*sys.argv[2:5])
    except BaseException as error:
        traceback.print_exc()
        say(control, {"fatal": in_words(error)})
        return
    say(control, {"ready": os.getpid()})
    # From now on it lives a moment longer than its parent, to end the workers with all they started.
    hear_of_death(0)
    while True:
        data, descriptors, _, _ = socket.recv_fds(control, 1, 1)
        if not data:
            break
        reap()
        server = os.getpid()
        pid = os.fork()
        if pid == 0:
            control.close()
            try:
                work(function, socket.socket(fileno=descriptors[0]), server)
            finally:
                os._exit(0)
        workers.add(pid)
        os.close(descriptors[0])
    for pid in workers:
        kill_group(pid)


main()

# Imports an evaluator once and forks a worker for each socket that it is sent; `flor watch` starts
# it as: python3 -c THIS FILE FUNCTION, with a socket as descriptor 3. Workers read a job a line,
# {"path": ..., "log": ...}, and answer a line each, {"result": ...} or {"error": ...}.
import ctypes
import importlib.util
import json
import os
import signal
import socket
import sys
import traceback

PR_SET_PDEATHSIG = 1


def die_with_parent():
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def say(stream, message):
    stream.sendall(json.dumps(message).encode() + b"\n")


def load(path, name):
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


def evaluate(function, job):
    log = os.open(job["log"], os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o666)
    os.dup2(log, 1)
    os.dup2(log, 2)
    os.close(log)
    try:
        return {"result": json.dumps(function(job["path"]), default=plain)}
    except BaseException as error:
        traceback.print_exc()
        return {"error": in_words(error)}
    finally:
        sys.stdout.flush()
        sys.stderr.flush()


def work(function, stream):
    die_with_parent()
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    os.setpgid(0, 0)
    say(stream, {"ready": os.getpid()})
    for line in stream.makefile("rb"):
        say(stream, evaluate(function, json.loads(line)))


def main():
    die_with_parent()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    control = socket.socket(fileno=3)
    os.set_inheritable(3, False)
    try:
        function = load(sys.argv[1], sys.argv[2])
    except BaseException as error:
        traceback.print_exc()
        say(control, {"fatal": in_words(error)})
        return
    say(control, {"ready": os.getpid()})
    while True:
        data, descriptors, _, _ = socket.recv_fds(control, 1, 1)
        if not data:
            return
        if os.fork() == 0:
            control.close()
            try:
                work(function, socket.socket(fileno=descriptors[0]))
            finally:
                os._exit(0)
        os.close(descriptors[0])


main()

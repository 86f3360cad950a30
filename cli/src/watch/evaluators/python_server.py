# Imports an evaluator once, and forks a worker for each socket that it receives. `flor watch`
# starts it as: python3 -c THIS PARENT FILE MODULE FUNCTION, with a socket as descriptor 3; one of
# FILE and MODULE is empty. A worker first reads its start message, {"environment": {...}}, then one
# job per line, {"path": ..., "log": ..., "arguments": ..., "job": N}. It answers each with a line
# {"job": N, "result": ...} or {"job": N, "error": ...}. With {"fresh": true} in the start message
# each job runs in a process of its own.
import ctypes
import fcntl
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
ANSWERED = 113  # exit status of a process that has sent its result
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
# Scalars of numpy and torch convert themselves to Python numbers.
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
        return  # losing the log is better than losing the result
    # If the evaluator has closed 1 or 2, `log` may be one of these.
    above = fcntl.fcntl(log, fcntl.F_DUPFD_CLOEXEC, 3)
    if log > 2:
        os.close(log)
    os.dup2(above, 1)
    os.dup2(above, 2)
    os.close(above)


def flush():
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError):
            pass  # the disk is full, or the evaluator has closed the stream


class Surroundings:
    """What evaluations of one worker share, as it was before the first of them."""

    def __init__(self):
        self.directory = os.getcwd()
        self.environment = dict(os.environ)
        self.path = list(sys.path)
        self.streams = sys.stdin, sys.stdout, sys.stderr
        self.umask = os.umask(0)
        os.umask(self.umask)

    def restore(self):
        try:
            os.chdir(self.directory)
        except OSError:
            pass  # the directory is gone, and the evaluator may not need it
        if os.environ != self.environment:
            os.environ.clear()
            os.environ.update(self.environment)
        sys.path[:] = self.path
        os.umask(self.umask)
        sys.stdin, sys.stdout, sys.stderr = self.streams
        for name, descriptor in ("stdout", 1), ("stderr", 2):
            try:
                os.fstat(descriptor)
            except OSError:
                nothing = os.open(os.devnull, os.O_WRONLY)
                if nothing != descriptor:
                    os.dup2(nothing, descriptor)
                    os.close(nothing)
            if getattr(sys, name).closed:
                setattr(sys, name, open(descriptor, "w", buffering=1, closefd=False))


def evaluate(function, job):
    redirect(job["log"])
    worker = os.getpid()
    os.environ["FLOR_ARGUMENTS"] = job["arguments"]
    os.environ["FLOR_CHECKPOINT"] = job["path"]
    try:
        arguments = json.loads(job["arguments"] or "{}")
        value = function(job["path"], **arguments)
        leave_if_child(worker, 0)
        result = json.dumps(value, default=plain)
        if len(result) > RESULT_LIMIT:
            raise ValueError("the result has {} bytes: it may have {}".format(len(result), RESULT_LIMIT))
        return {"result": result}
    except BaseException as error:
        leave_if_child(worker, status_of(error))
        traceback.print_exc()
        return {"error": in_words(error)}
    finally:
        flush()


def status_of(error):
    if isinstance(error, SystemExit):
        return error.code if isinstance(error.code, int) else int(error.code is not None)
    return 1


# Ends a child that the evaluator has forked: it would read and answer jobs in competition with its
# parent.
def leave_if_child(worker, status):
    if os.getpid() != worker:
        flush()
        os._exit(status & 255)


# Evaluates a job in a process of its own, so that it leaves nothing behind for the next job.
def evaluate_apart(function, job, stream):
    worker = os.getpid()
    child = os.fork()
    if child == 0:
        try:
            hear_of_death(signal.SIGKILL)
            if os.getppid() == worker:
                say(stream, dict(evaluate(function, job), job=job["job"]))
                os._exit(ANSWERED)
        finally:
            os._exit(1)
    how = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if how != ANSWERED:
        text = "its process was ended by signal {}" if how < 0 else "its process ended with status {}"
        say(stream, {"job": job["job"], "error": text.format(abs(how))})


def work(function, stream, server):
    os.set_inheritable(stream.fileno(), False)
    os.setpgid(0, 0)
    die_with_group(server)
    lines = stream.makefile("rb")
    first = lines.readline()
    if not first:
        return
    begin = json.loads(first)
    os.environ.update(begin["environment"])
    surroundings = Surroundings()
    say(stream, {"ready": os.getpid()})
    for line in lines:
        job = json.loads(line)
        if begin.get("fresh"):
            evaluate_apart(function, job, stream)
            continue
        say(stream, dict(evaluate(function, job), job=job["job"]))
        surroundings.restore()


def kill_group(pid):
    try:
        os.killpg(pid, signal.SIGKILL)
    except OSError:
        pass


def reap():
    # A process id is not reused before the process is reaped, so its group can be killed safely.
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
# From this point on the server outlives its parent for a moment, to end the workers and their
# children.
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

"""How long flor remote ls takes for a bucket with many runs: remote_ls.py BUILD [RUNS [MILLISECONDS]].

Serves what bench/fill_bucket makes in memory as S3 does, 1,000 keys a page, each answer as many
milliseconds late, and lists it. Then without the listing, for a hundredth of the runs.
"""

import http.server
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import urllib.parse
from xml.sax.saxutils import escape

ROUNDS = 5
PAGE = 1000


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 64

    def __init__(self, late):
        super().__init__(("127.0.0.1", 0), Handler)
        self.late, self.requests, self.objects, self.keys = late, 0, {}, []

    def hold(self, directory, choose):
        self.objects = {str(path.relative_to(directory)): path.read_bytes()
                        for path in sorted(directory.rglob("*")) if path.is_file()}
        self.objects = {key: content for key, content in self.objects.items() if choose(key)}
        self.keys = sorted(self.objects)


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = -1  # sends head and body in one packet; a second one would wait for the client's acknowledgement

    def do_GET(self):
        self.server.requests += 1
        due = time.monotonic() + self.server.late
        url = urllib.parse.urlsplit(self.path)
        query = dict(urllib.parse.parse_qsl(url.query))
        if "list-type" in query:
            body = self.page(query)
        else:
            body = self.server.objects.get(url.path.removeprefix("/bucket/"))
        time.sleep(max(0, due - time.monotonic()))
        self.send_response(404 if body is None else 200)
        self.send_header("Content-Length", str(len(body or b"")))
        self.end_headers()
        self.wfile.write(body or b"")

    def page(self, query):
        from bisect import bisect_left, bisect_right
        keys, prefix = self.server.keys, query.get("prefix", "")
        after = query.get("continuation-token") or query.get("start-after") or ""
        begin = max(bisect_left(keys, prefix), bisect_right(keys, after))
        end = bisect_left(keys, prefix + "\U0010ffff")
        last = min(begin + PAGE, end)
        parts = ["<ListBucketResult>"]
        for key in keys[begin:last]:
            parts.append(f"<Contents><Key>{escape(key)}</Key><Size>{len(self.server.objects[key])}</Size></Contents>")
        more = last < end
        parts.append(f"<IsTruncated>{'true' if more else 'false'}</IsTruncated>")
        if more:
            parts.append(f"<NextContinuationToken>{escape(keys[last - 1])}</NextContinuationToken>")
        parts.append("</ListBucketResult>")
        return "".join(parts).encode()

    def log_message(self, *_):
        pass


def measure(what, flor, server, home):
    environment = dict(os.environ, AWS_ACCESS_KEY_ID="KEY", AWS_SECRET_ACCESS_KEY="secret",
                       AWS_ENDPOINT_URL=f"http://127.0.0.1:{server.server_address[1]}")
    times = []
    for _ in range(ROUNDS):
        server.requests = 0
        begin = time.monotonic()
        out = subprocess.run([flor, "--home", home, "remote", "ls", "s3://bucket"], env=environment,
                             check=True, stdout=subprocess.PIPE, text=True).stdout
        times.append(time.monotonic() - begin)
    print(f"{what}: {statistics.median(times):.2f} s ({min(times):.2f} to {max(times):.2f} of {ROUNDS}), "
          f"{server.requests} requests, {out.count(chr(10))} lines")


def main():
    build = pathlib.Path(sys.argv[1])
    runs = int(sys.argv[2]) if len(sys.argv) > 2 else 100_000
    late = float(sys.argv[3]) / 1000 if len(sys.argv) > 3 else 0.02
    server = Server(late)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    with tempfile.TemporaryDirectory(dir="/dev/shm") as place:
        for what, count, choose in (("with the listing", runs, lambda key: True),
                                    ("manifests one by one", runs // 100, lambda key: not key.startswith("listing/"))):
            directory = pathlib.Path(place) / what.replace(" ", "-")
            subprocess.run([build / "bench/fill_bucket", directory, str(count)], check=True)
            server.hold(directory, choose)
            measure(f"{count} runs, {what}", str(build / "cli/flor"), server, f"{place}/home")


main()

#!/bin/bash
# How much of the processor time of `flor fetch` goes into decoding what arrives and comparing its
# digests, before any of it is used: for a recorded training, and for bytes that nothing compresses.
#
#   bench/fetch.sh build/release [ROUNDS]
#
# A build with the examples. Medians of the rounds; both times are of one run, so that other work on the
# machine changes their ratio little.
set -eu
build=$(realpath "$1")
rounds=${2:-5}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export HOME=$work FLOR_HOME=$work/home
flor=$build/cli/flor
cd "$work"
"$build/examples/linear" --flor trained --flor_no_git --kwargs epochs=20 pictures=500 hidden=400 \
  >/dev/null 2>&1
head -c 64M /dev/urandom >random.bin
python3 - <<'END'
import json
header = json.dumps({"w": {"dtype": "U8", "shape": [64 << 20], "data_offsets": [0, 64 << 20]}}).encode()
header += b" " * (-len(header) % 8)
with open("w.safetensors", "wb") as out, open("random.bin", "rb") as data:
    out.write(len(header).to_bytes(8, "little") + header + data.read())
END
"$flor" import w.safetensors --name random >/dev/null
for name in trained random; do "$flor" spool $name "file://$work/bucket" >/dev/null; done

python3 - "$flor" "$work" "$rounds" <<'END'
import json, resource, shutil, statistics, subprocess, sys
flor, work, rounds = sys.argv[1], sys.argv[2], int(sys.argv[3])
for name in "trained", "random":
    taken = []
    for _ in range(rounds):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        out = subprocess.run([flor, "--home", work + "/far", "fetch", name, "file://" + work + "/bucket",
                              "--json"], check=True, capture_output=True, text=True).stdout
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        shutil.rmtree(work + "/far")
        run = json.loads(out)["runs"][0]
        cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        taken.append((cpu, run["proof_seconds"], run["proof_seconds"] / cpu, run["bytes_received"]))
    cpu, proof, share, size = (statistics.median(column) for column in zip(*taken))
    print(f"{name}: {size / 2**20:.0f} MiB received, {cpu:.2f} s of processor time, "
          f"{proof:.2f} s of them decoding and comparing: {100 * share:.0f} %")
END

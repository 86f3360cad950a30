#!/bin/bash
# How fast `flor spool` sends to S3, against rclone sending the same objects; and against the same
# bytes as objects of 1 MiB.
#
#   FLOR=build/release/cli/flor bench/spool.sh http://127.0.0.1:17480 [MIB] [ROUNDS]
#
# The endpoint is that of tests/remote/s3_server.sh, whose key it uses. Needs rclone and python3.
set -eu
endpoint=$1
mib=${2:-512}
rounds=${3:-3}
flor=$(realpath "${FLOR:-build/release/cli/flor}")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
unset AWS_CA_BUNDLE AWS_PROFILE AWS_SESSION_TOKEN
export HOME=$work FLOR_HOME=$work/home
export AWS_ACCESS_KEY_ID=FLORKEY AWS_SECRET_ACCESS_KEY=florsecret123 AWS_ENDPOINT_URL=$endpoint
export RCLONE_CONFIG_S3_TYPE=s3 RCLONE_CONFIG_S3_PROVIDER=Ceph RCLONE_CONFIG_S3_ENDPOINT=$endpoint
export RCLONE_CONFIG_S3_ACCESS_KEY_ID=FLORKEY RCLONE_CONFIG_S3_SECRET_ACCESS_KEY=florsecret123
export RCLONE_CONFIG=$work/rclone.conf
touch "$RCLONE_CONFIG"

python3 - "$mib" "$work" <<'END'
import json, os, sys
count = int(sys.argv[1]) << 20
header = json.dumps({"w": {"dtype": "U8", "shape": [count], "data_offsets": [0, count]}}).encode()
header += b" " * (-len(header) % 8)
with open(sys.argv[2] + "/w.safetensors", "wb") as out:
    out.write(len(header).to_bytes(8, "little") + header)
    for _ in range(count >> 20):
        out.write(os.urandom(1 << 20))
END
"$flor" import "$work/w.safetensors" --name bench >/dev/null
mkdir "$work/pieces"
split -b 1M "$work/w.safetensors" "$work/pieces/"
rm "$work/w.safetensors"
"$flor" spool bench "file://$work/objects" >/dev/null
objects=$(find "$work/objects/parcels" -type f | wc -l)
bytes=$(find "$work/objects/parcels" -type f -printf '%s\n' | paste -sd+ | bc)
rclone -q mkdir s3:bench
rclone -q purge s3:bench/x 2>/dev/null || true

seconds() {
  local begin end
  begin=$(date +%s.%N)
  "$@" >/dev/null
  end=$(date +%s.%N)
  echo "$end - $begin" | bc
}
median() { tr ' ' '\n' | sort -n | awk 'NF { v[++n] = $1 } END { print v[int((n + 1) / 2)] }'; }

ours= theirs= small= read_back=
for i in $(seq "$rounds"); do
  ours="$ours $(seconds "$flor" spool bench "s3://bench/x/flor$i")"
  theirs="$theirs $(seconds rclone -q copy --transfers 8 "$work/objects/parcels" "s3:bench/x/rclone$i")"
  small="$small $(seconds rclone -q copy --transfers 8 "$work/pieces" "s3:bench/x/small$i")"
  read_back="$read_back $(seconds "$flor" --home "$work/far$i" fetch bench "s3://bench/x/flor$i")"
  rm -rf "$work/far$i"
  rclone -q purge s3:bench/x
done
rate() { echo "$bytes / 1048576 / $1" | bc; }
o=$(echo "$ours" | median) t=$(echo "$theirs" | median) s=$(echo "$small" | median)
f=$(echo "$read_back" | median)
echo "$objects objects, $((bytes >> 20)) MiB; medians of $rounds rounds"
echo "flor spool           $o s  $(rate "$o") MiB/s"
echo "rclone, same objects $t s  $(rate "$t") MiB/s  (flor spool: $(echo "100 * $t / $o" | bc) %)"
echo "rclone, 1 MiB each   $s s  $(rate "$s") MiB/s"
echo "flor fetch           $f s  $(rate "$f") MiB/s"

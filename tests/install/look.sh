#!/bin/bash
# look.sh METRIC
#
# Lists, plots, reports and serves the newest run of FLOR_HOME, which logged METRIC, with nothing but
# bash and the installed flor.
set -euo pipefail
metric=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

fail() {
  echo "FAILED: $*" >&2
  exit 1
}

run=$(flor list -q -n 1)
flor list -n 5 >"$work/list"
grep -q "^${run:0:8} " "$work/list" || fail "flor list does not show $run"
flor plot "$run" -m "$metric"
flor plot "$run" -m "$metric" -o "$work/plot.svg"
grep -q '<svg' "$work/plot.svg" || fail "no SVG"
flor plot "$run" -m "$metric" -o "$work/plot.png"
grep -q 'PNG' "$work/plot.png" || fail "no PNG"
flor report "$run" -o "$work/report.html"

exec 3< <(exec flor serve 2>"$work/said")
server=$!
read -r url <&3 || fail "flor serve: $(cat "$work/said")"
address=${url#http://}
host=${address%%/*}

# ask PATH: what the server answers.
ask() {
  exec 4<>"/dev/tcp/${host/://}"
  printf 'GET /%s%s HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n\r\n' "${address#*/}" "$1" "$host" >&4
  cat <&4
  exec 4>&-
}
ask '' >"$work/page"
grep -q '^HTTP/1.1 200' "$work/page" || fail "no page: $(head -n 1 "$work/page")"
grep -q '<title>flor</title>' "$work/page" || fail "flor serve answered with something else"
ask "api/run?run=$run" >"$work/run"
grep -q "\"$run\"" "$work/run" || fail "the page knows nothing of $run"
kill -TERM "$server"
echo "flor serve has shown its page and run ${run:0:8}"

#!/bin/sh
# manual.sh DIRECTORY: every page of the manual is there, and groff has nothing to say against it.
# Status 77 where there is no groff.
set -eu
command -v groff >/dev/null || { echo "groff is not installed: skipped"; exit 77; }
cd "$1"
for command in list show query replay export fsck doctor config; do
  [ -s "flor-$command.1.gz" ] || { echo "no page for $command" >&2; exit 1; }
done
[ -s flor.1.gz ]
for page in *.1.gz; do
  complaints=$(gzip -dc "$page" | groff -man -Tutf8 -ww -z -k 2>&1)
  [ -z "$complaints" ] || { echo "$page: $complaints" >&2; exit 1; }
  lines=$(gzip -dc "$page" | groff -man -Tutf8 | wc -l)
  [ "$lines" -gt 20 ] || { echo "$page has only $lines lines" >&2; exit 1; }
done
echo "$(ls ./*.1.gz | wc -l) pages"

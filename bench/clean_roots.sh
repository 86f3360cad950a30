#!/bin/bash
# clean_roots.sh (demo|packages) [RUNS]
#
# How long a stranger waits for the first answer of hindsight, in a Debian 12 that has nothing else: by scripts/demo.sh,
# from the sources, or as README.md has it, with the packages that scripts/package.sh made. Each of the RUNS (3 by default)
# has a root of its own (tests/install/clean_root.sh) and downloads everything again. As root, on a quiet machine.
set -euo pipefail
cd "$(dirname "$0")/.."
way=${1-} runs=${2-3}
case $way in
  demo) step=demo said='^ *[0-9.]+ s  scripts/demo.sh$' ;;
  packages) step=first said='^ *[0-9.]+ s +to the first answer$' ;;
  *) echo "clean_roots.sh (demo|packages) [RUNS]" >&2; exit 2 ;;
esac
if [ "$way" = packages ] && ! ls build/package/flor_*.deb >/dev/null 2>&1; then
  echo "build/package has no packages: run scripts/package.sh" >&2
  exit 1
fi
log=$(mktemp)
trap 'rm -f "$log"' EXIT
for run in $(seq "$runs"); do
  echo "Run $run of $runs"
  FLOR_DEB_CACHE='' FLOR_STEPS=$step tests/install/clean_root.sh build/package | tee -a "$log"
done
echo "Seconds to the first answer ($way): $(grep -E "$said" "$log" | awk '{ printf "%s%s", sep, $1; sep = ", " }')"

#!/bin/sh
# Installs the packages of scripts/packages.txt, packages-parts.txt and packages-torch.txt (with --only of the
# first alone), and of further lists beside them that are named, as far as they are missing. As root, or through
# sudo.
set -euf  # no file is meant by what stands in the lists
cd "$(dirname "$0")"

if [ "${1-}" = --only ]; then
  shift
else
  set -- packages-parts.txt packages-torch.txt "$@"
fi
missing=
for package in $(sed 's/#.*//' packages.txt "$@"); do
  case $package in
    *\?)
      package=${package%\?}
      command -v "$package" >/dev/null && continue
      ;;
  esac
  status=$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null || true)
  [ "$status" = installed ] || missing="$missing $package"
done
[ -n "$missing" ] || exit 0

as_root=
if [ "$(id -u)" != 0 ]; then
  if ! command -v sudo >/dev/null; then
    echo "packages are missing; run as root: apt-get install --no-install-recommends$missing" >&2
    exit 1
  fi
  as_root=sudo
fi
echo "installing, which takes some minutes:$missing"
export DEBIAN_FRONTEND=noninteractive
$as_root apt-get update -qq
# shellcheck disable=SC2086  # a list of words
$as_root apt-get install -qq -y --no-install-recommends -o Dpkg::Use-Pty=0 $missing >/dev/null

#!/bin/bash
# clean_root.sh FLOR_DEB LIBFLOR_DEV_DEB [DIRECTORY]
#
# Installs the packages in a Debian that has nothing else, and there builds, records, replays and looks
# at a project of somebody's, with CMake and with pkg-config. As root; DIRECTORY (by default a new
# one in /tmp) holds the root and is gone afterwards. FLOR_DEB_CACHE: a directory that keeps the
# packages of Debian that were downloaded, for the next time.
set -euo pipefail
tool=$(realpath "$1")
dev=$(realpath "$2")
here=$(cd "$(dirname "$0")" && pwd)
base=${3-$(mktemp -d /tmp/flor-root.XXXXXX)}
root=$base/root
cache=${FLOR_DEB_CACHE-}

clean_up() {
  # Never delete what is only mounted there.
  for place in dev proc; do
    if mountpoint -q "$root/$place"; then umount "$root/$place" || umount -l "$root/$place"; fi
  done
  if mountpoint -q "$root/dev" || mountpoint -q "$root/proc"; then
    echo "$root is still in use: unmount and delete it by hand" >&2
    return
  fi
  rm -rf --one-file-system "$base"
}
trap clean_up EXIT

step() { printf '\n== %s\n' "$*"; }
inside() { chroot "$root" /usr/bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C.UTF-8 HOME=/root \
  DEBIAN_FRONTEND=noninteractive "$@"; }

# The mirror that this machine uses.
mirror=$(apt-get indextargets --format '$(REPO_URI) $(ORIGIN) $(CODENAME)' 'Created-By: Packages' |
  awk '$2 == "Debian" && $3 == "bookworm" { print $1; exit }')
if [ -z "$mirror" ]; then
  echo "apt knows no packages of Debian 12 (bookworm): run apt-get update, on a Debian 12" >&2
  exit 1
fi
step "Debian 12 from $mirror"
mkdir -p "$root" ${cache:+"$cache"}
debootstrap ${cache:+--cache-dir="$cache"} --variant=minbase bookworm "$root" "$mirror" >"$base/debootstrap.log" 2>&1 ||
  { tail -n 5 "$base/debootstrap.log" >&2; exit 1; }
cp /etc/resolv.conf "$root/etc/resolv.conf"
cp -r /etc/apt/apt.conf.d/. "$root/etc/apt/apt.conf.d/"
rm -f "$root"/etc/apt/apt.conf.d/{20packagekit,50appstream,docker-clean}
if [ -n "$cache" ]; then cp -n "$cache"/*.deb "$root/var/cache/apt/archives/"; fi
mount -t proc proc "$root/proc"
mount --bind /dev "$root/dev"

step "apt install ./flor.deb ./libflor-dev.deb"
mkdir "$root/debs"
cp "$tool" "$dev" "$root/debs"
inside apt-get update -qq
inside sh -c 'apt-get install -qq -y /debs/*.deb' >"$base/apt.log" 2>&1 ||
  { tail -n 20 "$base/apt.log" >&2; exit 1; }
inside flor --version
inside sh -c '! ldd /usr/bin/flor | grep -E "not found|torch"'
inside sh -c 'test -s /usr/share/man/man1/flor-replay.1.gz -a -s /usr/share/bash-completion/completions/flor'

step "A compiler, CMake and git"
inside apt-get install -qq -y --no-install-recommends g++ cmake git make >"$base/apt.log" 2>&1

if [ -n "$cache" ]; then cp -n "$root"/var/cache/apt/archives/*.deb "$cache"; fi

mkdir "$root/project"
cp -r "$here/outside" "$here/outside_project.sh" "$here/look.sh" "$root/project"
for component in core torch; do
  step "A project outside, with component $component, by CMake"
  inside sh -c "git config --global user.name a; git config --global user.email a@localhost"
  inside bash /project/outside_project.sh /usr "/tmp/$component" "$component" \
    -DCMAKE_BUILD_TYPE=Release >"$base/project.log" 2>&1 || { tail -n 30 "$base/project.log"; exit 1; }
  inside env FLOR_HOME="/tmp/$component/home" flor list
  inside env FLOR_HOME="/tmp/$component/home" flor query total
  inside env FLOR_HOME="/tmp/$component/home" bash /project/look.sh total
done

step "The same by pkg-config"
inside sh -euc '
  mkdir /tmp/pc && cd /tmp/pc && git init -q . && cp /project/outside/*.cpp .
  export FLOR_HOME=/tmp/pc/home
  c++ -std=c++20 counter.cpp $(pkg-config --cflags --libs flor-core) -o counter
  c++ -std=c++20 learner.cpp $(pkg-config --cflags --libs flor) -o learner
  for program in counter learner; do
    ./$program --flor $program >recorded.txt
    ./$program --replay_flor --flor_probe train >replayed.txt
    cmp recorded.txt replayed.txt
    flor query total | tail -n 1
  done
  flor doctor
'
step "done"

#!/bin/bash
# clean_root.sh DIRECTORY_WITH_THE_PACKAGES [DIRECTORY]
#
# What a user meets who has a Debian 12 with nothing else, and what scripts/package.sh made: the first
# answer of hindsight without libtorch, README.md and the tutorial word by word, projects built by CMake and by pkg-config,
# recorded, replayed, plotted and served; the packages are removed without a trace, and the tarball does
# the same without packages. Prints the seconds of each step. As root; DIRECTORY (by default a new one
# in /tmp) holds the root and is gone afterwards. FLOR_DEB_CACHE: a directory that keeps the packages of
# Debian that were downloaded, for the next time. FLOR_STEPS: the steps to take, all by default but `demo`, which
# is scripts/demo.sh (with FLOR_STEPS=demo no packages are needed).
set -euo pipefail
packages=$(realpath "$1")
here=$(cd "$(dirname "$0")" && pwd)
source=$(cd "$here/../.." && pwd)
base=${2-$(mktemp -d /tmp/flor-root.XXXXXX)}
root=$base/root
cache=${FLOR_DEB_CACHE-}
steps=${FLOR_STEPS-first torch pages projects pkg_config removed tarball}

clean_up() {
  # Never delete what is only mounted there.
  for place in dev/pts dev proc; do
    if mountpoint -q "$root/$place"; then umount "$root/$place" || umount -l "$root/$place"; fi
  done
  if mountpoint -q "$root/dev" || mountpoint -q "$root/proc"; then
    echo "$root is still in use: unmount and delete it by hand" >&2
    return
  fi
  rm -rf --one-file-system "$base"
}
trap clean_up EXIT

now() { echo $(($(date +%s%N) / 1000000)); }  # in ms
since() { echo $(($(now) - $1)) | awk '{ printf "%8.1f s  ", $1 / 1000 }'; }
step() { printf '\n== %s\n' "$*"; }
inside() { chroot "$root" /usr/bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C.UTF-8 HOME=/root \
  DEBIAN_FRONTEND=noninteractive "$@"; }

# timed WORDS COMMAND...: runs it inside and says how long it took; its output only where it fails.
timed() {
  local words=$1 begun
  shift
  begun=$(now)
  inside "$@" >"$base/step.log" 2>&1 || { tail -n 30 "$base/step.log" >&2; echo "FAILED: $words" >&2; exit 1; }
  echo "$(since "$begun")$words"
}
install() { echo "apt-get install -qq -y $*"; }

debian() {
  # The mirror that this machine uses.
  local mirror
  mirror=$(apt-get indextargets --format '$(REPO_URI) $(ORIGIN) $(CODENAME)' 'Created-By: Packages' |
    awk '$2 == "Debian" && $3 == "bookworm" { print $1; exit }')
  if [ -z "$mirror" ]; then
    echo "apt knows no packages of Debian 12 (bookworm): run apt-get update, on a Debian 12" >&2
    exit 1
  fi
  step "Debian 12 (debootstrap --variant=minbase)"
  mkdir -p "$root" ${cache:+"$cache"}
  debootstrap ${cache:+--cache-dir="$cache"} --variant=minbase bookworm "$root" "$mirror" >"$base/debootstrap.log" 2>&1 ||
    { tail -n 5 "$base/debootstrap.log" >&2; exit 1; }
  cp /etc/resolv.conf "$root/etc/resolv.conf"
  cp -r /etc/apt/apt.conf.d/. "$root/etc/apt/apt.conf.d/"
  rm -f "$root"/etc/apt/apt.conf.d/{20packagekit,50appstream,docker-clean}
  if [ -d /usr/local/share/ca-certificates ]; then
    mkdir -p "$root/usr/local/share" && cp -r /usr/local/share/ca-certificates "$root/usr/local/share/"
  fi
  if [ -n "$cache" ]; then cp -n "$cache"/*.deb "$root/var/cache/apt/archives/"; fi
  mount -t proc proc "$root/proc"
  mount --bind /dev "$root/dev"
  mount --bind /dev/pts "$root/dev/pts"
  mkdir "$root/debs" "$root/project"
  if [ "$steps" != demo ]; then cp "$packages"/*.deb "$packages"/*.tar.gz "$root/debs"; fi
  mkdir "$root/project/source"
  cp -r "$source/README.md" "$source/docs" "$root/project/source"
  cp -r "$here/../docs/pages.py" "$here/outside" "$here/outside_project.sh" "$here/look.sh" "$root/project"
  inside sh -c 'printf "[init]\ndefaultBranch = main\n" >/root/.gitconfig'
  files >"$base/before"
}

# Everything in the root where a package without scripts can have put it: /etc, /var and /usr/local are what scripts of
# Debian's packages write. Of these the links to alternatives and the bytecode are left out, too.
files() {
  inside find / -xdev -regextype egrep '(' \
    -regex '/(proc|dev|sys|run|tmp|root|debs|project|etc|var|usr/local)|.*/__pycache__' ')' -prune -o \
    -not -lname '/etc/alternatives/*' -print | sort
}
# The files of packages that are installed now.
owned() { inside sh -c 'cat /var/lib/dpkg/info/*.list' | sed -E 's,^/(bin|sbin|lib|lib64)/,/usr&,' | sort -u; }

demo() {
  step "From a bare Debian 12 to the first answer, from the sources: scripts/demo.sh"
  "$source/scripts/source_tarball.sh" "$base/flor.tar.gz"
  mkdir "$root/root/flor"
  tar -C "$root/root/flor" --strip-components 1 -xf "$base/flor.tar.gz"
  timed "scripts/demo.sh" /root/flor/scripts/demo.sh
  grep -E '^== Step| s in all' "$base/step.log"
  grep -q '^flor: verified: ' "$base/step.log"
}

# The commands of a section of README.md, one a line.
commands_of() {
  awk -v title="## $1" '
    /^## / { inside = $0 == title }
    /^```/ { fence = fence ? "" : $0; next }
    inside && fence == "```sh"
    inside && fence == "```console" && sub(/^\$ /, "")' "$source/README.md"
}

first() {
  local begun command
  step "From a bare Debian 12 to the first answer, without libtorch, as README.md has it"
  begun=$(now)
  timed "apt update" apt-get update -qq
  while IFS= read -r command <&3; do
    timed "$command" bash -euc "cd \"\$(cat /tmp/here 2>/dev/null || echo /debs)\"
      ${command/#sudo apt install/apt-get install -qq -y}
      pwd >/tmp/here"
  done 3< <(commands_of 'The first answer')
  echo "$(since "$begun")to the first answer"
  cat "$base/step.log"
  grep -q 'recorded+hindsight' "$base/step.log"
  inside sh -c 'test "$(dpkg-query -W -f "\${Package}\n" | grep -c torch)" = 0'
  inside sh -c '! ldd /usr/bin/flor | grep -E "not found|torch"'
  inside sh -c 'test -s /usr/share/man/man1/flor-replay.1.gz -a -s /usr/share/bash-completion/completions/flor'
  inside bash /project/look.sh slope
}

torch() {
  local before
  step "libtorch"
  before=$(inside du -sm /usr | cut -f 1)
  timed "apt install ./libflor-torch-dev.deb" sh -c "$(install /debs/libflor-torch-dev_*.deb)"
  printf '%8d MB on disk\n' "$(($(inside du -sm /usr | cut -f 1) - before))"
}

pages() {
  local page
  step "README.md and docs/tutorial.md as they are written"
  timed "apt install python3" sh -c "$(install python3)"
  for page in README.md docs/tutorial.md; do
    timed "$page" python3 /project/pages.py run "$page" --source /project/source --prefix /usr --as-written
  done
}

# build_project PREFIX COMPONENT: outside_project.sh, and a look at what it recorded.
build_project() {
  timed "a project outside, with component $2: built by CMake, recorded, replayed" \
    bash /project/outside_project.sh "$1" "/tmp/$2" "$2" -DCMAKE_BUILD_TYPE=Release
  inside env FLOR_HOME="/tmp/$2/home" PATH="$1/bin:/usr/bin:/bin" flor query total
  timed "... listed, plotted, reported, served" \
    env FLOR_HOME="/tmp/$2/home" PATH="$1/bin:/usr/bin:/bin" bash /project/look.sh total
}

projects() {
  step "Projects"
  build_project /usr core
  build_project /usr torch
}

pkg_config() {
  step "The same by pkg-config"
  timed "counter.cpp and learner.cpp, recorded and replayed" sh -euc '
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
    flor doctor'
}

removed() {
  local package
  step "Removal"
  for package in "$packages"/*.deb; do
    if { dpkg-deb --ctrl-tarfile "$package" | tar -t | grep -vE '^\./(control|md5sums)?$'; } ||
      { dpkg-deb --fsys-tarfile "$package" | tar -t | grep -vE '^\./(usr/.*)?$'; }; then
      echo "FAILED: $package runs scripts, or has files outside of /usr" >&2
      exit 1
    fi
  done
  timed "apt purge flor libflor-dev libflor-torch-dev" \
    sh -c 'apt-get purge -qq -y --autoremove $(dpkg-query -W -f "\${Package} " "*flor*")'
  # The compiler stays, and python3 where pages were run: what their packages brought is theirs.
  files >"$base/after"
  comm -13 "$base/before" "$base/after" | comm -23 - <(owned) >"$base/left"
  inside find / -xdev '(' -path /proc -o -path /tmp -o -path /debs -o -path /project -o -path /root ')' -prune -o \
    -iname '*flor*' -print >>"$base/left"
  if [ -s "$base/left" ]; then
    echo "FAILED: the packages leave behind: $(cat "$base/left")" >&2
    exit 1
  fi
  echo "of $(wc -l <"$base/after") files none is left by Flor's packages"
}

tarball() {
  step "The tarball, where no package of Flor or of its libraries is installed"
  inside sh -c '! dpkg-query -W libgit2-dev libfmt-dev 2>/dev/null | grep .'
  timed "tar xf" sh -euc 'mkdir "/opt/any place" && tar -C "/opt/any place" --strip-components 1 -xf /debs/flor-*.tar.gz'
  timed "apt install g++ cmake make git, and what plots and pages need" \
    sh -c "$(install g++ cmake make git pkg-config libcairo2 libmicrohttpd12)"
  inside '/opt/any place/bin/flor' --version
  rm -rf "$root/tmp/core"
  build_project '/opt/any place' core
  timed "counter.cpp by pkg-config" sh -euc '
    cp -r "/opt/any place" /opt/flor && cd /tmp/core/project && cp /project/outside/counter.cpp .
    c++ -std=c++20 counter.cpp $(PKG_CONFIG_PATH=/opt/flor/lib/pkgconfig pkg-config --cflags --libs flor-core) -o counter
    ./counter'
}

debian
for each in $steps; do $each; done
if [ -n "$cache" ]; then cp -n "$root"/var/cache/apt/archives/*.deb "$cache" || true; fi
step "done"

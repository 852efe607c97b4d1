#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Follows the two ways of README.md's section "Install" as they are written, in fresh Debian machines (debootstrap, in a
# folder): what stands under "where heddle is built" runs here, what stands under "where it is used" runs there, with dist/
# and examples/ carried over. Then a program in C, built here, is run there against the installed library.
#
#   tests/package/bare_machine.sh WORK [SUITE]        WORK: an empty folder; SUITE: bookworm unless told
#
# Root, a network and debootstrap are needed; without them it says so and ends with status 77. `./test` does not run it.
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
work=$(mkdir -p "${1:?which folder?}" && cd "$1" && pwd)
suite=${2:-bookworm}

skip() {
  echo "skipped: $1"
  exit 77
}
[ "$(id -u)" = 0 ] || skip "it takes root to enter a machine in a folder"
command -v debootstrap > /dev/null || skip "there is no debootstrap (Debian package: debootstrap)"

# block WAY STEP: the fenced block of README.md behind the comment that names both.
block() {
  awk -v mark="<!-- install: $1, $2 -->" '$0 == mark {found = 1; next} found && /^```/ {if (inside) exit; inside = 1; next}
    found && inside' "$root/README.md" | grep . || { echo "README.md has no block '$1, $2'"; exit 1; }
}

# there MACHINE COMMANDS: as a user would type them, in a folder that has dist/ and examples/.
there() {
  env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LANG=C.UTF-8 DEBIAN_FRONTEND=noninteractive \
    unshare --mount --pid --fork --mount-proc="$1/proc" chroot "$1" bash -euxc "cd /root/heddle; $2"
}

machine() {
  [ -d "$work/fresh" ] || debootstrap --variant=minbase "$suite" "$work/fresh.part" > "$work/debootstrap.log"
  [ ! -d "$work/fresh.part" ] || mv "$work/fresh.part" "$work/fresh"
  rm -rf "${work:?}/$1"
  cp -a "$work/fresh" "$work/$1"
  cp /etc/resolv.conf "$work/$1/etc/resolv.conf"
  [ ! -e "$work/$1/usr/bin/g++" ] && [ ! -e "$work/$1/usr/bin/python3" ] || { echo "$1 is not bare"; exit 1; }
  mkdir -p "$work/$1/root/heddle"
}

cd "$root"
for way in debian wheel; do
  echo "== $way: built here"
  rm -rf dist
  bash -euxc "$(block $way built)"
  echo "== $way: used in a fresh $suite"
  machine $way
  cp -r dist examples "$work/$way/root/heddle/"
  there "$work/$way" "$(block $way used)"
  # What is installed must not lean on this machine.
  ! grep -rlI "$root" "$work/$way"/usr/{bin,lib/heddle,include/heddle} "$work/$way"/root/heddle/venv 2> /dev/null || exit 1
done

echo "== C: built here against the package's header and library, run there"
gcc -std=c11 -Wall -Werror -I"$work/debian/usr/include" "$root/tests/package/multiply.c" -L"$work/debian/usr/lib" -lheddle \
  -o "$work/debian/root/heddle/multiply"
there "$work/debian" "./multiply"
there "$work/debian" "apt-get remove -y -qq heddle && ! ls -d /usr/lib/heddle /usr/lib/libheddle.so /usr/bin/heddle 2> /dev/null"
echo "both ways of README.md hold on a bare $suite"

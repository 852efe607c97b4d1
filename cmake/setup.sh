# shellcheck shell=bash disable=SC2034,SC2154
# What ./run and ./test share: packages, configuring, building. Sourced by both, with `root` set.

# The Debian packages behind each command, as "package: what it is for". A program that is already on PATH
# counts, wherever it came from.
run_packages="\
g++: the C++ compiler
cmake: the build system
ninja-build: the build runner
libboost-context-dev: fibers, one for each simulated thread
libfmt-dev: messages
liblz4-dev: compressed device code of CUDA programs
libzstd-dev: likewise
libcli11-dev: the command line
nlohmann-json3-dev: --json output"
test_packages="\
$run_packages
clang: the second compiler, and the lint for handles
libclang-rt-14-dev: its sanitizers
lld: links tests in a third of the time
clang-format: how sources are to look
python3: checks of what compilers print
libgtest-dev: unit tests
libbenchmark-dev: benchmarks"

say() { printf '%s\n' "$*" >&2; }

has_package() {
  case $1 in
    g++ | cmake) command -v "$1" ;;
    clang) command -v clang++ ;;
    ninja-build) command -v ninja ;;
    python3) command -v python3 ;;
    *) dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null | grep -qx installed ;;
  esac >/dev/null
}

# The lines of the list $1 whose package is not there.
missing_packages() {
  printf '%s\n' "$1" | while IFS= read -r line; do
    has_package "${line%%:*}" || printf '%s\n' "$line"
  done
}

# Installs what is missing from the list $1, or says what it is and ends with status 2.
need_packages() {
  # Without dpkg this is not Debian: CMake names what it does not find.
  command -v dpkg-query >/dev/null || return 0
  local missing names become_root=
  missing=$(missing_packages "$1")
  [ -n "$missing" ] || return 0

  say "Missing packages:"
  say "$(printf '%s\n' "$missing" | sed 's/^/  /')"
  names=$(printf '%s\n' "$missing" | sed 's/:.*//' | tr '\n' ' ')
  if [ -n "${HEDDLE_NO_INSTALL:-}" ] && [ "$HEDDLE_NO_INSTALL" != 0 ]; then
    say "HEDDLE_NO_INSTALL is set, so nothing is installed. To install them: apt-get install $names"
    exit 2
  fi
  if [ "$(id -u)" -ne 0 ]; then
    if ! command -v sudo >/dev/null; then
      say "Installing needs root, and there is no sudo. As root: apt-get install $names"
      exit 2
    fi
    become_root=sudo
  fi
  say "Installing them with apt-get."
  $become_root apt-get update -qq >&2 || say "apt-get update failed; trying with the package lists that are there."
  # shellcheck disable=SC2086
  $become_root env DEBIAN_FRONTEND=noninteractive \
    apt-get install -y -qq --no-install-recommends $names >&2 || true
  missing=$(missing_packages "$1")
  if [ -n "$missing" ]; then
    say "These packages could not be installed:"
    say "$(printf '%s\n' "$missing" | sed 's/^/  /')"
    exit 2
  fi
}

# The path of an nvcc that works, or nothing.
find_nvcc() {
  local nvcc
  for nvcc in "${CUDACXX:-nvcc}" /usr/local/cuda/bin/nvcc; do
    if "$nvcc" --version >/dev/null 2>&1; then
      command -v "$nvcc"
      return
    fi
  done
}

# Waits until no other script configures or builds in build/PRESET, and keeps others out until this one ends.
lock_build() {
  mkdir -p "$root/build"
  exec {build_lock}>"$root/build/$1.lock"
  flock -n "$build_lock" && return 0
  say "Another script is at work in build/$1; waiting for it."
  flock "$build_lock"
}

unlock_build() { exec {build_lock}>&-; }

# configure PRESET: only where there is no such build yet, or it was made for other circumstances (a tree that
# has moved, a compiler that came or went, changed presets).
configure() {
  local dir="$root/build/$1" stamp log
  stamp="$root $(find_nvcc) $(cksum <"$root/CMakePresets.json")"
  if [ -f "$dir/build.ninja" ] && [ "$(cat "$dir/configured-for" 2>/dev/null)" = "$stamp" ]; then
    return 0
  fi
  say "Configuring build/$1"
  mkdir -p "$dir"
  log="$dir/configure.log"
  if command -v ccache >/dev/null; then
    export CMAKE_CXX_COMPILER_LAUNCHER=${CMAKE_CXX_COMPILER_LAUNCHER:-ccache}
  fi
  if ! (cd "$root" && cmake --preset "$1" --fresh) >"$log" 2>&1; then
    cat "$log" >&2
    return 1
  fi
  grep -E '^-- heddle:' "$log" >&2 || true
  printf '%s\n' "$stamp" >"$dir/configured-for"
}

# build PRESET [CMAKE-BUILD-ARGUMENTS...]: with progress, on standard error.
build() {
  local preset=$1
  shift
  NINJA_STATUS="[$preset %f/%t] " cmake --build "$root/build/$preset" "$@" >&2
}

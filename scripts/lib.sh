# shellcheck shell=bash
# Shared by the scripts of this folder, which source it.

# The tree; of an installation, PREFIX/share/tessera, which has the same folders.
repository=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.." && pwd)

# shellcheck disable=SC2034  # the packages are for those who source this
build_packages=(g++ cmake ninja-build pkg-config libopenmpi-dev openmpi-bin libhdf5-dev
  libyaml-cpp-dev libcxxopts-dev libspdlog-dev libfmt-dev libmetis-dev nlohmann-json3-dev zlib1g-dev
  libprotobuf-dev protobuf-compiler libexpat1-dev libonnx-dev)
# shellcheck disable=SC2034  # what only tests and benchmarks need
bench_packages=(ccache git libeigen3-dev libgtest-dev libgmock-dev libbenchmark-dev libsimgrid-dev)
# shellcheck disable=SC2034  # what reports and tables of runs need
report_packages=(python3 python3-h5py python3-numpy)
# shellcheck disable=SC2034  # Debian's matplotlib brings SciPy and much else: only where pictures are drawn
picture_packages=("${report_packages[@]}" python3-matplotlib)
# shellcheck disable=SC2034
gate_packages=(clang-format)
# shellcheck disable=SC2034
test_packages=(python3-networkx python3-onnx python3-jsonschema python3-yaml clang-tidy shellcheck)
# shellcheck disable=SC2034  # the smallest Chromium there is, 224 MB installed, to look at reports
browser_packages=(chromium-headless-shell fonts-dejavu-core)
# shellcheck disable=SC2034  # what makes the documentation a site
site_packages=(python3 mkdocs mkdocs-material libjs-katex fonts-katex)
# shellcheck disable=SC2034  # what makes packages, and what looks at them
package_packages=(dpkg-dev file)
# shellcheck disable=SC2034
package_test_packages=(dpkg-dev file environment-modules)
# shellcheck disable=SC2034  # what the package for Python needs, and what its tests need beside it
python_packages=(python3 python3-h5py python3-matplotlib python3-numpy python3-pandas python3-xarray
  python3-yaml)
# shellcheck disable=SC2034
fuzz_packages=(clang libclang-rt-dev)
# shellcheck disable=SC2034  # other compilers and another MPI, and what fuzzes
toolchain_packages=("${fuzz_packages[@]}" mpich libmpich-dev)
# shellcheck disable=SC2034  # what is in a Debian of another suite, to build and test there
suite_packages=("${build_packages[@]}" "${bench_packages[@]}" "${report_packages[@]}" python3-networkx python3-onnx
  python3-jsonschema python3-yaml procps xz-utils)
# shellcheck disable=SC2034  # what reads files in 32 bits, and what a build is refused by
narrow_packages=("${report_packages[@]}" g++ cmake ninja-build xz-utils)
# shellcheck disable=SC2034
python_test_packages=(python3-pytest python3-nbclient python3-nbformat python3-ipykernel
  python3-setuptools python3-wheel python3-pip mypy zsh fish man-db mandoc)

say() {
  printf '== %s\n' "$*"
}

# fail CODE MESSAGE...
fail() {
  local code=$1
  shift
  printf 'error: %s\n' "$*" >&2
  exit "$code"
}

as_root() {
  if [[ $(id -u) -eq 0 ]]; then
    "$@"
  elif command -v sudo >/dev/null; then
    sudo "$@"
  else
    fail 2 "this needs root, and there is no sudo; run as root: $*"
  fi
}

# Installs those of the packages that are missing. Touches nothing when none is, and leaves systems
# without Debian's packages to CMake, which says what it does not find.
need_packages() {
  command -v dpkg-query >/dev/null && command -v apt-get >/dev/null || return 0
  local missing=() package
  for package in "$@"; do
    if [[ $(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null) != installed ]]; then
      missing+=("$package")
    fi
  done
  [[ ${#missing[@]} -gt 0 ]] || return 0
  say "installing ${missing[*]}"
  local apt=(env DEBIAN_FRONTEND=noninteractive apt-get -q -y)
  if [[ -z ${packages_are_listed:-} ]]; then
    as_root "${apt[@]}" update </dev/null
    packages_are_listed=yes
  fi
  as_root "${apt[@]}" install --no-install-recommends "${missing[@]}" </dev/null
}

# need_npm TOOL PACKAGE: a tool that npm has and Debian 12 has not, into build/tools at the pinned version.
need_npm() {
  local tool=$1 package=$2 folder=$repository/build/tools version
  version=$(pinned_version "$tool")
  if ! grep -qs "\"version\": \"$version\"" "$folder/node_modules/$package/package.json"; then
    command -v npm >/dev/null || need_packages nodejs npm
    say "installing $tool $version"
    mkdir -p -- "$folder"
    # A folder of its own, so that one tool does not take away another.
    [[ -e $folder/package.json ]] || printf '{"private": true}\n' >"$folder/package.json"
    npm install --no-audit --no-fund --silent --prefix "$folder" "$package@$version" </dev/null
  fi
}

need_ruff() {
  need_npm ruff @astral-sh/ruff-wasm-nodejs
}

# Another HDF5 than Debian's, for Node.js: to read traces by.
need_h5wasm() {
  need_npm h5wasm h5wasm
}

# Sources of packages of this machine: files that name them.
sources_of_machine() {
  local file
  for file in /etc/apt/sources.list /etc/apt/sources.list.d/debian.sources; do
    [[ ! -s $file ]] || printf '%s\n' "$file"
  done
}

# The mirror of Debian that this machine's packages come from.
mirror_of_machine() {
  local files mirror
  mapfile -t files < <(sources_of_machine)
  mirror=$(sed -nE 's,^(URIs: *|deb (\[[^]]*\] )?)(https?://[^ ]*/debian/?)( .*)?$,\3,p' "${files[@]}" </dev/null | head -n 1)
  printf '%s\n' "${mirror:-http://deb.debian.org/debian}"
}

# make_bare_debian FORMAT SUITE[:ARCHITECTURE] OUTPUT SOURCE...: a Debian as a new machine has it, as a tar or a
# directory, where there is none yet. A SOURCE is a file, or a line as such a file has them.
make_bare_debian() {
  local format=$1 suite=${2%:*} architecture='' output=$3
  [[ $2 != *:* ]] || architecture=${2#*:}
  shift 3
  [[ ! -e $output ]] || return 0
  need_packages mmdebstrap ${architecture:+arch-test}
  say "a bare Debian ($suite${architecture:+, $architecture})"
  mkdir -p -- "$(dirname -- "$output")"
  rm -rf --one-file-system -- "$output.new"
  mmdebstrap --quiet --format="$format" --variant=minbase ${architecture:+"--architectures=$architecture"} \
    "$suite" "$output.new" "$@"
  mv -- "$output.new" "$output"
}

# in_debian ROOT COMMAND [FOLDER PLACE]: in a Debian that lies in the folder ROOT, with its own processes, which end
# with it; FOLDER is at PLACE there.
in_debian() {
  cp -- /etc/resolv.conf "$1/etc/resolv.conf"
  # shellcheck disable=SC2016  # the inner shell expands it
  unshare --mount --pid --fork --kill-child -- bash -c '
    set -e
    mount --make-rprivate /
    if [[ -n ${2:-} ]]; then
      mkdir -p "$0$3"
      mount --bind "$2" "$0$3"
    fi
    mount -t proc proc "$0/proc"
    mount --rbind /sys "$0/sys"
    mount --rbind /dev "$0/dev"
    mount -t tmpfs tmpfs "$0/tmp"
    exec env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root DEBIAN_FRONTEND=noninteractive \
      chroot "$0" /bin/bash -euc "$1"' "$@" </dev/null
}

# make_archives FOLDER OUTPUT [CPACK_OPTION...]: CPack's packages of a built folder.
make_archives() {
  local folder=$1 output=$2 scratch code=0
  shift 2
  scratch=$(mktemp -d)
  # So that packages of one commit are the same: files are as old as it.
  SOURCE_DATE_EPOCH=$(git -C "$repository" log -1 --format=%ct 2>/dev/null || printf '0') \
    cpack --config "$folder/CPackConfig.cmake" -B "$scratch" "$@" >"$scratch/log" 2>&1 || code=$?
  if ((code != 0)); then
    cat -- "$scratch/log" >&2
  else
    mkdir -p -- "$output"
    mv -f -- "$scratch"/tessera*.deb "$scratch"/tessera*.tar.gz "$output" 2>/dev/null || true
  fi
  rm -rf -- "$scratch"
  return "$code"
}

# write_sums FOLDER: SHA256SUMS of the packages in it, signed where TESSERA_SIGNING_KEY names a key of gpg.
write_sums() {
  (
    cd -- "$1" || exit
    rm -f -- SHA256SUMS SHA256SUMS.asc
    sha256sum -- tessera*.deb tessera*.tar.gz 2>/dev/null >SHA256SUMS || true
    [[ -s SHA256SUMS ]] || fail 1 "no packages in $1"
    if [[ -n ${TESSERA_SIGNING_KEY:-} ]]; then
      gpg --batch --yes --local-user "$TESSERA_SIGNING_KEY" --armor --detach-sign SHA256SUMS
    fi
  )
}

# What drives a browser, without one: that is Debian's.
need_playwright() {
  need_npm playwright-core playwright-core
}

# Compilers side by side: one a processor, but each may need a gigabyte.
build_jobs() {
  local processors memory_kib jobs
  processors=$(nproc)
  memory_kib=$(awk '/^MemAvailable:/ { print $2 }' /proc/meminfo)
  jobs=$((${memory_kib:-1048576} / 1048576))
  ((jobs < processors)) || jobs=$processors
  ((jobs > 0)) || jobs=1
  printf '%s\n' "$jobs"
}

# Tests side by side: many wait for a launcher, a browser or a time, so one more than there are processors,
# but each may need a gigabyte.
test_jobs() {
  local processors memory_kib jobs
  processors=$(nproc)
  memory_kib=$(awk '/^MemAvailable:/ { print $2 }' /proc/meminfo)
  jobs=$((${memory_kib:-2097152} / 1048576))
  ((jobs <= processors)) || jobs=$((processors + 1))
  ((jobs > 0)) || jobs=1
  printf '%s\n' "$jobs"
}

# is_program_alone PRESET [TARGET...]: whether users build, and tests and benchmarks can be left out.
is_program_alone() {
  [[ $* == "release tessera" ]]
}

# configure_and_build PRESET [TARGET...]
configure_and_build() {
  local preset=$1 options=() targets=()
  shift
  if is_program_alone "$preset" "$@"; then
    options=(-DTESSERA_TESTS=OFF -DTESSERA_BENCH=OFF)
  else
    options=(-DTESSERA_TESTS=ON -DTESSERA_BENCH=ON)
    # Its Debian is for tests.
    [[ $preset != trixie ]] || options=(-DTESSERA_TESTS=ON -DTESSERA_BENCH=OFF)
  fi
  if command -v ccache >/dev/null; then
    # What it must not mind where headers are precompiled; and every clone is served alike.
    local cache="env;CCACHE_SLOPPINESS=pch_defines,time_macros"
    # What a source includes is known when it is compiled; else each would be preprocessed first.
    cache+=";CCACHE_DEPEND=1"
    cache+=";CCACHE_BASEDIR=$repository;CCACHE_NOHASHDIR=1;ccache"
    options+=("-DCMAKE_CXX_COMPILER_LAUNCHER=$cache" "-DCMAKE_C_COMPILER_LAUNCHER=$cache")
  fi
  [[ $# -eq 0 ]] || targets=(--target "$@")
  (
    # Joined, because in a condition the shell does not stop at the first failure.
    cd -- "$repository" &&
      cmake --preset "$preset" "${options[@]}" &&
      cmake --build --preset "$preset" --parallel "$(build_jobs)" "${targets[@]}"
  )
}

# Whether these are the scripts of an installation, beside which there is no source.
is_installed() {
  [[ ! -e $repository/CMakeLists.txt ]]
}

# python_with_libraries [NAMES]: prints the first Python that has them (default: what pictures need); fails
# when there is none. They are looked for and not imported, which would take as long as drawing.
python_with_libraries() {
  local python names=${1:-h5py, matplotlib, numpy}
  for python in python3 /usr/bin/python3; do
    # shellcheck disable=SC2086  # each name is a word
    if "$python" -c 'import sys
from importlib.util import find_spec
sys.exit(not all(map(find_spec, sys.argv[1:])))' ${names//,/} >/dev/null 2>&1; then
      printf '%s\n' "$python"
      return 0
    fi
  done
  return 1
}

# run_on_ranks N COMMAND...: under mpirun, also as root and with more ranks than processors.
run_on_ranks() {
  local ranks=$1 options=()
  shift
  if mpirun --version 2>/dev/null | grep -q 'Open MPI'; then
    options=(--oversubscribe)
    [[ $(id -u) -ne 0 ]] || options+=(--allow-run-as-root)
  fi
  mpirun "${options[@]}" -n "$ranks" "$@" </dev/null
}

# The one version of TOOL that .tool-versions names.
pinned_version() {
  awk -v tool="$1" '$1 == tool { print $2 }' "$repository/.tool-versions"
}

# Whether all sources are as clang-format leaves them; lists those that are not.
formatted() {
  local pinned tool='' candidate version
  pinned=$(pinned_version clang-format)
  for candidate in "clang-format-$pinned" clang-format; do
    version=$("$candidate" --version 2>/dev/null | sed -nE 's/.*version ([0-9]+).*/\1/p') || true
    if [[ -n $pinned && $version == "$pinned" ]]; then
      tool=$candidate
      break
    fi
  done
  if [[ -z $tool ]]; then
    printf 'error: clang-format %s is not installed\n' "${pinned:-(no version in .tool-versions)}" >&2
    return 1
  fi
  local folder folders=()
  for folder in include src tests bench; do
    [[ ! -d $repository/$folder ]] || folders+=("$folder")
  done
  (
    cd -- "$repository" &&
      find "${folders[@]}" -type f \
        \( -name '*.hpp' -o -name '*.cpp' -o -name '*.inl' -o -name '*.h' -o -name '*.c' \) -print0 |
        xargs -0 -r "$tool" --dry-run --Werror
  )
}

# read_traces LIBRARIES MODULE [WORD...]: ends with what a module of Python that reads traces ends with.
read_traces() {
  local libraries=$1 python code=0
  shift
  python=$(python_with_libraries "$libraries") || fail 2 "no Python with $libraries;" \
    "install them: apt-get install python3-${libraries//, / python3-}"
  exec 3>&2
  # The shell's own remark on a process that a signal ended is not for the user.
  {
    TESSERA_TOOL=$(basename -- "$0") PYTHONDONTWRITEBYTECODE=1 \
      PYTHONPATH="$repository/scripts${PYTHONPATH:+:$PYTHONPATH}" \
      "$python" -m "$@" 2>&3 || code=$?
  } 2>/dev/null
  # The HDF5 library can crash or hang (signal 14 ends it) on a damaged file without a manifest.
  case $code in
    134 | 135 | 136 | 139 | 142) fail 74 "a trace of this run is damaged: HDF5 could not read it" ;;
  esac
  exit "$code"
}

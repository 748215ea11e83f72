#!/usr/bin/env bash
# Disturbs runs at random for as long as you like; `scripts/soak.sh --help` explains.
set -euo pipefail
scripts=$(cd -- "$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")" && pwd)
source "$scripts/lib.sh"

usage="usage: scripts/soak.sh [--minutes N] [--quick] [--seed S] [--ledger FILE] [--program FILE]
Builds Tessera and disturbs its runs under mpirun: ranks that are delayed, killed, stopped or out of
memory, signals, interrupted and resumed runs, kills while a checkpoint is written, runs ten times as
long. Trials and times are random; the seed is printed. Writes counts and worst-case times to
results/soak.md. Exits with 1 at the first failure, gives the reason and keeps the folder of the run.

  --minutes N     repeat trials until N minutes have passed (default: each kind of trial as often as
                  results/soak.md says, about an hour on two processors)
  --quick         only as many trials as the test suite runs
  --seed S        repeat the trials of an earlier call
  --ledger FILE   record progress in FILE and continue from it, for a soak over several calls
  --program FILE  use FILE instead of build/release/tessera; nothing is built
  -h, --help      this text

scripts/soak.sh onnx [--count N] [--seed S]
Builds with AddressSanitizer and UndefinedBehaviorSanitizer, reads N (100000) damaged ONNX models and
Chakra traces, and writes the part damaged-files of results/soak.md.

scripts/soak.sh ranks [COUNT [SEED]]
Builds, draws COUNT (1000) random experiments and runs each on one rank and on several, cut at random:
digests must be equal, and no promise between ranks may be broken.

scripts/soak.sh works [--count N] [--minutes N] [--jobs N] [--ledger FILE] [--again] [--program FILE]
Runs random experiments over all kinds of work, networks, memories and compute models on several ranks, a
share of them killed or stopped and resumed: N (5000) in all, over as many calls as it takes (progress is
kept in results/ledgers/works.json). Writes the part works of results/trust.md. --again reruns those that failed."

if [[ ${1:-} == ranks ]]; then
  configure_and_build release tessera
  exec python3 "$repository/tests/parallel/random_runs.py" "$repository/build/release/tessera" \
    mpirun "${2:-1000}" "${3:-1}"
fi

if [[ ${1:-} == works ]]; then
  shift
  need_packages "${picture_packages[@]}" python3-yaml
  [[ " $* " == *" --program "* ]] || "$scripts/build" --target tessera
  PYTHONDONTWRITEBYTECODE=1 exec python3 "$scripts/tessera_validate/soak/works.py" "$@"
fi

if [[ ${1:-} == onnx ]]; then
  shift
  need_packages python3-onnx libonnx-testdata
  configure_and_build asan import_soak
  PYTHONDONTWRITEBYTECODE=1 exec /usr/bin/python3 "$scripts/tessera_validate/soak/damaged_files.py" "$@"
fi

words=()
program=
while [[ $# -gt 0 ]]; do
  case $1 in
    --minutes | --seed | --ledger) words+=("$1" "${2:?$1 needs a value}"); shift 2 ;;
    --program) program=${2:?--program needs a file}; shift 2 ;;
    --quick) words+=("$1"); shift ;;
    -h | --help) printf '%s\n' "$usage"; exit 0 ;;
    *) fail 2 "$1: unknown option; scripts/soak.sh --help explains" ;;
  esac
done

# shellcheck disable=SC2154  # lib.sh has them
need_packages "${picture_packages[@]}"
if [[ -z $program ]]; then
  "$scripts/build" --target tessera
  program=$repository/build/release/tessera
fi
PYTHONDONTWRITEBYTECODE=1 exec python3 "$scripts/tessera_validate/soak/trials.py" --program "$program" \
  "${words[@]}"

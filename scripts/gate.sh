#!/usr/bin/env bash
# The whole gate: format, build with warnings as errors, and all tests, the layers among them.
# Options are those of scripts/test.
exec "$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")/test" --format "$@"

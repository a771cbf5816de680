#!/usr/bin/env bash
# Configures and builds a preset: build.sh [PRESET [TARGET ...]], by default all of `release`.
set -euo pipefail
cd "$(dirname "$0")/.."
preset=${1:-release}
shift || true
cmake --preset "$preset" ${FILIGREE_CMAKE_ARGS:-}
cmake --build --preset "$preset" ${1:+--target "$@"}

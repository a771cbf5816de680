#!/usr/bin/env bash
# Configures and builds a preset (default: release).
set -euo pipefail
cd "$(dirname "$0")/.."
preset=${1:-release}
cmake --preset "$preset" ${FILIGREE_CMAKE_ARGS:-}
cmake --build --preset "$preset"

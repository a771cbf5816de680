#!/usr/bin/env bash
# Installs what is missing, builds, and runs the tests. The last lines are ctest's summary.
set -euo pipefail
cd "$(dirname "$0")/.."
scripts/install-deps.sh
scripts/build.sh release
ctest --preset release

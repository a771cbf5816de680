#!/usr/bin/env bash
# Installs what is missing, builds, and runs the demo: makes a corpus, trains a small adaptively
# sparse Transformer on it, translates, and shows what every head learned.
set -euo pipefail
cd "$(dirname "$0")/.."
scripts/install-deps.sh
scripts/build.sh release filigree_cli_program
exec build/release/bin/filigree demo "$@"

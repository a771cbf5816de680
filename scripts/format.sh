#!/usr/bin/env bash
# Formats every C++ file in place; with --check it only says which files need it.
set -euo pipefail
cd "$(dirname "$0")/.."
mode=(-i)
[ "${1:-}" = --check ] && mode=(--dry-run --Werror)
git ls-files --cached --others --exclude-standard '*.h' '*.cpp' | xargs clang-format "${mode[@]}"

#!/usr/bin/env bash
# Installs everything that Filigree needs to build and test, on Debian 12 or newer and on Ubuntu.
# Does nothing, and needs no root, when all of it is there.
set -euo pipefail

packages=(
  g++ cmake ninja-build ccache pkg-config
  libtorch-dev libgloo-dev libopenblas-dev libhwy-dev
  libsentencepiece-dev libicu-dev zlib1g-dev
  libcli11-dev libyaml-cpp-dev nlohmann-json3-dev libspdlog-dev libfmt-dev
  node-d3
  libgtest-dev libgmock-dev libbenchmark-dev
  python3-torch python3-pytest python3-pip
)

missing=()
for package in "${packages[@]}"; do
  [ "$(dpkg-query -W -f='${Status}' "$package" 2>/dev/null)" = "install ok installed" ] || missing+=("$package")
done
[ ${#missing[@]} -eq 0 ] && exit 0

as_root=()
[ "$(id -u)" -eq 0 ] || as_root=(sudo)
export DEBIAN_FRONTEND=noninteractive
"${as_root[@]}" apt-get update -q
"${as_root[@]}" apt-get install -q -y --no-install-recommends "${missing[@]}"

#!/usr/bin/env bash
# Installs the Debian 12 packages that Heddle is built and tested with.
# Touches neither network nor package lists when all of them are there already.  Without root and
# without sudo it prints the one line to run, and exits 3.
set -euo pipefail

packages=(
  g++ cmake ninja-build ccache                      # build
  libdnnl-dev libeigen3-dev                         # dense matmul in float32 and in float64
  libtomlplusplus-dev nlohmann-json3-dev            # TOML, JSON
  libfmt-dev libxxhash-dev zlib1g-dev libzstd-dev   # text formatting, hashes, compression
  libutf8proc-dev libpcre2-dev                      # Unicode and patterns of tokenizers
  libgtest-dev libgmock-dev libbenchmark-dev libz3-dev  # tests and timing only
  clang-format-19 clang-19 libclang-rt-19-dev       # format check, fuzz targets
  python3 python3-numpy                             # scripts of the tests
)

is_installed() {
  [ "$(dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null)" = installed ]
}

missing=()
for package in "${packages[@]}"; do
  is_installed "$package" || missing+=("$package")
done
[ ${#missing[@]} -gt 0 ] || exit 0

as_root=()
if [ "$(id -u)" -ne 0 ]; then
  if command -v sudo >/dev/null && { sudo -n true 2>/dev/null || [ -t 0 ]; }; then
    as_root=(sudo)
  else
    echo "packages are missing, and installing them needs root; run this line, then try again:" >&2
    echo "  apt-get update && apt-get install -y --no-install-recommends ${missing[*]}" >&2
    exit 3
  fi
fi

apt() {
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -q -y -o Acquire::Retries=3 \
    -o DPkg::Lock::Timeout=300 "$@"
}

echo "installing: ${missing[*]}"
for attempt in 1 2 3; do
  if apt update && apt install --no-install-recommends "${missing[@]}"; then
    exit 0
  fi
  echo "apt-get failed (attempt $attempt of 3)" >&2
  sleep $((attempt * 5))
done
echo "could not install: ${missing[*]}; check the network and /etc/apt/sources.list, then try again" >&2
exit 3

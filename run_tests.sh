#!/usr/bin/env bash
# Installs what is missing, builds, and runs all tests.  The last line is "N passed, N failed".
set -euo pipefail
cd "$(dirname "$0")"
scripts/install_packages.sh
./dev build
exec /usr/bin/python3 scripts/run_tests.py build/release

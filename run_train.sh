#!/usr/bin/env bash
# Installs what is missing, builds, fetches the novels, trains a tokenizer from them, trains the debug model.
# usage: ./run_train.sh [--section.key value ...]     flags of `heddle train`
#   CONFIG_FILE=FILE   another configuration (default configs/debug_model.toml)
#   NGPU=N             ranks; only 1 so far
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
config=$(realpath "${CONFIG_FILE:-$here/configs/debug_model.toml}")
if [ "${NGPU:-1}" != 1 ]; then
  echo "NGPU is $NGPU, but heddle trains on one rank so far; unset it or set it to 1" >&2
  exit 2
fi
"$here/scripts/install_packages.sh"
(cd "$here" && ./dev build heddle)
heddle=$here/build/release/src/heddle
"$here/scripts/fetch_novels.sh"
[ -s "$here/data/tokenizer/tokenizer.json" ] ||
  "$heddle" tokenizer train "$here/data/novels" "$here/data/tokenizer"
cd "$here"
exec "$heddle" train --job.config_file="$config" "$@"

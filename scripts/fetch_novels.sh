#!/usr/bin/env bash
# Fetches six public-domain novels (4.0 MB) into data/novels/*.txt: the texts of the Debian package
# r-cran-janeaustenr, downloaded and unpacked, not installed.  Does nothing when they are there.
# usage: scripts/fetch_novels.sh [FOLDER]
set -euo pipefail
folder=${1:-$(dirname "$0")/../data/novels}
reader=$(realpath "$(dirname "$0")/read_r_data.py")
package=r-cran-janeaustenr
novels=(emma mansfieldpark northangerabbey persuasion prideprejudice sensesensibility)

complete() {
  local novel
  for novel in "${novels[@]}"; do
    [ -s "$folder/$novel.txt" ] || return 1
  done
}
if complete; then exit 0; fi

fail() {
  echo "fetch_novels: $1" >&2
  exit 3
}
for program in apt-get dpkg-deb python3; do
  command -v "$program" >/dev/null || fail "$program is missing; this needs Debian or a relative.
Without it, put text files (*.txt, UTF-8) into $folder yourself"
done

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
chmod 755 "$work"  # apt-get downloads as another user

download() { (cd "$work" && apt-get -q -o Acquire::Retries=3 download "$package" >log 2>&1); }
if ! download; then
  # Fresh machines have no package lists yet.
  if [ "$(id -u)" -eq 0 ]; then
    apt-get -q update >"$work/log" 2>&1 || true
  fi
  download || {
    cat "$work/log" >&2
    fail "could not download $package; check the network, run: apt-get update, then try again"
  }
fi
dpkg-deb -x "$work"/"$package"_*.deb "$work/tree" || fail "the download of $package is damaged; try again"
/usr/bin/env python3 "$reader" "$work/tree/usr/lib/R/site-library/janeaustenr/data/Rdata" "$folder"
complete || fail "$package did not hold all of: ${novels[*]}"
echo "fetch_novels: $(cat "$folder"/*.txt | wc -c) bytes in $folder"

# Unpacks a source package of Debian into .deps: the common part of fetch_mimalloc.sh and
# fetch_httplib.sh, which set
#   package    its name, and the folder's
#   preferred  a regular expression: the versions that come before newer ones
#   header     the file that makes the folder complete
#   is_ready   a function: whether a folder is the source
#   mend       a function that changes a folder where it must be
#
# Takes one of the `preferred` versions that the machine's distribution offers, else the newest.  If
# the mirror lists a version but lacks its files, as incomplete mirrors do, tries the versions of
# other_suites of the same mirror, with a line that says so.  A folder that exists already keeps its
# version, but is mended.
#
# `apt-get source` needs deb-src lines, which few machines have.  So this script runs apt on a
# private copy of the machine's sources, with every `deb` turned into `deb-src`, and with private
# lists.  It needs no privileges and changes nothing on the machine.  apt checks signatures and
# hashes as always.
# shellcheck shell=bash disable=SC2154 # the sourcing script sets the names above
set -euo pipefail

other_suites='bookworm trixie sid'

workspace=$(cd "$(dirname "$(readlink -f "$0")")/../.." && pwd)
deps=$workspace/.deps
private=''

fail() {
  if [[ -f $private/log ]]; then
    grep -E '^(E|Err|dpkg-source: error):' "$private/log" | tail -n 3 >&2 || true
  fi
  echo "bazelw: $1" >&2
  exit 1
}

if is_ready "$deps/$package"; then
  mend "$deps/$package"
  exit
fi

by_hand="or put $package's source, of any version, into $deps/$package"
type apt-get dpkg-source >/dev/null 2>&1 || fail \
  "no apt-get and dpkg-source to fetch $package with: install dpkg-dev on Debian, $by_hand."
{ mkdir -p "$deps" && touch "$deps/lock"; } 2>/dev/null || fail \
  "cannot write into $deps for $package's source: make the clone writable, or clone it elsewhere."
exec 9>"$deps/lock"
flock 9 # waits for another bazelw that does the same, and then finds the work done
is_ready "$deps/$package" && exit

echo "bazelw: fetching the source of $package with apt (once; a few seconds)" >&2

private=$(mktemp -d)
trap 'rm -rf "$private" "$deps/$package.new"' EXIT
trap 'exit 1' INT TERM HUP
chmod 755 "$private" # apt downloads as the user _apt
mkdir -p "$private"/{parts,lists/partial,cache/archives/partial,download}
[[ $(id -u) -ne 0 ]] || chown _apt "$private/download" 2>/dev/null || true

as_deb_src() {
  case $1 in
    *.sources) sed -E 's/^types:.*/Types: deb-src/I' "$1" ;;
    *) sed -nE '/cdrom:/d; s/^[[:space:]]*deb[[:space:]]/deb-src /p' "$1" ;;
  esac
}

list='' parts=''
eval "$(apt-config shell list Dir::Etc::SourceList/f parts Dir::Etc::SourceParts/d)"
if [[ -f $list ]]; then as_deb_src "$list" >"$private/sources.list"; fi
for file in "$parts"*.list "$parts"*.sources; do
  if [[ -f $file ]]; then as_deb_src "$file" >"$private/parts/$(basename "$file")"; fi
done

options=(
  -o Dir::Etc::SourceList="$private/sources.list"
  -o Dir::Etc::SourceParts="$private/parts"
  -o Dir::State::Lists="$private/lists"
  -o Dir::Cache="$private/cache"
  -o Acquire::Retries=3
  -o Acquire::AllowInsecureRepositories=false
  -o APT::Get::AllowUnauthenticated=false
)

# A failing source of the machine is no error, unless the package is not found.
update() { apt-get "${options[@]}" -q update >>"$private/log" 2>&1 || true; }

# Prints the offered versions, one per line, the best first.
offered() {
  local all
  all=$(apt-cache "${options[@]}" showsrc --only-source "$package" 2>>"$private/log" |
    sed -n 's/^Version: //p' | sort -urV) || true
  {
    grep -E "^($preferred)([^0-9.]|\$)" <<<"$all" | sort -V || true
    echo "$all"
  } | awk 'NF && !seen[$0]++'
}

# Sets `taken` to the first version whose files exist.
download() {
  local version
  for version in $(offered); do
    taken=$version
    rm -f "$package"_*
    apt-get "${options[@]}" -q source --download-only "$package=$version" >>"$private/log" 2>&1 &&
      return
  done
  return 1
}

# Replaces the sources by the other suites of each mirror of Debian proper that has answered.
use_other_suites() {
  local mirrors keyring=/usr/share/keyrings/debian-archive-keyring.gpg
  # shellcheck disable=SC2016 # apt expands these
  mirrors=$(apt-get "${options[@]}" indextargets --format '$(ORIGIN)|$(LABEL)|$(REPO_URI)' \
    'Created-By: Sources' 2>>"$private/log" | sed -n 's/^Debian|Debian|//p' | sort -u) || true
  rm -f "$private/sources.list" "$private/parts/"*
  for mirror in $mirrors; do
    for suite in $other_suites; do
      if [[ -f $keyring ]]; then signed_by="[signed-by=$keyring] "; else signed_by=''; fi
      echo "deb-src $signed_by$mirror $suite main"
    done
  done >"$private/sources.list"
}

cd "$private/download"
update
wanted=$(offered)
wanted=${wanted%%$'\n'*}
taken=''
if ! download; then
  use_other_suites
  update
  download || fail "apt could not download the source package of $package${wanted:+ $wanted}: see\
 what 'apt-get update' says of the network and of the mirror and run this again, $by_hand."
  echo "bazelw: apt's mirror lacks $package ${wanted:-for this distribution}; took the source of\
 $taken from another suite of it" >&2
fi

# apt has checked the files.  The folder is completed under another name and then renamed, so that
# no other run sees half of it.
rm -rf "$deps/$package.new"
dpkg-source --no-check --no-copy -x "$package"_*.dsc "$deps/$package.new" >>"$private/log" 2>&1 ||
  fail "the source package of $package did not unpack into $deps; the disk may be full."
mend "$deps/$package.new" || exit 1
rm -rf "$deps/$package"
mv "$deps/$package.new" "$deps/$package"
is_ready "$deps/$package" || fail "the source package of $package $taken has no $header."

#!/usr/bin/env bash
# Unpacks Debian's source package of cpp-httplib into .deps/cpp-httplib.  The binary package has
# half of the header and a shared library, which brings libssl and libbrotli with it; commands need
# neither, and those that are packaged need the whole header.  How: fetch_source.sh.
set -euo pipefail

setup=$(dirname "$(readlink -f "$0")")
package=cpp-httplib header=httplib.h
preferred='none' # the machine's own, whatever it is
is_ready() { grep -q '^inline bool Server::listen(' "$1/$header" 2>/dev/null; }
mend() { :; }
# shellcheck source=tools/setup/fetch_source.sh
source "$setup/fetch_source.sh"

// Finds debug files, on this machine only: never asks a server.
#ifndef ALLOMON_TOOLS_SYMBOLS_DEBUG_SEARCH_H_
#define ALLOMON_TOOLS_SYMBOLS_DEBUG_SEARCH_H_

#include <elfutils/libdwfl.h>

#include <string>

namespace allomon {

// A module's user data.  libdwfl keeps a debug file that it opened to compare build ids, whatever
// the search answers then: one that is to be expanded (expanded_file.h) takes another session.
struct DebugChoice {
  std::string compressed;  // set by the search: such a debug file was found
  std::string expand;      // set by who asks: it is taken, expanded, and nothing is searched
};

// Makes an empty session of libdwfl whose modules find their debug files in
//   .build-id/ of `folder`, if one is given, and of /usr/lib/debug
//   the name in .gnu_debuglink: beside the file, in .debug/ there, below both folders
//   .gnu_debugdata of the file itself: names alone
//   a debuginfod client's cache, if there is one: $DEBUGINFOD_CACHE_PATH, else
//   debuginfod_client/ in $XDG_CACHE_HOME or ~/.cache
// Removes DEBUGINFOD_URLS from the program's environment, so that libdwfl asks no server.  The
// `folder` of the first call holds for the whole program.  nullptr if there is no memory.
Dwfl* BeginLocalSession(const std::string& folder);

}  // namespace allomon

#endif  // ALLOMON_TOOLS_SYMBOLS_DEBUG_SEARCH_H_

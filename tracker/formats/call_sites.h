// The code addresses at which a profile's amounts were requested: a report needs them to find lines
// and inlined calls in debug files.  They are comments in the script next to a profile
// (source_table.h); MLMON.md, "Call sites", has the grammar.
//
// Pure functions: any thread, nothing thrown, linear; they allocate with operator new.
#ifndef ALLOMON_TRACKER_FORMATS_CALL_SITES_H_
#define ALLOMON_TRACKER_FORMATS_CALL_SITES_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tracker/formats/file_identity.h"
#include "tracker/formats/mlmon.h"

namespace allomon {

// A file with code.
struct CodeModule {
  std::string build_id;  // in lower-case hexadecimal, or empty
  std::string path;
  FileIdentity file = {};  // without a build id
};

// The instruction of a call, or the one that a tick interrupted.
struct CodeAddress {
  uint32_t module = 0;   // into CallSites::modules
  uint64_t start = 0;    // of its function, in the file, without load bias
  uint64_t address = 0;  // likewise; not below `start`
};

// A place to which a function's amount was charged.
struct CallSite {
  uint32_t name_index = 0;  // into SourceTable::names
  // Its part of the function's own amount, in no particular unit, for comparison with its other
  // sites.
  MlmonInt amount = 0;
  // In the function itself, then, as long as no name is known, in its callers.  At least one.
  std::vector<CodeAddress> frames;
};

struct CallSites {
  std::string wrappers;  // patterns of functions whose callers were charged
  std::vector<CodeModule> modules;
  // By name: the number of places from which the function was called when it was charged.  As long
  // as the table of names, or empty.
  std::vector<uint32_t> callers;
  std::vector<CallSite> sites;
};

// Formats the sites as comment lines of a shell; returns no lines if there are no sites.
std::string FormatCallSites(const CallSites& sites);

// Reads the comments at the head of such a script.  Lines of a later version, or damaged ones, give
// an empty value, and a report works without it.  Indices of names are below `names`, those of
// modules valid.
CallSites ParseCallSites(std::string_view script, size_t names);

}  // namespace allomon

#endif  // ALLOMON_TRACKER_FORMATS_CALL_SITES_H_

// `allomon serve`: serves heaps of running processes by HTTP.  README.md is the manual.
#ifndef ALLOMON_TOOLS_SERVE_SERVE_H_
#define ALLOMON_TOOLS_SERVE_SERVE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "tools/options/command_line.h"
#include "tools/options/command_text.h"
#include "tools/options/recording_options.h"
#include "tools/symbols/name_sources.h"

namespace allomon::serve {

// ---- The command line of `allomon serve`.

extern const char kTokenVariable[];  // of the environment

struct Options : options::Common {
  std::string listen = "127.0.0.1:6060";
  std::string folder;  // empty: the processes' own
  uint32_t pid = 0;    // 0: all recordings of the folder
  bool all_children = false;
  bool all_users = false;   // recordings of a folder that others own, too
  options::GivenRate rate;  // of a recording that is begun
  std::string token;        // empty: none is asked for
  std::string token_file;
  NameSources name_sources;
  std::string otlp;               // the URL of a collector; empty: profiles are not pushed
  uint32_t interval_seconds = 0;  // between pushes; 0: not given
};

const options::Command<Options>& ServeCommand();

// Fails with one line that names the argument.
absl::StatusOr<Options> ParseOptions(const std::vector<std::string>& args);

const options::CommandText& ServeText();

// Serves until SIGINT or SIGTERM.  Writes its address to standard output.
CommandResult RunServe(const std::vector<std::string>& args);

}  // namespace allomon::serve

#endif  // ALLOMON_TOOLS_SERVE_SERVE_H_

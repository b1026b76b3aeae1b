// A client of debuginfod(8), over HTTP.
#ifndef ALLOMON_TOOLS_SYMBOLS_DEBUGINFOD_H_
#define ALLOMON_TOOLS_SYMBOLS_DEBUGINFOD_H_

#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tools/symbols/name_sources.h"

namespace allomon {

// Asks servers one after the other: GET URL/buildid/ID/debuginfo, and .../executable.  Source:
// elfutils, debuginfod(8), "WEBAPI".
//
// A file is taken if it is an ELF file of the build id that was asked for.  It is then kept where
// debuginfod-find(1) keeps it, and readable by the user alone.  A server that gave no answer is
// not asked again.
//
// Time: a server has five seconds for the connection; for an answer 90, or $DEBUGINFOD_TIMEOUT, and
// one more for each 100 KiB.  How long a name of a host takes is the machine's affair.
//
// Not thread safe; a thread of its own ends requests that take too long, and SIGPIPE is ignored
// meanwhile.
class Debuginfod : public CodeServer {
 public:
  // Parses URLs with spaces between.  nullptr if one is malformed, or is of https; then `why` is a
  // line.
  static std::unique_ptr<Debuginfod> Make(const std::string& urls, std::string* why);

  bool Fetch(const std::string& build_id, What what, const std::string& path) override;
  std::vector<std::string> TakeNotes() override;

 private:
  struct Server {
    std::string host;
    uint16_t port = 0;
    std::string path;  // before "/buildid", without a slash at its end
    std::string url;   // for messages
    bool is_silent = false;
  };
  enum class Outcome { kTaken, kNotThere, kProblem };

  static bool ParseUrl(const std::string& url, Server* server, std::string* why);
  Outcome FetchFrom(Server* server, const std::string& build_id, const std::string& name,
                    const std::string& path);
  Outcome Get(Server* server, const std::string& target, int file, const std::string& path);
  void Note(const std::string& line);

  std::vector<Server> servers_;
  std::set<std::pair<std::string, std::string>> failed_;  // build id and name of what was not got
  std::vector<std::string> missing_;                      // code that no server has
  std::vector<std::string> notes_;
  bool has_no_folder_ = false;
};

}  // namespace allomon

#endif  // ALLOMON_TOOLS_SYMBOLS_DEBUGINFOD_H_

#include "allocator/environment/auto_profile_say.h"

#include "allocator/host/host_stderr.h"

namespace allomon::internal {

void Say(const std::string& message) {
  std::string line = "allomon: " + message;
  for (char& c : line) {
    if (c == '\n' || c == '\r') c = '?';  // the value of a variable may hold a line end
  }
  line += '\n';
  WriteToStderr(line.data(), line.size());
}

}  // namespace allomon::internal

#include "tools/leaks/unreachable.h"

#include <cstdint>

#include "absl/status/status.h"
#include "tools/leaks/search.h"
#include "tools/options/values.h"

namespace allomon::leaks {

absl::StatusOr<heap::HeapProfile> ReadUnreachable(const std::string& process,
                                                  const NameSources& name_sources) {
  uint32_t pid = 0;
  absl::Status status = options::ParsePid(process, &pid);
  if (!status.ok()) return status;
  const auto failed = [pid](const absl::Status& why) {
    return absl::Status(why.code(),
                        "process " + std::to_string(pid) + ": " + std::string(why.message()));
  };
  Search search(pid);
  status = search.Take();
  if (!status.ok()) return failed(status);
  search.Mark(false);
  auto profile = search.ProfileOfAll(search.FindLost(), name_sources);
  if (!profile.ok()) return failed(profile.status());
  return profile;
}

}  // namespace allomon::leaks

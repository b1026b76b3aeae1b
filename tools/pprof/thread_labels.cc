#include "tools/pprof/thread_labels.h"

#include <unordered_map>
#include <unordered_set>

namespace allomon::pprof {

std::vector<std::string> ThreadLabels(const std::vector<heap::Thread>& threads) {
  std::unordered_map<std::string, int> uses;
  for (const heap::Thread& thread : threads) ++uses[thread.name];
  std::unordered_set<std::string> taken;
  std::vector<std::string> labels;
  for (const heap::Thread& thread : threads) {
    const bool is_alone = !thread.name.empty() && uses[thread.name] == 1;
    std::string label = thread.name.empty() ? "thread" : thread.name;
    if (!is_alone) label += " " + std::to_string(thread.tid);
    if (!taken.insert(label).second) {
      label += " #" + std::to_string(labels.size());
      taken.insert(label);
    }
    labels.push_back(std::move(label));
  }
  return labels;
}

}  // namespace allomon::pprof

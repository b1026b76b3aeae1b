// Follows one block from malloc to free, by the installed library.
#include <allomon/tracker/tracker.h>

#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>

#include "tracker/estimate.h"

namespace {

int born = 0;
int died = 0;

struct Follow {
  std::optional<char> alloc_major(const allomon::Allocation&) {
    ++born;
    return 0;
  }
  void dealloc_major(char) { ++died; }
};

}  // namespace

int main() {
  const auto id = allomon::Tracker::start(1.0, Follow{});
  if (!id.ok()) {
    fprintf(stderr, "%s\n", std::string(id.status().message()).c_str());
    return 2;
  }
  void* volatile block = malloc(100);
  free(block);
  (void)allomon::Tracker::stop(*id);
  printf("%d born, %d died\n", born, died);
  return born >= 1 && died >= 1 ? 0 : 1;
}

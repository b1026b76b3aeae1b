// Follows each block of NewSession() until the end, where the calls that asked for it are named.
#include <cstdio>
#include <optional>
#include <string>

#include "tracker/symbols/symbols.h"
#include "tracker/tracker.h"

struct Follow {
  std::optional<char> alloc_major(const allomon::Allocation&) { return 0; }
};

__attribute__((noinline)) char* NewSession() {
  char* const session = new char[1000];
  session[0] = 0;  // prevents a tail call
  return session;
}

int main() {
  const auto id = allomon::Tracker::start(1.0, Follow{});
  if (!id.ok()) return fprintf(stderr, "%s\n", id.status().ToString().c_str()), 1;
  char* const session = NewSession();
  const auto live = allomon::Tracker::snapshot(*id);
  const auto symbols = allomon::ProcessSymbols::Load();
  for (const allomon::LiveStack& stack : live) {
    const std::string function = symbols->Resolve(stack.callstack[0] - 1).name;
    printf("%.0f bytes live: %s\n", stack.estimate.bytes.value, function.c_str());
  }
  delete[] session;
  return allomon::Tracker::stop(*id).ok() ? 0 : 1;
}

#include "runtime/internal/space/window.h"

namespace allomon::gc::internal {

__thread Window t_window;

void Window::Clear() {
  cursor = 0;
  limit.store(0, std::memory_order_relaxed);
  first_root = nullptr;
  log_top = log_limit = nullptr;
  mutator = nullptr;
  old_cursor = old_limit = 0;
  marking = false;
}

}  // namespace allomon::gc::internal

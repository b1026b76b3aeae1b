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

void Window::MoveTo(Window* to) {
  to->cursor = cursor;
  to->limit.store(0, std::memory_order_relaxed);
  to->first_root = first_root;
  to->log_top = log_top;
  to->log_limit = log_limit;
  to->mutator = mutator;
  to->old_cursor = old_cursor;
  to->old_limit = old_limit;
  to->marking = marking;
  Clear();
}

}  // namespace allomon::gc::internal

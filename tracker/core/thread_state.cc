#include "tracker/core/thread_state.h"

namespace allomon::internal {

// The braces are for clang, which finds a constructor with volatile members no constant expression.
__thread ThreadState current_thread = {};

}  // namespace allomon::internal

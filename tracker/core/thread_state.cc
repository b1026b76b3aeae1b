#include "tracker/core/thread_state.h"

namespace allomon::internal {

__thread ThreadState current_thread;

}  // namespace allomon::internal

#include "tracker/sampling/countdown.h"

namespace allomon::internal {

__thread std::atomic<int64_t> countdown_words;

}  // namespace allomon::internal

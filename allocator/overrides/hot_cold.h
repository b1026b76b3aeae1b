// The hint of LLVM's `-optimize-hot-cold-new`: how often a block is used, from 0 (cold) to 255
// (hot). Clang has no header with it; the name is a part of the operators' linker names, and
// tcmalloc's.
#ifndef ALLOMON_ALLOCATOR_OVERRIDES_HOT_COLD_H_
#define ALLOMON_ALLOCATOR_OVERRIDES_HOT_COLD_H_

#include <cstdint>

enum class __hot_cold_t : uint8_t {};  // NOLINT(bugprone-reserved-identifier): see above

#endif  // ALLOMON_ALLOCATOR_OVERRIDES_HOT_COLD_H_

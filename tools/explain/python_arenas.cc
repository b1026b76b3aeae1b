#include "tools/explain/python_arenas.h"

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <utility>

namespace allomon::explain {
namespace {

constexpr uint64_t kPoolBytes = 16384;
constexpr uint64_t kLeastPageBytes = 4096;
constexpr uint32_t kSizeUnit = 16;
constexpr uint32_t kSizeClasses = 512 / kSizeUnit;

// The header of a pool, in CPython's obmalloc.c.
struct PoolHeader {
  uint64_t used;  // blocks; the upper half is padding
  uint64_t free_block;
  uint64_t next_pool;
  uint64_t previous_pool;
  uint32_t arena;
  uint32_t size_class;
  uint32_t next_offset;  // of the first block that was never in use
  uint32_t most_next_offset;
};
static_assert(sizeof(PoolHeader) == 48);

uint32_t SizeOf(const PoolHeader& pool) { return (pool.size_class + 1) * kSizeUnit; }

// Whether the numbers agree with one another, as they do by chance once in 2^60.
bool IsPool(const PoolHeader& pool) {
  if (pool.size_class >= kSizeClasses || pool.most_next_offset != kPoolBytes - SizeOf(pool)) {
    return false;
  }
  const auto used = static_cast<uint32_t>(pool.used);
  return used <= (kPoolBytes - sizeof(PoolHeader)) / SizeOf(pool) &&
         pool.next_offset >= sizeof(PoolHeader) + SizeOf(pool) && pool.next_offset <= kPoolBytes &&
         (pool.next_offset - sizeof(PoolHeader)) % SizeOf(pool) == 0;
}

bool IsPython(std::string_view path) {
  const std::string_view file = path.substr(path.rfind('/') + 1);
  constexpr std::string_view kNames[] = {"python", "libpython"};
  return std::any_of(std::begin(kNames), std::end(kNames),
                     [file](std::string_view name) { return file.substr(0, name.size()) == name; });
}

class Pools {
 public:
  Pools(const Process& process, std::vector<Area>* areas)
      : process_(process), known_(*areas), areas_(*areas) {}

  void AddOf(const Mapping& mapping) {
    uint64_t at = (mapping.begin + kPoolBytes - 1) / kPoolBytes * kPoolBytes;
    for (; at + kPoolBytes <= mapping.end; at += kPoolBytes) {
      // To read a page that is not there would make the kernel map one.
      PoolHeader pool;
      if (process_.ResidentBytes(at, at + kLeastPageBytes) != 0 && !IsKnown(at) &&
          process_.memory().ReadAt(at, &pool, sizeof(pool)) && IsPool(pool)) {
        Add(at, pool);
      }
    }
  }

 private:
  // Whether somebody else's memory is there.
  bool IsKnown(uint64_t at) {
    while (next_ < known_.size() && known_[next_].end <= at) ++next_;
    return next_ < known_.size() && known_[next_].begin < at + kPoolBytes;
  }

  void Add(uint64_t at, const PoolHeader& pool) {
    if (areas_.size() == known_.size() || areas_.back().end != at) {
      areas_.push_back({at, at, Use::kPython, 0, 0, 0, 0});
    }
    const auto used = static_cast<uint32_t>(pool.used);
    areas_.back().end = at + kPoolBytes;
    areas_.back().live_bytes += uint64_t{used} * SizeOf(pool);
    areas_.back().live_blocks += used;
  }

  const Process& process_;
  const std::vector<Area> known_;
  size_t next_ = 0;
  std::vector<Area>& areas_;
};

}  // namespace

void AddPythonPools(const Process& process, const std::vector<Mapping>& mappings,
                    std::vector<Area>* areas) {
  Pools pools(process, areas);
  for (const Mapping& mapping : mappings) {
    const bool is_anonymous = mapping.inode == 0 && mapping.name.substr(0, 6) != "[stack";
    if (is_anonymous && mapping.is_writable && !mapping.is_shared) pools.AddOf(mapping);
  }
  MakeDisjoint(areas);
}

void AddPythonArenas(const Process& process, const std::vector<Mapping>& mappings,
                     std::vector<Area>* areas) {
  const bool has_python = std::any_of(mappings.begin(), mappings.end(), [](const Mapping& mapping) {
    return mapping.is_executable && mapping.inode != 0 && IsPython(mapping.name);
  });
  if (has_python) AddPythonPools(process, mappings, areas);
}

}  // namespace allomon::explain

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

class Pools {
 public:
  Pools(const ReadMemory& read, const std::vector<Area>& known) : read_(read), known_(known) {}

  void AddOf(const Mapping& mapping) {
    uint64_t at = (mapping.begin + kPoolBytes - 1) / kPoolBytes * kPoolBytes;
    for (; at + kPoolBytes <= mapping.end; at += kPoolBytes) {
      PoolHeader pool;
      if (!IsKnown(at) && read_(at, &pool, sizeof(pool)) && IsPool(pool)) Add(at, pool);
    }
  }

  std::vector<PythonPool> Take() { return std::move(pools_); }

 private:
  // Whether somebody else's memory is there.
  bool IsKnown(uint64_t at) {
    while (next_ < known_.size() && known_[next_].end <= at) ++next_;
    return next_ < known_.size() && known_[next_].begin < at + kPoolBytes;
  }

  void Add(uint64_t at, const PoolHeader& pool) {
    const uint64_t first = at + sizeof(PoolHeader);
    pools_.push_back({at, at + kPoolBytes, first, at + pool.next_offset, SizeOf(pool),
                      static_cast<uint32_t>(pool.used)});
  }

  const ReadMemory& read_;
  const std::vector<Area>& known_;
  size_t next_ = 0;
  std::vector<PythonPool> pools_;
};

std::vector<PythonPool> FindPools(const ReadMemory& read, const std::vector<Mapping>& mappings,
                                  const std::vector<Area>& known) {
  Pools pools(read, known);
  for (const Mapping& mapping : mappings) {
    const bool is_anonymous = mapping.inode == 0 && mapping.name.substr(0, 6) != "[stack";
    if (is_anonymous && mapping.is_writable && !mapping.is_shared) pools.AddOf(mapping);
  }
  return pools.Take();
}

bool HasPython(const std::vector<Mapping>& mappings) {
  return std::any_of(mappings.begin(), mappings.end(), [](const Mapping& mapping) {
    return mapping.is_executable && mapping.inode != 0 && IsPython(mapping.name);
  });
}

}  // namespace

bool IsPython(std::string_view path) {
  const std::string_view file = path.substr(path.rfind('/') + 1);
  constexpr std::string_view kNames[] = {"python", "libpython"};
  return std::any_of(std::begin(kNames), std::end(kNames),
                     [file](std::string_view name) { return file.substr(0, name.size()) == name; });
}

std::vector<PythonPool> FindPythonPools(const ReadMemory& read,
                                        const std::vector<Mapping>& mappings,
                                        const std::vector<Area>& known) {
  if (!HasPython(mappings)) return {};
  return FindPools(read, mappings, known);
}

void AddPythonPools(const Process& process, const std::vector<Mapping>& mappings,
                    std::vector<Area>* areas) {
  // The kernel would map a page that is read and not there.
  const auto read = [&process](uint64_t address, void* to, size_t size_bytes) {
    return process.ResidentBytes(address, address + kLeastPageBytes) != 0 &&
           process.memory().ReadAt(address, to, size_bytes);
  };
  const size_t known = areas->size();
  for (const PythonPool& pool : FindPools(read, mappings, *areas)) {
    if (areas->size() == known || areas->back().end != pool.begin) {
      areas->push_back({pool.begin, pool.begin, Use::kPython, 0, 0, 0, 0});
    }
    areas->back().end = pool.end;
    areas->back().live_bytes += uint64_t{pool.live_blocks} * pool.block_bytes;
    areas->back().live_blocks += pool.live_blocks;
  }
  MakeDisjoint(areas);
}

void AddPythonArenas(const Process& process, const std::vector<Mapping>& mappings,
                     std::vector<Area>* areas) {
  if (HasPython(mappings)) AddPythonPools(process, mappings, areas);
}

}  // namespace allomon::explain

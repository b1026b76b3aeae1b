// Exact counters of a heap since it was made, and a listener to its collections.
#ifndef ALLOMON_RUNTIME_HEAP_STATISTICS_H_
#define ALLOMON_RUNTIME_HEAP_STATISTICS_H_

#include <cstddef>
#include <cstdint>

namespace allomon::gc {

enum class CollectionKind { kMinor, kMajor };

// Words have 8 bytes.  They include one header word per object, as in the sampling law: at rate 1
// the samples of a tracker add up to allocated_words.
//
//   allocated_words = promoted_words + freed_young_words + young_words + born_old_words
//   promoted_words + born_old_words = freed_old_words + old_words
struct HeapStatistics {
  uint64_t allocated_words = 0;
  uint64_t young_words = 0;  // in the nurseries now, dead or alive
  uint64_t promoted_words = 0;
  uint64_t freed_young_words = 0;
  uint64_t born_old_words = 0;  // objects larger than 8 KiB
  uint64_t freed_old_words = 0;
  uint64_t old_words = 0;     // dead ones count until a major collection finds them
  uint64_t custom_bytes = 0;  // out-of-heap bytes of the custom blocks that live

  uint64_t minor_collections = 0;
  uint64_t parallel_collections = 0;  // those among them that more than one thread may have done
  uint64_t major_collections = 0;     // that have ended marking; each begins with a minor one
  uint64_t parallel_markings = 0;     // those among them that more than one thread may have marked

  uint64_t old_space_bytes = 0;  // chunks and large objects, bounded by limit_bytes
  uint64_t peak_old_space_bytes = 0;

  // Pauses, from the request to stop the world to its resumption.  pauses[i] counts the pauses
  // below 2^i microseconds and not below 2^(i-1).  Major ones are those in which a major collection
  // was done, begun, carried on or ended.
  static constexpr int kPauseBuckets = 24;
  uint64_t minor_pauses[kPauseBuckets] = {};
  uint64_t major_pauses[kPauseBuckets] = {};
  uint64_t total_pause_ns = 0;
  uint64_t longest_pause_ns = 0;
  // The parts of these pauses until the last thread stood, and the kernel's id of the thread for
  // which the longest one waited (0: none ran).  A thread comes late that computes for long without
  // an allocation, a Safepoint() or a NativeRegion.
  uint64_t total_stop_ns = 0;
  uint64_t longest_stop_ns = 0;
  uint32_t longest_stop_thread = 0;
};

// The live objects of one type.  Types of one name are one.
struct LiveType {
  const char* name;  // constant
  uint64_t objects;
  uint64_t bytes;  // with headers, without memory outside the heap
};

// Called about collections on the collecting thread, while the world stands still but for
// OnLateThread().  A listener must not touch a heap, make or destroy one, or block on a thread that
// does.  A major collection in slices has several pauses of kind kMajor.
class HeapListener {
 public:
  virtual ~HeapListener() = default;
  virtual void OnCollectionStart(CollectionKind) {}
  virtual void OnCollectionEnd(CollectionKind, uint64_t /*pause_ns*/) {}
  virtual void OnPromotion(uint64_t /*words*/) {}         // words promoted by one minor collection
  virtual void OnGrowth(uint64_t /*old_space_bytes*/) {}  // a chunk was added
  // The thread, by the kernel's id, runs though a stop was asked for so long ago, by the calling
  // thread (HeapOptions::late_thread_ms).  Called once a stop for each such thread, before the
  // world stands, by whatever stops it: a collection, statistics(), a snapshot, a fork.
  virtual void OnLateThread(uint32_t /*thread_id*/, uint64_t /*waited_ns*/) {}
};

}  // namespace allomon::gc

#endif  // ALLOMON_RUNTIME_HEAP_STATISTICS_H_

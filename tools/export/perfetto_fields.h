// The numbers of fields of Perfetto's trace, as heapprofd, its profiler of native heaps, writes it
// (github.com/google/perfetto, protos/perfetto/trace).
#ifndef ALLOMON_TOOLS_EXPORT_PERFETTO_FIELDS_H_
#define ALLOMON_TOOLS_EXPORT_PERFETTO_FIELDS_H_

#include <cstdint>

namespace allomon::interchange::perfetto {

enum TraceField : uint32_t { kPacket = 1 };

enum PacketField : uint32_t {
  kClockSnapshot = 6,
  kTimestamp = 8,
  kSequenceId = 10,
  kTrackEvent = 11,
  kInternedData = 12,
  kSequenceFlags = 13,
  kProfilePacket = 37,
  kTrackDescriptor = 60,
};
inline constexpr uint64_t kStateCleared = 1;  // flags of the sequence
inline constexpr uint64_t kNeedsState = 2;

enum ClockSnapshotField : uint32_t { kClocks = 1 };
enum ClockField : uint32_t { kClockId = 1, kClockTime = 2 };
inline constexpr uint64_t kRealtime = 1, kMonotonicCoarse = 4, kBoottime = 6;

enum InternedField : uint32_t {
  kFunctionNames = 5,
  kFrames = 6,
  kCallstacks = 7,
  kBuildIds = 16,
  kMappingPaths = 17,
  kSourcePaths = 18,
  kMappings = 19,
};
enum TextField : uint32_t { kIid = 1, kText = 2 };  // each interned message has kIid
enum MappingField : uint32_t {
  kBuildId = 2,
  kStart = 4,
  kEnd = 5,
  kPaths = 7,
  kExactOffset = 8,
};
enum FrameField : uint32_t {
  kFunctionName = 2,
  kMapping = 3,
  kRelativePc = 4,
  kSourcePath = 5,
  kLineNumber = 6,
};
enum CallstackField : uint32_t { kFrameIds = 2 };

enum ProfilePacketField : uint32_t { kProcessDumps = 5, kContinued = 6, kIndex = 7 };
enum DumpField : uint32_t {
  kPid = 1,
  kSamples = 2,
  kFromStartup = 3,
  kDumpTime = 9,
  kHeapName = 11,
  kInterval = 12,
  kOriginalInterval = 13,
  kDumpStart = 15,
};
enum SampleField : uint32_t {
  kCallstackId = 1,
  kSelfAllocated = 2,
  kSelfFreed = 3,
  kSampleTime = 4,
  kAllocCount = 5,
  kFreeCount = 6,
  kSelfMax = 8,
  kSelfMaxCount = 9,
};

enum TrackField : uint32_t {
  kTrackUuid = 1,
  kTrackName = 2,
  kTrackProcess = 3,
  kTrackParent = 5,
  kTrackCounter = 8,
};
enum ProcessField : uint32_t { kProcessPid = 1, kProcessCommand = 2, kProcessName = 6 };
enum CounterField : uint32_t { kCounterUnit = 3 };
inline constexpr uint64_t kUnitBytes = 3;
enum EventField : uint32_t { kEventType = 9, kEventTrack = 11, kCounterValue = 30 };
inline constexpr uint64_t kCounterEvent = 4;

}  // namespace allomon::interchange::perfetto

#endif  // ALLOMON_TOOLS_EXPORT_PERFETTO_FIELDS_H_

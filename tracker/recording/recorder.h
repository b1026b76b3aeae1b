// The session of a recording: follows sampled blocks, and keeps the tallies in its file.
#ifndef ALLOMON_TRACKER_RECORDING_RECORDER_H_
#define ALLOMON_TRACKER_RECORDING_RECORDER_H_

#include <atomic>
#include <cstdint>

#include "tracker/core/ids.h"
#include "tracker/core/label_scope.h"
#include "tracker/core/sample_weights.h"
#include "tracker/core/session_client.h"
#include "tracker/core/word_meter.h"
#include "tracker/recording/class_weights.h"
#include "tracker/recording/fork_mark.h"
#include "tracker/recording/process_store.h"
#include "tracker/recording/recorder_lock.h"
#include "tracker/recording/segment_file.h"
#include "tracker/recording/watcher.h"

namespace allomon::recording {

// Recordings at once.
inline constexpr uint32_t kMostRecorders = internal::kMostCountingSessions;

// Number of names tried for a file while other processes write files of those names.
inline constexpr uint32_t kMostAttempts = 1000;

// Open()'s error for a third recording.
extern const char* const kTwoRecordings;

struct ThreadSlot;  // a thread's state in a recording

struct RecorderTotals {
  uint64_t samples = 0;  // sampled blocks that the file has
  uint64_t dropped_samples = 0;
  uint64_t dropped_bytes = 0;
  bool is_lost = false;  // the file was truncated
};

// Its callbacks run under the tracker's rules, inside malloc and free.
class Recorder final : public internal::SessionClient {
 public:
  // `pattern` names the files of children (file_path.h); it must not be longer than a path.
  Recorder(const char* pattern, uint64_t limit_bytes, const ProcessFacts& facts);
  ~Recorder() override;

  // Call before Open().  `watcher` must live as long as the process.
  void SetWatcher(Watcher* watcher) { watcher_ = watcher; }

  // Call before Open().  Then Open() accepts no other memory file.
  void SetMemoryFile(const FileId& memory_file) { memory_file_ = memory_file; }

  // Returns nullptr, or an error; the file that has the final name is unchanged then.  Not inside
  // malloc.  After Open() the caller starts a session with this client and passes it to
  // SetSession().  Commit() then gives the file its name.
  const char* Open();
  void SetSession(internal::SessionId session) ALLOMON_EXCLUDES(recorder_lock);
  const char* Commit() ALLOMON_EXCLUDES(recorder_lock);

  // Marks the recording in the file as ended.  Nothing more is added.
  void End() ALLOMON_EXCLUDES(recorder_lock);
  RecorderTotals Totals() ALLOMON_EXCLUDES(recorder_lock);
  // PathOf() of start.h.
  bool CopyOwnPath(FilePath* path) ALLOMON_EXCLUDES(recorder_lock);

  // Functions that a watcher may call in its look.  All return false if nothing is recorded: the
  // recording has ended or is lost, or this process writes a recording with another serial.
  bool Stand(Standing* standing) ALLOMON_EXCLUDES(recorder_lock);
  bool CopyPath(uint64_t serial, FilePath* path) ALLOMON_EXCLUDES(recorder_lock);
  // Copies a part of a segment, consistently as of one moment.
  bool CopyBytes(uint64_t serial, uint32_t segment, uint32_t offset, char* bytes, uint32_t size)
      ALLOMON_EXCLUDES(recorder_lock);
  // Writes the present resident memory of the process into the recording.
  bool SetResident(uint64_t serial, uint64_t bytes) ALLOMON_EXCLUDES(recorder_lock);
  // Sets the bytes after which the next look comes, unless kLookNanos pass first.  UINT64_MAX: only
  // time counts.
  void SetNextLook(uint64_t allocated_bytes) ALLOMON_EXCLUDES(recorder_lock);

  bool AllocMinor(const Allocation& allocation, internal::ValueRoom* room) override;
  bool AllocMajor(const Allocation& allocation, internal::ValueRoom* room) override;
  bool Promote(internal::ValueRoom* room) override;
  void DeallocMinor(internal::ValueRoom* room) override;
  void DeallocMajor(internal::ValueRoom* room) override;
  void SurviveMinor(const Allocation&, internal::ValueRoom*) override {}
  void SurviveMajor(const Allocation&, internal::ValueRoom*) override {}
  void Dropped(uint64_t size_bytes) override;
  // Blocks that are live when the recording ends stay live in the file.
  void DestroyMinor(internal::ValueRoom*) override {}
  void DestroyMajor(internal::ValueRoom*) override {}

  // The calling thread ends.
  static void EndThread() ALLOMON_EXCLUDES(recorder_lock);
  // A scope of labels with an end has ended, or a label has for all threads.
  static void EndScope(const internal::EndingScope& scope) ALLOMON_EXCLUDES(recorder_lock);
  static void EndLabel(const LabelSet& label) ALLOMON_EXCLUDES(recorder_lock);
  // Code goes; see ProcessStore.
  static void Unload(uintptr_t begin, uintptr_t end, uintptr_t by) ALLOMON_EXCLUDES(recorder_lock);

 private:
  bool AddBlock(const Allocation& allocation, bool young, internal::ValueRoom* room);
  bool AddBirth(const Allocation& allocation, bool young, internal::ValueRoom* room, bool* look);
  void DescribeBirth(bool young, ThreadSlot* slot, Birth* birth);
  uint32_t ScopeOf(internal::LabelScope* innermost, const Birth& birth);
  uint32_t EnterScopeSlow(internal::EndingScope* scope, const Birth& birth, uint32_t depth);
  // Whether a look is due.  If the clock went backwards the difference wraps to a very large
  // number, so a look is due.
  bool IsLookDue(uint64_t nanos) {
    const uint64_t look_nanos = look_nanos_.load(std::memory_order_relaxed);
    const uint64_t bytes = store_.allocated_bytes();
    if (nanos - look_nanos < kLookNanos && bytes - look_bytes_.load(std::memory_order_relaxed) <
                                               look_gap_bytes_.load(std::memory_order_relaxed)) {
      return false;
    }
    return IsLookDueSlow(nanos, look_nanos, bytes);
  }
  template <typename Run>
  static void ForEach(Run run) ALLOMON_EXCLUDES(recorder_lock);
  bool IsLookDueSlow(uint64_t nanos, uint64_t look_nanos, uint64_t allocated_bytes);
  void EndBlock(EventKind kind, internal::ValueRoom* room);
  // Whether blocks may be added, and the time since the recording's begin.  A child of fork begins
  // its recording here.  The clock is read after IsWriting(): before, another thread may begin the
  // child's recording between the two reads of a difference, or after them.
  bool IsReady(uint64_t* nanos) {
    if (__builtin_expect(IsWriting(), 1)) {
      *nanos = Nanos();
      if (__builtin_expect(!IsCheckDue(*nanos), 1)) return true;
    }
    return IsReadySlow(nanos);
  }
  bool IsWriting() const {
    if (__builtin_expect(fork_mark_.IsInChild(), 0)) return false;
    // Read after the mark: a child sets both anew, the mark last.
    return is_writing_.load(std::memory_order_acquire);
  }
  bool IsCheckDue(uint64_t nanos) const {
    return file_.is_named() && (file_.IsHarmed() || !file_.IsProtected() ||
                                nanos - check_nanos_.load(std::memory_order_relaxed) >= kLookNanos);
  }
  bool IsReadySlow(uint64_t* nanos) ALLOMON_EXCLUDES(recorder_lock);
  bool IsReadyLocked() ALLOMON_REQUIRES(recorder_lock);
  bool FollowsLocked(uint64_t serial) ALLOMON_REQUIRES(recorder_lock);
  void BeginAsChild() ALLOMON_REQUIRES(recorder_lock);
  bool OpenForChild() ALLOMON_REQUIRES(recorder_lock);
  void GiveUpInChild() ALLOMON_REQUIRES(recorder_lock);
  const char* FindPath(bool is_child, FilePath* path) const;
  bool BeginStore() ALLOMON_REQUIRES(recorder_lock);
  const char* OpenFile() ALLOMON_REQUIRES(recorder_lock);
  const char* CommitFile(bool is_child) ALLOMON_REQUIRES(recorder_lock);
  void DropUnwritten(uint64_t bytes) ALLOMON_EXCLUDES(recorder_lock);
  void DropLocked(uint64_t bytes) ALLOMON_REQUIRES(recorder_lock);
  uint32_t ThreadNumber(ThreadSlot* slot) {
    return __builtin_expect(IsOfThisRecording(*slot), 1) ? NumberOf(*slot) : EnterThreadSlow(slot);
  }
  bool IsOfThisRecording(const ThreadSlot& slot) const;
  static uint32_t NumberOf(const ThreadSlot& slot);
  uint32_t EnterThreadSlow(ThreadSlot* slot) ALLOMON_EXCLUDES(recorder_lock);
  static void EndThreadAt(uint32_t place) ALLOMON_EXCLUDES(recorder_lock);
  void ForgetThreadLocked(const ThreadSlot& slot) ALLOMON_REQUIRES(recorder_lock);
  uint64_t ExactWords(ThreadSlot* slot);
  uint64_t Nanos() const;

  static Recorder* recorders_[kMostRecorders] ALLOMON_GUARDED_BY(recorder_lock);
  static uint32_t last_serial_ ALLOMON_GUARDED_BY(recorder_lock);

  FilePath pattern_;
  const uint64_t limit_bytes_;
  FileId memory_file_;
  ProcessFacts facts_;
  internal::SampleWeights weights_;
  const ClassWeights class_weights_;
  internal::SessionId session_ = 0;
  uint32_t place_ = kMostRecorders;  // among the recorders
  Watcher* watcher_ = nullptr;

  // Changed under the lock.  While a recording is being written, any thread may read these.
  SegmentFile file_;
  ProcessStore store_;
  ForkMark fork_mark_;
  uint32_t serial_ = 0;  // of the recording of this process; 0: no recording
  std::atomic<bool> is_writing_{false};
  std::atomic<uint64_t> check_nanos_{0};  // when the file was last looked at

  // Guarded by the lock.
  bool has_ended_ = false;
  bool is_lost_ = false;
  RecorderTotals unwritten_;

  // State of the last look.  The initial value makes the first sample due for a look.
  std::atomic<uint64_t> look_nanos_{0 - kLookNanos};
  std::atomic<uint64_t> look_bytes_{0};
  std::atomic<uint64_t> look_gap_bytes_{UINT64_MAX};
};

}  // namespace allomon::recording

#endif  // ALLOMON_TRACKER_RECORDING_RECORDER_H_

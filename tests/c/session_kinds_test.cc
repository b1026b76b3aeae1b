// An id of one kind of session is not valid for another kind: no function that takes an id affects
// a session of another kind, whatever number it is given.
#include <allomon/allomon.h>

#include <cstdint>
#include <cstdlib>
#include <optional>
#include <set>
#include <string>

#include "allocator/allocator.h"
#include "gtest/gtest.h"
#include "tracker/control/attendant.h"
#include "tracker/heap_client.h"
#include "tracker/profile/sources/live_session.h"
#include "tracker/recording.h"
#include "tracker/tracker.h"

namespace {

using allomon::Recording;
using allomon::RecordingId;
using allomon::SamplingFree;
using allomon::SamplingMalloc;
using allomon::Tracker;
using allomon::TrackerId;

constexpr uint32_t kNumbers = 40;  // more than the sessions that this test starts
constexpr uint32_t kRecordingBit = uint32_t{1} << 31;

std::string InFolder(const char* name) { return std::string(getenv("TEST_TMPDIR")) + "/" + name; }

struct Follower {
  std::optional<int> alloc_major(const allomon::Allocation&) { return 1; }
};

uint32_t StartTrackerOfC() {
  allomon_tracker_options options = ALLOMON_TRACKER_DEFAULTS;
  options.rate = 1;
  options.is_concurrent = 1;
  allomon_tracker tracker = 0;
  EXPECT_EQ(allomon_tracker_start(&options, nullptr, &tracker), ALLOMON_OK);
  return tracker;
}

uint32_t StartTrackerOfCxx() {
  allomon::StartOptions options;
  options.concurrent = true;
  const auto tracker = Tracker::start(1, Follower{}, options);
  EXPECT_TRUE(tracker.ok()) << tracker.status();
  return tracker.ok() ? tracker->value : 0;
}

// Starts a recording whose id has the bit that the C interface sets.
uint32_t StartRecording() {
  allomon_recording_options options = ALLOMON_RECORDING_DEFAULTS;
  const std::string path = InFolder("c.rec");
  options.path = path.c_str();
  allomon_recording recording = 0;
  EXPECT_EQ(allomon_recording_start(&options, &recording), ALLOMON_OK);
  return recording;
}

// A session of each kind, and a tracker of each interface.
class SessionKinds : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    trackers = {StartTrackerOfC(), StartTrackerOfCxx()};
    recording = StartRecording();
    EXPECT_EQ(allomon_counting_start(&counting, nullptr), ALLOMON_OK);
    EXPECT_EQ(allomon::control::StartAttending({}), nullptr);
    live = allomon::internal::StartLiveSession(1, 1, 8).id;
    heap = allomon::heap_client::StartSampling(1e-3, 1);
    EXPECT_NE(live, 0u);
    EXPECT_NE(heap, 0u);
  }

  // Each session still exists.
  static void TearDownTestSuite() {
    void* const block = SamplingMalloc(1000);
    EXPECT_NE(allomon::internal::LiveHeapOf(live).bytes_by_stack.size(), 0u);
    allomon_allocation_totals totals = ALLOMON_ALLOCATION_TOTALS;
    EXPECT_EQ(allomon_counting_read(&counting, &totals), ALLOMON_OK);
    EXPECT_GE(totals.blocks, 1u);
    SamplingFree(block);
    for (const uint32_t id : trackers) EXPECT_TRUE(Tracker::stop(TrackerId{id}).ok()) << id;
    EXPECT_EQ(allomon_recording_stop(recording), ALLOMON_OK);
    EXPECT_EQ(allomon_counting_stop(&counting), ALLOMON_OK);
    allomon_counting_end(&counting);
    allomon::heap_client::StopSampling(heap);
    allomon::control::EndAttending();
  }

  static bool IsTracker(uint32_t id) { return trackers.count(id) != 0; }
  static bool IsRecording(uint32_t id) { return id == (recording & ~kRecordingBit); }

  static std::set<uint32_t> trackers;
  static allomon_recording recording;
  static allomon_counting counting;
  static uint32_t live, heap;
};

std::set<uint32_t> SessionKinds::trackers;
allomon_recording SessionKinds::recording = 0;
allomon_counting SessionKinds::counting = {};
uint32_t SessionKinds::live = 0;
uint32_t SessionKinds::heap = 0;

int32_t ToldOfStack(void* user, const allomon_live_stack*) { return ++*static_cast<int*>(user), 0; }
int32_t ToldOfLabels(void* user, const allomon_live_labels*) {
  return ++*static_cast<int*>(user), 0;
}

TEST_F(SessionKinds, RecordingFunctionsOfC) {
  for (uint32_t id = 0; id < kNumbers; ++id) {
    if (IsRecording(id)) continue;
    for (const uint32_t given : {id, id | kRecordingBit}) {
      allomon_recording_counts counts = ALLOMON_RECORDING_COUNTS;
      EXPECT_EQ(allomon_recording_statistics(given, &counts), ALLOMON_NO_SUCH_RECORDING) << given;
      EXPECT_EQ(allomon_recording_stop(given), ALLOMON_NO_SUCH_RECORDING) << given;
      char path[100];
      EXPECT_EQ(allomon_recording_path(given, path, sizeof(path)), ALLOMON_NO_SUCH_RECORDING);
    }
  }
}

TEST_F(SessionKinds, RecordingFunctionsOfCxx) {
  for (uint32_t id = 0; id < kNumbers; ++id) {
    if (IsRecording(id)) continue;
    for (const uint32_t given : {id, id | kRecordingBit}) {
      EXPECT_FALSE(Recording::ReadStatistics(RecordingId{given}).ok()) << given;
      EXPECT_FALSE(Recording::Stop(RecordingId{given}).ok()) << given;
    }
  }
}

TEST_F(SessionKinds, TrackerFunctionsOfC) {
  for (uint32_t id = 1; id < kNumbers; ++id) {
    if (IsTracker(id)) continue;
    for (const uint32_t given : {id, id | kRecordingBit}) {
      int told = 0;
      allomon_tracker_counts counts = ALLOMON_TRACKER_COUNTS;
      EXPECT_EQ(allomon_tracker_statistics(given, &counts), ALLOMON_NO_SUCH_TRACKER) << given;
      EXPECT_EQ(allomon_tracker_snapshot(given, ToldOfStack, &told), ALLOMON_NO_SUCH_TRACKER);
      EXPECT_EQ(allomon_tracker_snapshot_by_labels(given, ToldOfLabels, &told),
                ALLOMON_NO_SUCH_TRACKER);
      EXPECT_EQ(told, 0) << given;
      EXPECT_EQ(allomon_tracker_drain(given), ALLOMON_NO_SUCH_TRACKER) << given;
      EXPECT_EQ(allomon_tracker_discard(given), ALLOMON_NO_SUCH_TRACKER) << given;
      EXPECT_EQ(allomon_tracker_stop(given, ALLOMON_KEEP_TRACKING), ALLOMON_NOT_STARTED) << given;
      EXPECT_EQ(allomon_tracker_stop(given, ALLOMON_DISCARD), ALLOMON_NOT_STARTED) << given;
    }
  }
}

TEST_F(SessionKinds, TrackerFunctionsOfCxx) {
  void* const block = SamplingMalloc(1000);
  for (uint32_t id = 1; id < kNumbers; ++id) {
    if (IsTracker(id)) continue;
    const TrackerId given{id};
    EXPECT_EQ(Tracker::statistics(given).status().code(), absl::StatusCode::kNotFound) << id;
    EXPECT_TRUE(Tracker::snapshot(given).empty()) << id;
    EXPECT_TRUE(Tracker::snapshot_by_labels(given).empty()) << id;
    EXPECT_TRUE(Tracker::snapshot_by_types(given).empty()) << id;
    EXPECT_EQ(Tracker::drain(given).code(), absl::StatusCode::kNotFound) << id;
    EXPECT_EQ(Tracker::discard(given).code(), absl::StatusCode::kNotFound) << id;
    EXPECT_FALSE(Tracker::stop(given, allomon::StopMode::kKeepTracking).ok()) << id;
    EXPECT_FALSE(Tracker::stop(given).ok()) << id;
  }
  SamplingFree(block);
}

TEST_F(SessionKinds, FunctionsOfHeapsAndProfiles) {
  for (uint32_t id = 1; id < kNumbers; ++id) {
    if (id != heap) allomon::heap_client::StopSampling(id);
    if (id == live) continue;
    EXPECT_EQ(allomon::internal::LiveHeapOf(id).variance, 0) << id;
  }
}

}  // namespace

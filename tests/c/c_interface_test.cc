#include <allomon/allomon.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

#include "allocator/allocator.h"
#include "gtest/gtest.h"

// headers_in_c.c: sizes of the structures, in the order of allomon.h, then 0; and the address of a
// function of the interface, called.
extern "C" {
extern const size_t sizes_in_c[];
const char* version_in_c(void);
}

namespace {

using allomon::SamplingFree;
using allomon::SamplingMalloc;

// The calls that a tracker in C has received.
struct Seen {
  std::atomic<int> allocs{0}, deallocs{0}, survivors{0}, forgotten{0}, destroyed{0};
  uint64_t last_bytes = 0;
  uint64_t ended_bytes = 0;  // bytes of the values that callbacks returned
  bool throws = false;
};

Seen& Of(void* user) { return *static_cast<Seen*>(user); }

allomon_callbacks CallbacksFor(Seen* seen) {
  allomon_callbacks callbacks = ALLOMON_CALLBACKS_DEFAULTS;
  callbacks.user = seen;
  callbacks.alloc_major = [](void* user, const allomon_allocation* block, allomon_value* value) {
    if (value->words[0] != 0 || value->words[1] != 0) abort();
    ++Of(user).allocs;
    Of(user).last_bytes = block->size_bytes;
    value->words[0] = block->size_bytes;
    value->words[1] = ~block->size_bytes;
    if (Of(user).throws) throw std::runtime_error("of a callback");
    return int32_t{1};
  };
  callbacks.dealloc_major = [](void* user, allomon_value* value) {
    ++Of(user).deallocs;
    if (value->words[1] == ~value->words[0]) Of(user).ended_bytes += value->words[0];
  };
  callbacks.survive_major = [](void* user, const allomon_allocation* block, allomon_value* value) {
    ++Of(user).survivors;
    if (value->words[0] == block->size_bytes) Of(user).ended_bytes += value->words[0];
  };
  callbacks.forget_major = [](void* user, allomon_value* value) {
    ++Of(user).forgotten;
    Of(user).ended_bytes += value->words[0];
  };
  callbacks.destroy = [](void* user) { ++Of(user).destroyed; };
  return callbacks;
}

allomon_tracker_options EachBlock() {
  allomon_tracker_options options = ALLOMON_TRACKER_DEFAULTS;
  options.rate = 1;
  return options;
}

allomon_tracker StartFor(Seen* seen) {
  const allomon_callbacks callbacks = CallbacksFor(seen);
  const allomon_tracker_options options = EachBlock();
  allomon_tracker tracker = 0;
  EXPECT_EQ(allomon_tracker_start(&options, &callbacks, &tracker), ALLOMON_OK);
  EXPECT_NE(tracker, 0u);
  return tracker;
}

TEST(CInterface, CAndCxxHaveTheSameStructures) {
  const std::vector<size_t> sizes = {
      sizeof(allomon_allocation),       sizeof(allomon_tracker_options),
      sizeof(allomon_callbacks),        sizeof(allomon_live_stack),
      sizeof(allomon_tracker_counts),   sizeof(allomon_recording_options),
      sizeof(allomon_recording_counts), sizeof(allomon_live_labels)};
  for (size_t i = 0; i < sizes.size(); ++i) EXPECT_EQ(sizes_in_c[i], sizes[i]) << i;
  EXPECT_EQ(sizes_in_c[sizes.size()], 0u);
}

// A structure that shrinks or moves a field breaks programs that are already compiled.
TEST(CInterface, StructuresAreThoseOf02) {
  EXPECT_EQ(sizeof(allomon_allocation), 72u);
  EXPECT_EQ(sizeof(allomon_tracker_options), 40u);
  EXPECT_EQ(sizeof(allomon_callbacks), 14 * sizeof(void*));
  EXPECT_EQ(sizeof(allomon_live_stack), 72u);
  EXPECT_EQ(sizeof(allomon_live_labels), 56u);
  EXPECT_EQ(sizeof(allomon_tracker_counts), 72u);
  EXPECT_EQ(sizeof(allomon_recording_options), 64u);
  EXPECT_EQ(sizeof(allomon_recording_counts), 40u);
  EXPECT_EQ(offsetof(allomon_allocation, frames), 32u);
  EXPECT_EQ(offsetof(allomon_callbacks, destroy), 13 * sizeof(void*));
  EXPECT_EQ(offsetof(allomon_recording_options, error_text), 48u);
}

TEST(CInterface, SaysItsVersionAsNumberAndText) {
  char text[40];
  snprintf(text, sizeof(text), "%d.%d.%d", ALLOMON_VERSION_MAJOR, ALLOMON_VERSION_MINOR,
           ALLOMON_VERSION_PATCH);
  EXPECT_EQ(std::string(allomon_version_text()).rfind(text, 0), 0u) << allomon_version_text();
  EXPECT_STREQ(version_in_c(), allomon_version_text());
  EXPECT_EQ(allomon_version(), ALLOMON_VERSION);
  EXPECT_EQ(allomon_ready(), ALLOMON_OK);
}

TEST(CInterface, EachStatusHasATextOfItsOwn) {
  std::map<std::string, int> texts;
  for (int status = ALLOMON_OK; status >= ALLOMON_OUT_OF_MEMORY; --status) {
    ++texts[allomon_status_text(status)];
  }
  EXPECT_EQ(texts.size(), size_t{1 - ALLOMON_OUT_OF_MEMORY});
  EXPECT_EQ(texts.count("unknown status"), 0u);
  EXPECT_STREQ(allomon_status_text(-1000), "unknown status");
}

TEST(CInterface, ABlockIsFollowedWithItsTwoWords) {
  Seen seen;
  const allomon_tracker tracker = StartFor(&seen);
  void* const block = SamplingMalloc(1000);
  EXPECT_EQ(seen.last_bytes, 1000u);
  SamplingFree(block);
  EXPECT_GE(seen.deallocs, 1);
  EXPECT_GE(seen.ended_bytes, 1000u);
  EXPECT_EQ(allomon_tracker_stop(tracker, ALLOMON_DISCARD), ALLOMON_OK);
  EXPECT_EQ(seen.allocs, seen.deallocs + seen.forgotten);
  EXPECT_EQ(seen.destroyed, 1);
}

TEST(CInterface, WhatLivesIsForgottenOnceAtDiscard) {
  Seen seen;
  const allomon_tracker tracker = StartFor(&seen);
  void* const block = SamplingMalloc(64);
  EXPECT_EQ(allomon_tracker_stop(tracker, ALLOMON_KEEP_TRACKING), ALLOMON_OK);
  EXPECT_EQ(allomon_tracker_stop(tracker, ALLOMON_KEEP_TRACKING), ALLOMON_NOT_STARTED);
  EXPECT_EQ(seen.destroyed, 0);
  EXPECT_EQ(allomon_tracker_discard(tracker), ALLOMON_OK);
  EXPECT_EQ(allomon_tracker_discard(tracker), ALLOMON_NO_SUCH_TRACKER);
  EXPECT_EQ(seen.forgotten, 1);
  EXPECT_EQ(seen.ended_bytes, 64u);
  SamplingFree(block);
  EXPECT_EQ(seen.deallocs, 0);
  EXPECT_EQ(seen.destroyed, 1);
}

TEST(CInterface, DrainHandsOverWhatLives) {
  Seen seen;
  const allomon_tracker tracker = StartFor(&seen);
  void* const block = SamplingMalloc(64);
  EXPECT_EQ(allomon_tracker_drain(tracker), ALLOMON_NOT_STOPPED);
  EXPECT_EQ(allomon_tracker_stop(tracker, ALLOMON_KEEP_TRACKING), ALLOMON_OK);
  EXPECT_EQ(allomon_tracker_drain(tracker), ALLOMON_OK);
  EXPECT_EQ(seen.survivors, 1);
  EXPECT_EQ(seen.ended_bytes, 64u);
  SamplingFree(block);
}

TEST(CInterface, AnExceptionOfACallbackIsCountedAndGoesNowhere) {
  Seen seen;
  seen.throws = true;
  const allomon_tracker tracker = StartFor(&seen);
  SamplingFree(SamplingMalloc(64));
  allomon_tracker_counts counts = ALLOMON_TRACKER_COUNTS;
  EXPECT_EQ(allomon_tracker_statistics(tracker, &counts), ALLOMON_OK);
  EXPECT_EQ(counts.callback_failures, static_cast<uint64_t>(seen.allocs));
  EXPECT_GE(counts.callback_failures, 1u);
  EXPECT_EQ(allomon_tracker_stop(tracker, ALLOMON_DISCARD), ALLOMON_OK);
  EXPECT_EQ(seen.deallocs + seen.forgotten, 0);
}

TEST(CInterface, WithoutCallbacksBlocksAreFollowedForSnapshots) {
  allomon_tracker tracker = 0;
  const allomon_tracker_options options = EachBlock();
  ASSERT_EQ(allomon_tracker_start(&options, nullptr, &tracker), ALLOMON_OK);
  EXPECT_EQ(allomon_tracker_sampling(), tracker);
  std::vector<void*> blocks;
  for (int i = 0; i < 10; ++i) blocks.push_back(SamplingMalloc(100000));
  struct Sum {
    double bytes = 0, blocks = 0, last_bytes = std::numeric_limits<double>::max();
    bool is_sorted = true;
    uint32_t most_frames = 0;
  } sum;
  const auto add = [](void* user, const allomon_live_stack* stack) {
    Sum& into = *static_cast<Sum*>(user);
    into.bytes += stack->bytes.value;
    into.blocks += stack->blocks.value;
    into.is_sorted &= stack->bytes.value <= into.last_bytes;
    into.last_bytes = stack->bytes.value;
    if (stack->n_frames > into.most_frames) into.most_frames = stack->n_frames;
    return int32_t{0};
  };
  EXPECT_EQ(allomon_tracker_snapshot(tracker, add, &sum), ALLOMON_OK);
  EXPECT_GE(sum.bytes, 1e6);
  EXPECT_GE(sum.blocks, 10);
  EXPECT_TRUE(sum.is_sorted);
  EXPECT_GE(sum.most_frames, 1u);
  for (void* block : blocks) SamplingFree(block);
  EXPECT_EQ(allomon_tracker_stop(0, ALLOMON_DISCARD), ALLOMON_OK);  // the plain one
  EXPECT_EQ(allomon_tracker_sampling(), 0u);
  EXPECT_EQ(allomon_tracker_snapshot(tracker, add, &sum), ALLOMON_NO_SUCH_TRACKER);
}

TEST(CInterface, ASnapshotEndsWhereItIsToldTo) {
  allomon_tracker tracker = 0;
  const allomon_tracker_options options = EachBlock();
  ASSERT_EQ(allomon_tracker_start(&options, nullptr, &tracker), ALLOMON_OK);
  void* const first = SamplingMalloc(10);
  void* const second = SamplingMalloc(20);
  int calls = 0;
  const auto end = [](void* user, const allomon_live_stack*) {
    ++*static_cast<int*>(user);
    return int32_t{1};
  };
  EXPECT_EQ(allomon_tracker_snapshot(tracker, end, &calls), ALLOMON_OK);
  EXPECT_EQ(calls, 1);
  SamplingFree(first);
  SamplingFree(second);
  EXPECT_EQ(allomon_tracker_stop(tracker, ALLOMON_DISCARD), ALLOMON_OK);
}

TEST(CInterface, BadArgumentsAreNamedAndNothingStarts) {
  Seen seen;
  const allomon_callbacks callbacks = CallbacksFor(&seen);
  allomon_tracker tracker = 17;
  allomon_tracker_options options = EachBlock();
  const auto start = [&] { return allomon_tracker_start(&options, &callbacks, &tracker); };
  for (const double rate : {-0.1, 1.1, std::nan("")}) {
    options.rate = rate;
    EXPECT_EQ(start(), ALLOMON_BAD_RATE);
    EXPECT_EQ(tracker, 0u);
  }
  options = EachBlock();
  options.callstack_size = 1025;
  EXPECT_EQ(start(), ALLOMON_BAD_CALLSTACK_SIZE);
  for (const size_t size : {size_t{0}, sizeof(options) - 1, size_t{1} << 40}) {
    options = EachBlock();
    options.struct_size = size;
    EXPECT_EQ(start(), ALLOMON_INVALID_ARGUMENT) << size;
  }
  EXPECT_EQ(allomon_tracker_start(&options, &callbacks, nullptr), ALLOMON_INVALID_ARGUMENT);
  EXPECT_EQ(allomon_tracker_stop(0, ALLOMON_DISCARD), ALLOMON_NOT_STARTED);
  EXPECT_EQ(allomon_tracker_stop(0, 7), ALLOMON_INVALID_ARGUMENT);
  EXPECT_EQ(allomon_tracker_discard(12345), ALLOMON_NO_SUCH_TRACKER);
  EXPECT_EQ(allomon_tracker_snapshot(1, nullptr, nullptr), ALLOMON_INVALID_ARGUMENT);
  EXPECT_EQ(seen.destroyed, 0);
}

// Structures of a program compiled with later headers, which are longer.
struct Later {
  allomon_tracker_options options = EachBlock();
  uint64_t new_field = 0;
};

TEST(CInterface, AStructureOfALaterVersionIsTakenIfItsNewFieldsAreNotUsed) {
  Later later;
  later.options.struct_size = sizeof(later);
  allomon_tracker tracker = 0;
  ASSERT_EQ(allomon_tracker_start(&later.options, nullptr, &tracker), ALLOMON_OK);
  EXPECT_EQ(allomon_tracker_stop(tracker, ALLOMON_DISCARD), ALLOMON_OK);
  later.new_field = 1;
  EXPECT_EQ(allomon_tracker_start(&later.options, nullptr, &tracker), ALLOMON_INVALID_ARGUMENT);
}

TEST(CInterface, TwoPlainTrackersAreOneTooMany) {
  Seen seen;
  const allomon_tracker tracker = StartFor(&seen);
  const allomon_callbacks callbacks = CallbacksFor(&seen);
  allomon_tracker_options options = EachBlock();
  allomon_tracker second = 0;
  EXPECT_EQ(allomon_tracker_start(&options, &callbacks, &second), ALLOMON_ALREADY_STARTED);
  EXPECT_EQ(seen.destroyed, 0);
  options.is_concurrent = 1;
  EXPECT_EQ(allomon_tracker_start(&options, &callbacks, &second), ALLOMON_OK);
  EXPECT_EQ(allomon_tracker_stop(second, ALLOMON_DISCARD), ALLOMON_OK);
  EXPECT_EQ(allomon_tracker_stop(tracker, ALLOMON_DISCARD), ALLOMON_OK);
  EXPECT_EQ(seen.destroyed, 2);
}

TEST(CInterface, CustomMemoryIsABlockOfItsOwnSource) {
  Seen seen;
  const allomon_tracker tracker = StartFor(&seen);
  const allomon_custom_memory memory = allomon_custom_memory_report(12345);
  EXPECT_NE(memory, 0u);
  EXPECT_EQ(seen.last_bytes, 12345u);
  allomon_custom_memory_release(memory);
  EXPECT_EQ(seen.deallocs, 1);
  allomon_custom_memory_release(0);
  EXPECT_EQ(allomon_tracker_stop(tracker, ALLOMON_DISCARD), ALLOMON_OK);
}

TEST(CInterface, AnEstimateDividesByTheProbability) {
  allomon_allocation block = {};
  block.struct_size = sizeof(block);
  block.size_bytes = 80;
  block.rate = 0.01;
  block.source = ALLOMON_SOURCE_MALLOC;
  allomon_estimate blocks, bytes;
  ASSERT_EQ(allomon_allocation_estimate(&block, &blocks, &bytes), ALLOMON_OK);
  const double p = 1 - std::pow(0.99, 11);
  EXPECT_NEAR(blocks.value, 1 / p, 1e-9);
  EXPECT_NEAR(bytes.value, 80 / p, 1e-6);
  EXPECT_NEAR(bytes.variance, 80 * 80 * (1 - p) / (p * p), 1e-3);
  EXPECT_EQ(allomon_allocation_estimate(nullptr, &blocks, &bytes), ALLOMON_INVALID_ARGUMENT);
}

void AFunctionWithAName() {}

TEST(CInterface, AnAddressHasItsFunctionsNameCutToTheRoom) {
  const uintptr_t address = reinterpret_cast<uintptr_t>(&AFunctionWithAName);
  char text[200];
  ASSERT_EQ(allomon_function_name(address, text, sizeof(text)), ALLOMON_OK);
  EXPECT_NE(std::string(text).find("AFunctionWithAName"), std::string::npos) << text;
  char cut[4];
  ASSERT_EQ(allomon_function_name(address, cut, sizeof(cut)), ALLOMON_OK);
  EXPECT_EQ(std::string(cut), std::string(text, 3));
  EXPECT_EQ(allomon_function_name(8, text, sizeof(text)), ALLOMON_NOT_FOUND);
  EXPECT_EQ(allomon_function_name(address, text, 0), ALLOMON_INVALID_ARGUMENT);
}

std::string RecordingPath() { return testing::TempDir() + "/c_interface.rec"; }

TEST(CInterface, ARecordingIsAFile) {
  const std::string path = RecordingPath();
  allomon_recording_options options = ALLOMON_RECORDING_DEFAULTS;
  options.path = path.c_str();
  options.rate = 1;
  allomon_recording recording = 0;
  ASSERT_EQ(allomon_recording_start(&options, &recording), ALLOMON_OK);
  SamplingFree(SamplingMalloc(100));
  allomon_recording_counts counts = ALLOMON_RECORDING_COUNTS;
  EXPECT_EQ(allomon_recording_statistics(recording, &counts), ALLOMON_OK);
  EXPECT_GE(counts.samples, 1u);
  EXPECT_EQ(counts.dropped_samples, 0u);
  // A function for trackers finds no tracker with that number.
  EXPECT_EQ(allomon_tracker_stop(recording, ALLOMON_DISCARD), ALLOMON_NOT_STARTED);
  EXPECT_EQ(allomon_recording_stop(recording), ALLOMON_OK);
  EXPECT_EQ(allomon_recording_stop(recording), ALLOMON_NO_SUCH_RECORDING);
  EXPECT_EQ(allomon_recording_stop(1), ALLOMON_NO_SUCH_RECORDING);
  EXPECT_EQ(remove(path.c_str()), 0);
}

// The child's file exists even before its first sample.
TEST(CInterface, AChildsRecordingIsAFileOfItsOwn) {
  const std::string path = RecordingPath();
  allomon_recording_options options = ALLOMON_RECORDING_DEFAULTS;
  options.path = path.c_str();
  options.rate = 0;
  allomon_recording recording = 0;
  ASSERT_EQ(allomon_recording_start(&options, &recording), ALLOMON_OK);
  char text[4096];
  EXPECT_EQ(allomon_recording_path(recording, text, sizeof(text)), ALLOMON_OK);
  EXPECT_EQ(text, path);
  EXPECT_EQ(allomon_recording_path(recording, nullptr, 0), ALLOMON_INVALID_ARGUMENT);
  EXPECT_EQ(allomon_recording_path(recording, text, path.size()), ALLOMON_INVALID_ARGUMENT);
  const pid_t child = fork();
  if (child == 0) {
    const bool is_told = allomon_recording_path(recording, text, sizeof(text)) == ALLOMON_OK;
    _exit(is_told && path + "." + std::to_string(getpid()) == text ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(allomon_recording_stop(recording), ALLOMON_OK);
  EXPECT_EQ(remove(path.c_str()), 0);
  EXPECT_EQ(remove((path + "." + std::to_string(child)).c_str()), 0);
}

TEST(CInterface, ARecordingThatCannotBeMadeSaysWhy) {
  char error[200] = "old";
  allomon_recording_options options = ALLOMON_RECORDING_DEFAULTS;
  options.error_text = error;
  options.error_bytes = sizeof(error);
  allomon_recording recording = 17;
  EXPECT_EQ(allomon_recording_start(&options, &recording), ALLOMON_INVALID_ARGUMENT);
  EXPECT_EQ(recording, 0u);
  options.path = "/nowhere/at/all";
  EXPECT_EQ(allomon_recording_start(&options, &recording), ALLOMON_CANNOT_RECORD);
  EXPECT_NE(std::string(error).find("cannot be created"), std::string::npos) << error;
  options.error_bytes = 5;
  EXPECT_EQ(allomon_recording_start(&options, &recording), ALLOMON_CANNOT_RECORD);
  EXPECT_EQ(strlen(error), 4u);
  options.limit_bytes = 1;
  EXPECT_EQ(allomon_recording_start(&options, &recording), ALLOMON_BAD_LIMIT);
}

}  // namespace

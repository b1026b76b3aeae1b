#include "tests/integration/support/recorder.h"

#include <gtest/gtest.h>

namespace allomon::testing {
namespace {

Record g_records[Recorder::kMaxRecords];
std::atomic<size_t> g_size{0};
thread_local bool t_watching = false;

}  // namespace

void Recorder::Clear() {
  const size_t used = size();
  for (size_t i = 0; i < used; ++i) g_records[i].deallocs.store(0);
  g_size.store(0);
}

size_t Recorder::size() { return g_size.load(); }
Record& Recorder::at(size_t i) { return g_records[i]; }

int Recorder::Open(const Allocation& allocation) {
  if (!t_watching) return -1;
  const size_t i = g_size.fetch_add(1);
  if (i >= kMaxRecords) abort();
  g_records[i].allocation = allocation;
  return static_cast<int>(i);
}

void Recorder::Close(int record) {
  g_records[record].dealloc_thread = pthread_self();
  g_records[record].deallocs.fetch_add(1);
}

size_t Recorder::Live() {
  size_t live = 0;
  for (size_t i = 0; i < size(); ++i) live += g_records[i].deallocs.load() == 0 ? 1 : 0;
  return live;
}

size_t Recorder::ClosedTwice() {
  size_t closed_twice = 0;
  for (size_t i = 0; i < size(); ++i) closed_twice += g_records[i].deallocs.load() > 1 ? 1 : 0;
  return closed_twice;
}

Watch::Watch() { t_watching = true; }
Watch::~Watch() { t_watching = false; }

Sampling::Sampling(double rate) {
  Recorder::Clear();
  if (rate == 0) return;
  StartOptions options;
  options.seed = 42;
  const auto started = Tracker::start(rate, RecordingTracker{}, options);
  EXPECT_TRUE(started.ok()) << started.status();
  if (started.ok()) id_ = *started;
}

void Sampling::StopButKeepTracking() {
  if (!id_.has_value()) return;
  EXPECT_TRUE(Tracker::stop(*id_, StopMode::kKeepTracking).ok());
  stopped_ = true;
}

Sampling::~Sampling() {
  if (!id_.has_value()) return;
  EXPECT_TRUE((stopped_ ? Tracker::discard(*id_) : Tracker::stop(*id_)).ok());
}

}  // namespace allomon::testing

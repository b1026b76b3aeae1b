#include "allomon/counting.h"

#include <memory>
#include <new>
#include <utility>

#include "tracker/base/check.h"
#include "tracker/c/counting_client.h"
#include "tracker/c/structures.h"
#include "tracker/c/to_status.h"
#include "tracker/core/control.h"
#include "tracker/core/pinned_session.h"
#include "tracker/core/registry.h"

using allomon::c::CountingBooks;
using allomon::c::CountingClient;
using allomon::internal::Session;
using allomon::internal::SessionKind;

namespace {

struct Counting {
  std::shared_ptr<CountingBooks> books;
  uint32_t session = 0;  // 0: stopped
  uint64_t lost_blocks = 0;
};

// Null for one that has not begun.
Counting* Of(const allomon_counting* counting) {
  return counting == nullptr ? nullptr : static_cast<Counting*>(counting->books);
}

// Sizes of the structures' first versions (0.2.0).
constexpr size_t kFirstOptionsBytes = sizeof(allomon_counting_options);
constexpr size_t kFirstTotalsBytes = sizeof(allomon_allocation_totals);

uint64_t LostBlocksOf(uint32_t id) {
  const allomon::internal::PinnedSession session(id, SessionKind::kCounting);
  if (!session) return 0;
  return allomon::internal::Registry::Get().TotalsOf(*session).dropped_blocks;
}

Session::Config ConfigOf(const allomon_counting_options& options) {
  Session::Config config;
  config.kind = SessionKind::kCounting;
  config.rate = 1;
  config.seed = 1;  // no gap is left to chance at rate 1
  config.callstack_size = options.callstack_size;
  config.concurrent = true;
  return config;
}

// Throws std::bad_alloc.
allomon_status Start(const allomon_counting_options& options, allomon_counting* counting) {
  auto made = std::make_unique<Counting>();
  made->books = std::make_shared<CountingBooks>();
  std::unique_ptr<allomon::internal::SessionClient> client =
      std::make_unique<CountingClient>(made->books);
  const auto result = allomon::internal::StartSession(ConfigOf(options), client);
  const allomon_status status = allomon::c::ToStatus(result.error);
  if (status != ALLOMON_OK) return status;
  ALLOMON_DCHECK_NE("inv.c.id", result.id, 0u);
  made->session = result.id;
  Counting* const begun = made.release();
  counting->books = begun;
  begun->books->counts.store(true, std::memory_order_relaxed);
  return ALLOMON_OK;
}

allomon_status Stop(Counting* counting) {
  counting->books->counts.store(false, std::memory_order_relaxed);
  if (counting->session == 0) return ALLOMON_NOT_STARTED;
  const uint32_t session = std::exchange(counting->session, 0);
  counting->lost_blocks = LostBlocksOf(session);
  return allomon::c::ToStatus(
      allomon::internal::StopAndDiscardSession(session, SessionKind::kCounting));
}

}  // namespace

allomon_status allomon_counting_start(allomon_counting* counting,
                                      const allomon_counting_options* options) {
  if (counting == nullptr) return ALLOMON_INVALID_ARGUMENT;
  if (counting->books != nullptr) return ALLOMON_ALREADY_STARTED;
  allomon_counting_options own_options = ALLOMON_COUNTING_DEFAULTS;
  if (options != nullptr && !allomon::c::CopyIn(options, kFirstOptionsBytes, &own_options)) {
    return ALLOMON_INVALID_ARGUMENT;
  }
  if (const allomon_status status = allomon_ready(); status != ALLOMON_OK) return status;
  try {
    return Start(own_options, counting);
  } catch (const std::bad_alloc&) {
    return ALLOMON_OUT_OF_MEMORY;
  }
}

allomon_status allomon_counting_stop(allomon_counting* counting) {
  Counting* const begun = Of(counting);
  return begun == nullptr ? ALLOMON_INVALID_ARGUMENT : Stop(begun);
}

allomon_status allomon_counting_read(const allomon_counting* counting,
                                     allomon_allocation_totals* totals) {
  const Counting* const begun = Of(counting);
  if (begun == nullptr) return ALLOMON_INVALID_ARGUMENT;
  allomon_allocation_totals own = begun->books->stacks.Totals();
  own.lost_blocks = begun->session == 0 ? begun->lost_blocks : LostBlocksOf(begun->session);
  return allomon::c::CopyOut(own, kFirstTotalsBytes, totals) ? ALLOMON_OK
                                                             : ALLOMON_INVALID_ARGUMENT;
}

allomon_status allomon_counting_stacks(const allomon_counting* counting,
                                       int32_t (*each)(void* user,
                                                       const allomon_counted_stack* stack),
                                       void* user) {
  const Counting* const begun = Of(counting);
  if (begun == nullptr || each == nullptr) return ALLOMON_INVALID_ARGUMENT;
  if (begun->session != 0) return ALLOMON_NOT_STOPPED;
  begun->books->stacks.ForEach(each, user);
  return ALLOMON_OK;
}

void allomon_counting_end(allomon_counting* counting) {
  Counting* const begun = Of(counting);
  if (begun == nullptr) return;
  Stop(begun);
  delete begun;
  counting->books = nullptr;
}

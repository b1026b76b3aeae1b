#include "tracker/c/counting_client.h"

#include <cstring>

namespace allomon::c {
namespace {

// Data kept with a counted block.
struct Counted {
  CountedStack* stack;
  uint64_t size_bytes;
};
static_assert(sizeof(Counted) <= sizeof(internal::ValueRoom));

}  // namespace

bool CountingClient::Enter(const Allocation& allocation, internal::ValueRoom* value) {
  if (!pthread_equal(books_->thread, pthread_self())) return false;
  if (!books_->counts.load(std::memory_order_relaxed)) return false;
  const Counted counted = {books_->stacks.Enter(allocation), allocation.size_bytes};
  memcpy(value->bytes, &counted, sizeof(counted));
  return true;
}

void CountingClient::Leave(const internal::ValueRoom& value) {
  if (!books_->counts.load(std::memory_order_relaxed)) return;
  Counted counted;
  memcpy(&counted, value.bytes, sizeof(counted));
  books_->stacks.Leave(counted.stack, counted.size_bytes);
}

}  // namespace allomon::c

#include "runtime/registered_stack.h"

#include <cstring>
#include <new>

#include "runtime/internal/collect/heap_core.h"

namespace allomon::gc {

// Takes the memory from the backend: malloc might sample it, which runs user code.
static internal::CoroutineStack* NewStack(void* lowest, size_t size_bytes) {
  void* const memory = backend::Malloc(sizeof(internal::CoroutineStack));
  if (memory == nullptr) throw std::bad_alloc();
  auto* const stack = new (memory) internal::CoroutineStack;
  const uintptr_t low = reinterpret_cast<uintptr_t>(lowest);
  stack->range = {low, low + size_bytes};
  return stack;
}

static void DeleteStack(internal::CoroutineStack* stack) {
  stack->~CoroutineStack();
  backend::Free(stack);
}

RegisteredStack::RegisteredStack(void* lowest, size_t size_bytes)
    : heap_(internal::CurrentMutator().heap), stack_(NewStack(lowest, size_bytes)) {
  try {
    heap_->coroutines.Add(stack_);
  } catch (...) {
    DeleteStack(stack_);
    throw;
  }
}

RegisteredStack::~RegisteredStack() {
  heap_->coroutines.Remove(stack_);
  DeleteStack(stack_);
}

void RegisteredStack::NoteEmpty() {
  stack_->left.Clear();
  stack_->was_left = true;
}

void* ScannedFrame::operator new(size_t size_bytes) {
  using internal::CoroutineFrame;
  internal::CoroutineStacks& owner = internal::CurrentMutator().heap->coroutines;
  void* const memory = backend::Malloc(sizeof(CoroutineFrame) + size_bytes);
  if (memory == nullptr) throw std::bad_alloc();
  auto* const frame = new (memory) CoroutineFrame{size_bytes, &owner, nullptr, nullptr};
  memset(frame + 1, 0, size_bytes);
  owner.AddFrame(frame);
  return frame + 1;
}

void ScannedFrame::operator delete(void* memory) noexcept {
  auto* const frame = static_cast<internal::CoroutineFrame*>(memory) - 1;
  frame->owner->RemoveFrame(frame);
  backend::Free(frame);
}

namespace internal {
namespace {

ScannedStack& StackAt(uintptr_t stack_pointer) {
  Mutator& mutator = CurrentMutator();
  CoroutineStack* const stack = mutator.heap->coroutines.Find(stack_pointer);
  if (stack == nullptr) return mutator.stack.left;
  stack->was_left = true;
  return stack->left;
}

}  // namespace

void NoteLeft(const StandPoint& point, uintptr_t frame_end) {
  ScannedStack& stack = StackAt(point.stack_pointer);
  stack.point = point;
  stack.NoteFakeStack();
  stack.KeepFrame(frame_end);
}

}  // namespace internal
}  // namespace allomon::gc

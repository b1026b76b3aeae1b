#include "runtime/weak.h"

#include "runtime/internal/collect/allocate.h"
#include "runtime/internal/collect/barrier.h"
#include "runtime/internal/collect/mutator.h"
#include "runtime/internal/object/check.h"
#include "runtime/internal/object/ephemeron_pairs.h"
#include "runtime/internal/object/value_word.h"

namespace allomon::gc::internal {

// Aborts for a key that is a number: a number never dies, so it would keep the value for ever.
static void CheckKey(Object* key) {
  ALLOMON_GC_CHECK(key == nullptr || PointsToObject(key),
                   "rule.weak: a number is no key of an ephemeron; ask is_reference() before");
}

// Without a key, nothing would keep the value alive or clear the reference to it.
static Object* ValueOf(Object* key, Object* value) { return key != nullptr ? value : nullptr; }

// A collection visits only the ephemerons that were made or set since the last one; all others have
// no young keys or values.  Reserves the room in the list before it makes the object.
Object* MakeEphemeron(uintptr_t header, Object* key, Object* value) {
  CheckKey(key);
  const FrameState caller = ALLOMON_CALLER_FRAME();
  Vector<Object*>& weaks = CurrentMutator().weaks;
  if (weaks.size() == weaks.capacity()) weaks.reserve(weaks.size() * 2 + 64);
  constexpr size_t kBytes = sizeof(EphemeronSlots) + kWordBytes;
  char* start = TryAllocateYoung(kBytes);
  if (start == nullptr) start = AllocateYoungSlow(kBytes, header, caller);
  Object* object = reinterpret_cast<Object*>(start + kWordBytes);
  EphemeronOf(object) = {{key, ValueOf(key, value)}, nullptr};
  HeaderOf(object) = header;
  weaks.push_back(object);
  return object;
}

void SetEphemeron(Object* ephemeron, Object* key, Object* value) {
  CheckKey(key);
  CurrentMutator().weaks.push_back(ephemeron);
  EphemeronOf(ephemeron).pair = {key, ValueOf(key, value)};
}

Object* EphemeronKey(Object* ephemeron) { return NoteRead(EphemeronOf(ephemeron).pair.key); }
Object* EphemeronValue(Object* ephemeron) { return NoteRead(EphemeronOf(ephemeron).pair.value); }

}  // namespace allomon::gc::internal

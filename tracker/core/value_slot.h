// Room for a user's value inside an entry.
#ifndef ALLOMON_TRACKER_CORE_VALUE_SLOT_H_
#define ALLOMON_TRACKER_CORE_VALUE_SLOT_H_

namespace allomon::internal {

// A larger value is boxed by the client.
struct ValueSlot {
  alignas(8) unsigned char bytes[16];
};

}  // namespace allomon::internal

#endif  // ALLOMON_TRACKER_CORE_VALUE_SLOT_H_

// What calls a user's code inside malloc.
#ifndef ALLOMON_TRACKER_CORE_GUARDED_CLIENT_H_
#define ALLOMON_TRACKER_CORE_GUARDED_CLIENT_H_

#include <cxxabi.h>

#include "tracker/core/exception_carrier.h"
#include "tracker/core/session_client.h"

namespace allomon::internal {

class GuardedClient : public SessionClient {
 protected:
  // malloc must not throw.  So an exception, also one from the move of a value, ends the tracking
  // of the block, and is handed to a heap that can throw it on.  The unwinding of a thread that
  // ends itself is no exception, and must go on.
  template <typename Call>
  __attribute__((no_sanitize("undefined"))) bool Guard(Call call) {
    try {
      return call();
    } catch (abi::__forced_unwind&) {
      throw;
    } catch (...) {
      CountException();
      ExceptionCarrier::KeepCurrent();
      return false;
    }
  }
};

}  // namespace allomon::internal

#endif  // ALLOMON_TRACKER_CORE_GUARDED_CLIENT_H_

// Carries an exception out of a user's callback, through the tracker, to a heap that can throw it
// on.  malloc cannot; a managed allocation can.
#ifndef ALLOMON_TRACKER_CORE_EXCEPTION_CARRIER_H_
#define ALLOMON_TRACKER_CORE_EXCEPTION_CARRIER_H_

#include <exception>

namespace allomon::internal {

// While a carrier is open on a thread, it keeps the first exception of a callback on that thread.
// Carriers nest.
class ExceptionCarrier {
 public:
  ExceptionCarrier();
  ~ExceptionCarrier();
  ExceptionCarrier(const ExceptionCarrier&) = delete;
  ExceptionCarrier& operator=(const ExceptionCarrier&) = delete;

  // nullptr if no callback has thrown.
  const std::exception_ptr& thrown() const { return thrown_; }

  // Called in a catch block: hands the exception to the innermost open carrier, if any.
  static void KeepCurrent();

 private:
  ExceptionCarrier* const outer_;
  std::exception_ptr thrown_;
};

}  // namespace allomon::internal

#endif  // ALLOMON_TRACKER_CORE_EXCEPTION_CARRIER_H_

#include "tracker/core/exception_carrier.h"

#include "tracker/base/tls.h"

namespace allomon::internal {
namespace {

__thread ExceptionCarrier* t_innermost __attribute__((ALLOMON_TLS_MODEL));

}  // namespace

ExceptionCarrier::ExceptionCarrier() : outer_(t_innermost) { t_innermost = this; }
ExceptionCarrier::~ExceptionCarrier() { t_innermost = outer_; }

void ExceptionCarrier::KeepCurrent() {
  ExceptionCarrier* carrier = t_innermost;
  if (carrier != nullptr && carrier->thrown_ == nullptr) {
    carrier->thrown_ = std::current_exception();
  }
}

}  // namespace allomon::internal

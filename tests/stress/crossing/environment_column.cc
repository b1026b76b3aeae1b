// The columns requested by the environment: the host itself does nothing.
#include "tests/stress/crossing/column.h"

namespace crossing {

void StartColumn() {}
const char* FinishColumn() { return nullptr; }
uint64_t Allocate(unsigned seed) { return AllocateByMalloc(seed); }
OnThread::OnThread() {}
OnThread::~OnThread() {}
Waiting::Waiting() {}
Waiting::~Waiting() {}

}  // namespace crossing

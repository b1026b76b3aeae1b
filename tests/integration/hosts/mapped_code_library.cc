// A library for mapped_code_host.cc.
#define WHERE Library
#include "tests/integration/hosts/mapped_code_work.h"

extern "C" __attribute__((visibility("default"))) void DoLibraryWork(const volatile int* ticks) {
  mapped_code::ticks = ticks;
  mapped_code::WorkOfAll();
}

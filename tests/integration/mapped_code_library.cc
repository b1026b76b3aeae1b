// A library for mapped_code_host.cc.
#define WHERE Library
#include "tests/integration/mapped_code_work.h"

extern "C" __attribute__((visibility("default"))) void DoLibraryWork(long spin_millis) {
  mapped_code::spin_millis = spin_millis;
  mapped_code::WorkOfAll();
}

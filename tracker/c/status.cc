#include "allomon/status.h"

#include <cstring>

#include "tracker/core/control.h"
#include "tracker/formats/version.h"

namespace {

const char* TextOf(allomon_status status) {
  switch (status) {
    case ALLOMON_OK:
      return "ok";
    case ALLOMON_ABSENT:
      return "no Allomon in this process: preload liballomon.so, or link Allomon";
  }
  return "unknown status";
}

}  // namespace

const char* allomon_status_text(allomon_status status) { return TextOf(status); }

int32_t allomon_version(void) { return ALLOMON_VERSION; }

const char* allomon_version_text(void) { return allomon::kVersion; }

allomon_status allomon_ready(void) {
  return allomon::internal::HeapIsLinked() ? ALLOMON_OK : ALLOMON_NO_HEAP;
}

#include "allomon/status.h"

#include "tracker/core/control.h"
#include "tracker/formats/version.h"

namespace {

using allomon::internal::ControlError;
using allomon::internal::TextOf;

// Returns the text of a status that is the caller's or the process's fault.
const char* TextOfUse(allomon_status status) {
  switch (status) {
    case ALLOMON_ABSENT:
      return "no Allomon in this process: preload liballomon.so, or link Allomon";
    case ALLOMON_INVALID_ARGUMENT:
      return "invalid argument: a null pointer, an empty text, or a struct_size that is not set";
    case ALLOMON_STANDS_ASIDE:
      return "another malloc comes before that of liballomon.so, which stands aside: name it "
             "first in LD_PRELOAD, or use a program without a malloc of its own";
    case ALLOMON_NO_HEAP:
      return "no heap of this process reports: link Allomon's malloc, or preload liballomon.so";
    case ALLOMON_NOT_FOUND:
      return "not found";
    case ALLOMON_OUT_OF_MEMORY:
      return "out of memory";
  }
  return "unknown status";
}

const char* TextOfRecording(allomon_status status) {
  switch (status) {
    case ALLOMON_BAD_LIMIT:
      return "limit_bytes must be from 1 MiB to 16 GiB";
    case ALLOMON_NO_SUCH_RECORDING:
      return "no such recording, or it was stopped already";
    case ALLOMON_CANNOT_RECORD:
      return "the file cannot be made; error_text says why";
  }
  return TextOfUse(status);
}

const char* TextOfStatus(allomon_status status) {
  switch (status) {
    case ALLOMON_OK:
      return TextOf(ControlError::kNone);
    case ALLOMON_BAD_RATE:
      return TextOf(ControlError::kBadRate);
    case ALLOMON_BAD_CALLSTACK_SIZE:
      return TextOf(ControlError::kBadCallstackSize);
    case ALLOMON_ALREADY_STARTED:
      return TextOf(ControlError::kAlreadyStarted);
    case ALLOMON_TOO_MANY:
      return TextOf(ControlError::kTooMany);
    case ALLOMON_NOT_STARTED:
      return TextOf(ControlError::kNotStarted);
    case ALLOMON_NOT_STOPPED:
      return TextOf(ControlError::kNotStopped);
    case ALLOMON_NO_SUCH_TRACKER:
      return TextOf(ControlError::kNoSuchTracker);
  }
  return TextOfRecording(status);
}

// Returns the number at *text, and moves *text past its digits and the point.
constexpr int32_t NextNumber(const char** text) {
  int32_t number = 0;
  for (; **text >= '0' && **text <= '9'; ++*text) number = number * 10 + (**text - '0');
  ++*text;
  return number;
}

constexpr int32_t NumberOf(const char* text) {
  const int32_t major = NextNumber(&text);
  const int32_t minor = NextNumber(&text);
  return ALLOMON_VERSION_NUMBER(major, minor, NextNumber(&text));
}

static_assert(NumberOf(allomon::kVersionText + sizeof "allomon " - 1) == ALLOMON_VERSION,
              "allomon/status.h and tracker/formats/version.h name one version");

__attribute__((constructor(101))) void TellTracker() { allomon::internal::AnnounceCInterface(); }

}  // namespace

const char* allomon_status_text(allomon_status status) { return TextOfStatus(status); }

int32_t allomon_version(void) { return ALLOMON_VERSION; }

const char* allomon_version_text(void) { return allomon::kVersion; }

allomon_status allomon_ready(void) {
  if (allomon::internal::HeapIsLinked()) return ALLOMON_OK;
  return allomon::internal::IsStandingAside() ? ALLOMON_STANDS_ASIDE : ALLOMON_NO_HEAP;
}

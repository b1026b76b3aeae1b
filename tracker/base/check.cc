#include "tracker/base/check.h"

#include <unistd.h>

#include <cstdlib>
#include <cstring>

#include "tracker/base/sys/raw_calls.h"

namespace allomon::internal {
namespace {

// One line of output.  It is built on the stack, so that one call writes it.
class Line {
 public:
  void Add(const char* text) {
    const size_t room = sizeof(text_) - size_;
    const size_t length = strlen(text);
    const size_t added = length < room ? length : room;
    memcpy(text_ + size_, text, added);
    size_ += added;
  }

  void AddNumber(uint64_t number, unsigned base) {
    char digits[24];
    char* first = digits + sizeof(digits) - 1;
    *first = '\0';
    do {
      *--first = "0123456789abcdef"[number % base];
      number /= base;
    } while (number != 0);
    Add(first);
  }

  void Write() const { sys::Write(STDERR_FILENO, text_, size_); }

 private:
  char text_[512];
  size_t size_ = 0;
};

void AddSite(const CheckSite& site, Line* line) {
  line->Add("allomon: ");
  line->Add(site.invariant);
  line->Add(" does not hold: ");
  line->Add(site.condition);
  line->Add(" at ");
  line->Add(site.file);
  line->Add(":");
  line->AddNumber(static_cast<uint64_t>(site.line), 10);
}

[[noreturn]] void WriteAndAbort(Line* line) {
  line->Add("\n");
  line->Write();
  abort();
}

}  // namespace

void FailCheck(const CheckSite& site) {
  Line line;
  AddSite(site, &line);
  WriteAndAbort(&line);
}

void FailCheckOfOperands(const CheckSite& site, uint64_t left, uint64_t right) {
  Line line;
  AddSite(site, &line);
  line.Add(": 0x");
  line.AddNumber(left, 16);
  line.Add(" and 0x");
  line.AddNumber(right, 16);
  WriteAndAbort(&line);
}

}  // namespace allomon::internal

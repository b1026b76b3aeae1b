#include "runtime/reference_ops.h"

#include <cstdio>

namespace allomon::gc::internal {

const char* NameOfWord(uintptr_t word) {
  if (IsReferenceWord(word)) return TypeOf(HeaderOf(reinterpret_cast<Object*>(word))).name;
  if (IsIntWord(word)) return "int";
  if (IsDoubleWord(word)) return "double";
  if (word == 0) return "null";
  return word < kFirstConstantWord ? "bool" : "constant";
}

void FailCast(uintptr_t word, const char* wanted) {
  char rule[256];
  snprintf(rule, sizeof rule, "rule.cast: %s is no %s; ask is...() before", NameOfWord(word),
           wanted);
  Fail(rule);
}

}  // namespace allomon::gc::internal

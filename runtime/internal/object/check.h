// Checks that stay in every build.  A failed check prints the broken rule, by its name in
// runtime/README.md, and aborts.
#ifndef ALLOMON_RUNTIME_INTERNAL_OBJECT_CHECK_H_
#define ALLOMON_RUNTIME_INTERNAL_OBJECT_CHECK_H_

namespace allomon::gc::internal {

[[noreturn]] __attribute__((cold, noinline)) void Fail(const char* rule);

}  // namespace allomon::gc::internal

#define ALLOMON_GC_CHECK(condition, rule)    \
  do {                                       \
    if (__builtin_expect(!(condition), 0)) { \
      ::allomon::gc::internal::Fail(rule);   \
    }                                        \
  } while (false)

#endif  // ALLOMON_RUNTIME_INTERNAL_OBJECT_CHECK_H_

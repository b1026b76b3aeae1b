// Replacements of the C library's dlopen and dlmopen, which remove RTLD_DEEPBIND.
//
// A module that is loaded with RTLD_DEEPBIND looks symbols up in the libraries that it names before
// it asks the program.  It would find the C library's free() there, and give it blocks that
// strdup() or the program took from our malloc.  Without the flag the module is bound like any
// other.
//
// The C library takes the namespace of the caller, its RUNPATH and its $ORIGIN from the return
// address.  So the functions are written in assembler: they jump to the C library's, which returns
// to the caller.  The C library's functions are found at the first call; nothing is locked here.
#include <dlfcn.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "allocator/host/host_stderr.h"
#include "allocator/host/loaded_python.h"
#include "allocator/host/malloc_owner.h"
#include "tracker/base/check.h"

// A static executable may lack dlsym(); such a program can load nothing.
extern "C" void* dlsym(void* handle, const char* name) noexcept __attribute__((weak));

#if defined(__x86_64__)

namespace {

std::atomic<bool> g_said{false};

void SayOnceWhereAsked(const char* file) {
  const char* const summary = secure_getenv("ALLOMON_SUMMARY");
  if (summary == nullptr || strcmp(summary, "1") != 0) return;
  if (g_said.exchange(true, std::memory_order_relaxed)) return;
  char line[4352];  // PATH_MAX and the words
  const int length = snprintf(line, sizeof(line),
                              "allomon: dlopen: RTLD_DEEPBIND is left out, here and from now on: "
                              "it would give our blocks to the C library's free (%.4096s)\n",
                              file == nullptr ? "the program" : file);
  ALLOMON_DCHECK_LT("inv.host.text", static_cast<size_t>(length), sizeof(line));
  allomon::internal::RememberStderr();
  allomon::internal::WriteToStderr(line, static_cast<size_t>(length));
}

// The function to jump to, in %rax, and the flags to pass to it, in %rdx.
struct Jump {
  void* function;
  long flags;
};

// nullptr in a static executable.
void* Next(std::atomic<void*>& known, const char* name) {
  void* next = known.load(std::memory_order_relaxed);
  if (next != nullptr || dlsym == nullptr) return next;
  next = dlsym(RTLD_NEXT, name);
  ALLOMON_DCHECK("inv.next.other", next != reinterpret_cast<void*>(&dlopen) &&
                                       next != reinterpret_cast<void*>(&dlmopen));
  known.store(next, std::memory_order_relaxed);
  return next;
}

long WithoutDeepbind(int flags, const char* file) {
  if ((flags & RTLD_DEEPBIND) == 0 || allomon::internal::StandsAside()) return flags;
  SayOnceWhereAsked(file);
  return flags & ~RTLD_DEEPBIND;
}

}  // namespace

extern "C" {

__attribute__((visibility("hidden"), used)) Jump AllomonPrepareDlopen(const char* file, int flags) {
  static std::atomic<void*> next;
  if (allomon::internal::LookForLoadedPython != nullptr) allomon::internal::LookForLoadedPython();
  return {Next(next, "dlopen"), WithoutDeepbind(flags, file)};
}

// Namespaces other than the program's have their own C library, whose malloc is not replaced.
__attribute__((visibility("hidden"), used)) Jump AllomonPrepareDlmopen(Lmid_t where,
                                                                       const char* file,
                                                                       int flags) {
  static std::atomic<void*> next;
  return {Next(next, "dlmopen"), where == LM_ID_BASE ? WithoutDeepbind(flags, file) : flags};
}

}  // extern "C"

asm(R"(
  .pushsection .text, "ax", @progbits
  .p2align 4
  .globl dlopen
  .type dlopen, @function
dlopen:
  .cfi_startproc
  endbr64
  pushq %rdi
  .cfi_adjust_cfa_offset 8
  call AllomonPrepareDlopen
  popq %rdi
  .cfi_adjust_cfa_offset -8
  movq %rdx, %rsi
  testq %rax, %rax
  jz 1f
  jmp *%rax
1:ret
  .cfi_endproc
  .size dlopen, .-dlopen

  .p2align 4
  .globl dlmopen
  .type dlmopen, @function
dlmopen:
  .cfi_startproc
  endbr64
  pushq %rdi
  .cfi_adjust_cfa_offset 8
  pushq %rsi
  .cfi_adjust_cfa_offset 8
  subq $8, %rsp
  .cfi_adjust_cfa_offset 8
  call AllomonPrepareDlmopen
  addq $8, %rsp
  .cfi_adjust_cfa_offset -8
  popq %rsi
  .cfi_adjust_cfa_offset -8
  popq %rdi
  .cfi_adjust_cfa_offset -8
  testq %rax, %rax
  jz 1f
  jmp *%rax
1:ret
  .cfi_endproc
  .size dlmopen, .-dlmopen
  .popsection
)");

#endif  // __x86_64__

// The functions that stand in front of the malloc that the executable itself defines, where the
// backend keeps the program's malloc (program_malloc.h).
//
// Each calls the executable's function of its name, with the arguments as they are, and looks at
// the result: a sampled block is an ordinary block of the executable's malloc, as any other.  What
// the executable calls itself does not come by.  So a block may be freed without us; its end is
// seen when its address is handed out again.
//
// Compiled with exceptions: the executable's operator new throws through these functions.
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/auxv.h>

#include <cstring>

#include "allocator/alloc_path.h"
#include "allocator/host/program_malloc.h"
#include "allocator/overrides/rebinding.h"
#include "allocator/overrides/symbol_table.h"
#include "tracker/base/errno_keeper.h"
#include "tracker/base/sys/raw_calls.h"

#ifdef ALLOMON_BACKEND_IS_THE_HOSTS
#include "followed_blocks.h"

namespace allomon::internal {
namespace {

using backend::EnterFollowed;
using backend::LeaveFollowed;
using backend::MayBeFollowed;
using backend::SetHandleOfFollowed;
using heap_client::Block;
using heap_client::BlockHandle;
using heap_client::Verdict;

// Any of the functions: up to three arguments, of which it takes as many as it has.
using Callee = uintptr_t(uintptr_t, uintptr_t, uintptr_t);

// Each function that allocates or frees, by its symbol and its kind.  In the expressions a, b and c
// are the arguments, and `block` is the result.
//   ALLOCATES(name, symbol, bytes of the block)
//   REALLOCATES(name, symbol, the old block, bytes of the new one)
//   FREES(name, symbol, the block)
#define ALLOMON_OF_PROGRAM(ALLOCATES, REALLOCATES, FREES)                    \
  ALLOCATES(Malloc, "malloc", a)                                             \
  ALLOCATES(Calloc, "calloc", a* b)                                          \
  REALLOCATES(Realloc, "realloc", a, b)                                      \
  REALLOCATES(ReallocArray, "reallocarray", a, b* c)                         \
  ALLOCATES(Memalign, "memalign", b)                                         \
  ALLOCATES(AlignedAlloc, "aligned_alloc", b)                                \
  ALLOCATES(Valloc, "valloc", a)                                             \
  ALLOCATES(Pvalloc, "pvalloc", a)                                           \
  ALLOCATES(Strdup, "strdup", LengthOf(block) + 1)                           \
  ALLOCATES(Strndup, "strndup", LengthOf(block) + 1)                         \
  FREES(Free, "free", a)                                                     \
  FREES(Cfree, "cfree", a)                                                   \
  ALLOCATES(New, "_Znwm", a)                                                 \
  ALLOCATES(NewNothrow, "_ZnwmRKSt9nothrow_t", a)                            \
  ALLOCATES(NewAligned, "_ZnwmSt11align_val_t", a)                           \
  ALLOCATES(NewAlignedNothrow, "_ZnwmSt11align_val_tRKSt9nothrow_t", a)      \
  ALLOCATES(NewArray, "_Znam", a)                                            \
  ALLOCATES(NewArrayNothrow, "_ZnamRKSt9nothrow_t", a)                       \
  ALLOCATES(NewArrayAligned, "_ZnamSt11align_val_t", a)                      \
  ALLOCATES(NewArrayAlignedNothrow, "_ZnamSt11align_val_tRKSt9nothrow_t", a) \
  FREES(Delete, "_ZdlPv", a)                                                 \
  FREES(DeleteSized, "_ZdlPvm", a)                                           \
  FREES(DeleteNothrow, "_ZdlPvRKSt9nothrow_t", a)                            \
  FREES(DeleteAligned, "_ZdlPvSt11align_val_t", a)                           \
  FREES(DeleteSizedAligned, "_ZdlPvmSt11align_val_t", a)                     \
  FREES(DeleteAlignedNothrow, "_ZdlPvSt11align_val_tRKSt9nothrow_t", a)      \
  FREES(DeleteArray, "_ZdaPv", a)                                            \
  FREES(DeleteArraySized, "_ZdaPvm", a)                                      \
  FREES(DeleteArrayNothrow, "_ZdaPvRKSt9nothrow_t", a)                       \
  FREES(DeleteArrayAligned, "_ZdaPvSt11align_val_t", a)                      \
  FREES(DeleteArraySizedAligned, "_ZdaPvmSt11align_val_t", a)                \
  FREES(DeleteArrayAlignedNothrow, "_ZdaPvSt11align_val_tRKSt9nothrow_t", a) \
  /* jemalloc's */                                                           \
  ALLOCATES(Mallocx, "mallocx", a)                                           \
  REALLOCATES(Rallocx, "rallocx", a, b)                                      \
  FREES(Dallocx, "dallocx", a)                                               \
  FREES(Sdallocx, "sdallocx", a)                                             \
  /* Mozilla's, whose operator new is moz_xmalloc */                         \
  ALLOCATES(MozMalloc, "moz_xmalloc", a)                                     \
  ALLOCATES(MozCalloc, "moz_xcalloc", a* b)                                  \
  REALLOCATES(MozRealloc, "moz_xrealloc", a, b)                              \
  ALLOCATES(MozMemalign, "moz_xmemalign", b)                                 \
  ALLOCATES(MozMemdup, "moz_xmemdup", b)                                     \
  ALLOCATES(MozStrdup, "moz_xstrdup", LengthOf(block) + 1)                   \
  ALLOCATES(MozStrndup, "moz_xstrndup", LengthOf(block) + 1)                 \
  ALLOCATES(MozArenaMalloc, "moz_arena_malloc", b)                           \
  ALLOCATES(MozArenaCalloc, "moz_arena_calloc", b* c)                        \
  REALLOCATES(MozArenaRealloc, "moz_arena_realloc", b, c)                    \
  ALLOCATES(MozArenaMemalign, "moz_arena_memalign", c)                       \
  FREES(MozArenaFree, "moz_arena_free", b)

enum FunctionOfProgram {
#define ALLOMON_ENUMERATOR(name, ...) k##name,
  ALLOMON_OF_PROGRAM(ALLOMON_ENUMERATOR, ALLOMON_ENUMERATOR, ALLOMON_ENUMERATOR)
#undef ALLOMON_ENUMERATOR
      kPosixMemalign,
  kFunctionsOfProgram
};

// The executable's.  Set before any of ours can be called.
void* g_own[kFunctionsOfProgram];

template <typename Signature>
__attribute__((always_inline)) inline Signature* OwnFunction(FunctionOfProgram function) {
  return reinterpret_cast<Signature*>(g_own[function]);
}

// Whether the thread is inside an executable's function: what that calls of other objects, and what
// these call of ours, is no allocation of its own.
__attribute__((ALLOMON_TLS_MODEL)) thread_local bool t_is_inside = false;

class Inside {
 public:
  Inside() : was_inside_(t_is_inside) { t_is_inside = true; }
  ~Inside() { t_is_inside = was_inside_; }
  Inside(const Inside&) = delete;
  Inside& operator=(const Inside&) = delete;

 private:
  const bool was_inside_;
};

// Also where the executable's function throws, or ends its thread.
__attribute__((always_inline)) inline uintptr_t CallOwn(FunctionOfProgram function, uintptr_t a,
                                                        uintptr_t b, uintptr_t c) {
  const Inside inside;
  return OwnFunction<Callee>(function)(a, b, c);
}

size_t LengthOf(uintptr_t text) { return strlen(reinterpret_cast<const char*>(text)); }

void EndFollowed(BlockHandle handle) {
  const ErrnoKeeper keeper;
  heap_client::OnFree(handle);
}

// The table has the block's address: nobody saw its last owner's free.
ALLOMON_MALLOC_SLOW void EndUnseenSlow(const void* block) {
  const ErrnoKeeper keeper;
  heap_client::OnUnseenFree(LeaveFollowed(block));
}

// A block in the table, which leaves it at the end of the scope unless it got a handle: a callback
// may end its thread.
class ScopedEntry {
 public:
  explicit ScopedEntry(const void* block) : block_(EnterFollowed(block) ? block : nullptr) {}
  ~ScopedEntry() {
    if (block_ != nullptr) LeaveFollowed(block_);
  }
  ScopedEntry(const ScopedEntry&) = delete;
  ScopedEntry& operator=(const ScopedEntry&) = delete;

  bool Exists() const { return block_ != nullptr; }
  void Keep(BlockHandle handle) {
    if (handle == 0) return;
    SetHandleOfFollowed(block_, handle);
    block_ = nullptr;
  }

 private:
  const void* block_;
};

// Called after the countdown went below zero.
ALLOMON_MALLOC_SLOW void JudgeSlow(const void* address, size_t size_bytes) {
  const ErrnoKeeper keeper;
  const FrameState& caller = ALLOMON_CALLER_FRAME();
  Block block = {};
  block.size_bytes = size_bytes;
  switch (heap_client::JudgeAllocationSlow(TrialWordsOf(size_bytes))) {
    case Verdict::kNotSampled:
      return;
    case Verdict::kCount:
      return heap_client::ReportCounted(block, caller);
    case Verdict::kFollow:
      break;
  }
  ScopedEntry entry(address);
  if (!entry.Exists()) return heap_client::ReportUnplaced(block, caller);
  block.address = address;
  entry.Keep(heap_client::ReportFollowed(block, caller));
}

__attribute__((always_inline)) inline void Born(uintptr_t address, size_t size_bytes,
                                                bool is_counted) {
  const void* const block = reinterpret_cast<const void*>(address);
  if (__builtin_expect(MayBeFollowed(block), 0)) EndUnseenSlow(block);
  if (!is_counted) return;
  if (__builtin_expect(heap_client::CountDown(TrialWordsOf(size_bytes)), 0)) {
    JudgeSlow(block, size_bytes);
  }
}

// The block is freed also where a callback ends the thread.
ALLOMON_MALLOC_SLOW uintptr_t FreeFollowedSlow(FunctionOfProgram function, uintptr_t address,
                                               uintptr_t a, uintptr_t b, uintptr_t c) {
  const BlockHandle handle = LeaveFollowed(reinterpret_cast<const void*>(address));
  const struct FreedAtEnd {
    ~FreedAtEnd() { CallOwn(function, a, b, c); }
    FunctionOfProgram function;
    uintptr_t a, b, c;
  } freed = {function, a, b, c};
  if (handle != 0) EndFollowed(handle);
  return 0;
}

// The old block leaves the table before its address can be another's.  If there is no memory it
// lives on, followed as before.
ALLOMON_MALLOC_SLOW uintptr_t ReallocateFollowedSlow(FunctionOfProgram function,
                                                     const void* old_block, size_t size_bytes,
                                                     uintptr_t a, uintptr_t b, uintptr_t c) {
  const BlockHandle handle = LeaveFollowed(old_block);
  const uintptr_t block = CallOwn(function, a, b, c);
  if (handle == 0) return block;
  const bool lives_on = block == 0 && size_bytes != 0;
  if (lives_on && EnterFollowed(old_block)) {
    SetHandleOfFollowed(old_block, handle);
  } else {
    EndFollowed(handle);
  }
  return block;
}

#define ALLOMON_ALLOCATES(name, symbol, size_bytes)                              \
  ALLOMON_MALLOC_SECTION uintptr_t name(uintptr_t a, uintptr_t b, uintptr_t c) { \
    const bool is_outermost = !t_is_inside;                                      \
    const uintptr_t block = CallOwn(k##name, a, b, c);                           \
    if (block != 0) Born(block, size_bytes, is_outermost);                       \
    return block;                                                                \
  }
#define ALLOMON_REALLOCATES(name, symbol, old_block, size_bytes)                 \
  ALLOMON_MALLOC_SECTION uintptr_t name(uintptr_t a, uintptr_t b, uintptr_t c) { \
    const bool is_outermost = !t_is_inside;                                      \
    const void* const old_address = reinterpret_cast<const void*>(old_block);    \
    const uintptr_t block =                                                      \
        __builtin_expect(MayBeFollowed(old_address), 0)                          \
            ? ReallocateFollowedSlow(k##name, old_address, size_bytes, a, b, c)  \
            : CallOwn(k##name, a, b, c);                                         \
    if (block != 0) Born(block, size_bytes, is_outermost);                       \
    return block;                                                                \
  }
#define ALLOMON_FREES(name, symbol, block)                                          \
  ALLOMON_MALLOC_SECTION uintptr_t name(uintptr_t a, uintptr_t b, uintptr_t c) {    \
    if (__builtin_expect(MayBeFollowed(reinterpret_cast<const void*>(block)), 0)) { \
      return FreeFollowedSlow(k##name, block, a, b, c);                             \
    }                                                                               \
    return OwnFunction<Callee>(k##name)(a, b, c);                                   \
  }
ALLOMON_OF_PROGRAM(ALLOMON_ALLOCATES, ALLOMON_REALLOCATES, ALLOMON_FREES)
#undef ALLOMON_ALLOCATES
#undef ALLOMON_REALLOCATES
#undef ALLOMON_FREES

ALLOMON_MALLOC_SECTION int PosixMemalign(void** out, size_t alignment_bytes, size_t size_bytes) {
  const bool is_outermost = !t_is_inside;
  const int error = static_cast<int>(
      CallOwn(kPosixMemalign, reinterpret_cast<uintptr_t>(out), alignment_bytes, size_bytes));
  if (error == 0 && *out != nullptr) {
    Born(reinterpret_cast<uintptr_t>(*out), size_bytes, is_outermost);
  }
  return error;
}

// The library's own blocks come from the executable's functions, too: the C library's malloc would
// share brk(2) with them, which the executable may take for its own, or forbid (seccomp).
void* AlignedOfProgram(size_t alignment_bytes, size_t size_bytes) {
  if (g_own[kMemalign] != nullptr) {
    return OwnFunction<void*(size_t, size_t)>(kMemalign)(alignment_bytes, size_bytes);
  }
  if (alignment_bytes < sizeof(void*)) alignment_bytes = sizeof(void*);
  void* block = nullptr;
  const auto function = OwnFunction<int(void**, size_t, size_t)>(kPosixMemalign);
  return function(&block, alignment_bytes, size_bytes) == 0 ? block : nullptr;
}
bool UseOwnFunctions() {
  return backend::UseFunctionsOfProgram(
      {OwnFunction<void*(size_t)>(kMalloc), OwnFunction<void(void*)>(kFree),
       OwnFunction<void*(size_t, size_t)>(kCalloc), OwnFunction<void*(void*, size_t)>(kRealloc),
       AlignedOfProgram});
}

struct Replaced {
  const char* symbol;
  uintptr_t by;
};

// In the order of FunctionOfProgram.
Replaced ReplacedAt(int function) {
  static const Replaced kReplaced[kFunctionsOfProgram] = {
#define ALLOMON_REPLACED(name, symbol, ...) {symbol, reinterpret_cast<uintptr_t>(&name)},
      ALLOMON_OF_PROGRAM(ALLOMON_REPLACED, ALLOMON_REPLACED, ALLOMON_REPLACED)
#undef ALLOMON_REPLACED
          {"posix_memalign", reinterpret_cast<uintptr_t>(&PosixMemalign)},
  };
  return kReplaced[function];
}

bool IsFunction(const ElfW(Sym) * symbol) {
  return symbol != nullptr && ELF64_ST_TYPE(symbol->st_info) == STT_FUNC;
}

// Why the process is not one that has just started with a single thread.  As proc(5) counts the
// fields of the file: the command, which may have any letter, is the second one, and the number of
// threads is the twentieth.
const char* ReasonAgainstThreads() {
  constexpr int kFieldsToPass = 18;
  const int file = sys::Open("/proc/self/stat", O_RDONLY | O_CLOEXEC);
  if (file < 0) return "/proc cannot be read";
  char text[1024];
  const ssize_t length = sys::Read(file, text, sizeof(text) - 1);
  sys::Close(file);
  if (length <= 0) return "/proc cannot be read";
  text[length] = '\0';
  const char* field = strrchr(text, ')');
  for (int i = 0; i < kFieldsToPass && field != nullptr; ++i) field = strchr(field + 1, ' ');
  const bool has_one = field != nullptr && strncmp(field, " 1 ", 3) == 0;
  return has_one ? nullptr : "there are threads already";
}

// Why the executable's malloc is left alone; nullptr if it need not be.
const char* ReasonAgainst(const link_map& program) {
  static constexpr const char* kSanitizers[] = {"__asan_init", "__tsan_init", "__msan_init",
                                                "__hwasan_init", "__lsan_init"};
  for (const char* const name : kSanitizers) {
    if (FindDefinition(program, name) != nullptr) return "a sanitizer is linked in";
  }
  for (const FunctionOfProgram function : {kMalloc, kFree, kCalloc, kRealloc}) {
    if (!IsFunction(FindDefinition(program, ReplacedAt(function).symbol))) {
      return "it does not have all of malloc, free, calloc and realloc";
    }
  }
  if (!IsFunction(FindDefinition(program, ReplacedAt(kMemalign).symbol)) &&
      !IsFunction(FindDefinition(program, ReplacedAt(kPosixMemalign).symbol))) {
    return "it has neither memalign nor posix_memalign";
  }
  if (DefinerInFront("__libc_start_main") != nullptr) return "this library was loaded late";
  return ReasonAgainstThreads();
}

// Our functions of these names lead to the next ones, which would be called without us.
Rebinding RebindingOf(int function, const link_map& program, const link_map& library) {
  const Replaced replaced = ReplacedAt(function);
  const ElfW(Sym)* const own = FindDefinition(program, replaced.symbol);
  if (IsFunction(own)) return {replaced.symbol, &program, own, replaced.by, false};
  const ElfW(Sym)* const ours = FindDefinition(library, replaced.symbol);
  if (own != nullptr || !IsFunction(ours)) return {};
  const auto next = reinterpret_cast<uintptr_t>(dlsym(RTLD_NEXT, replaced.symbol));
  return {replaced.symbol, &library, ours, next, true};
}

const char* SeeOrSayWhyNot(const link_map& program, const link_map& library) {
  if (const char* const reason = ReasonAgainst(program)) return reason;
  Rebinding rebindings[kFunctionsOfProgram];
  size_t count = 0;
  for (int i = 0; i < kFunctionsOfProgram; ++i) {
    const Rebinding rebinding = RebindingOf(i, program, library);
    if (rebinding.symbol == nullptr) continue;
    rebindings[count++] = rebinding;
    if (rebinding.is_hidden) continue;
    g_own[i] = reinterpret_cast<void*>(program.l_addr + rebinding.symbol->st_value);
  }
  if (!UseOwnFunctions()) return "this library has blocks already";
  return Rebind(rebindings, count);
}

}  // namespace

void SeeProgramMalloc() {
  const char* const owner = OwnerOfMalloc();
  const link_map* const library = ObjectOfLibrary();
  const bool is_programs = owner != nullptr && *owner == '\0' && library != nullptr;
  // A set-uid program is not profiled; a copy of ours that is linked in does it by itself.
  if (!is_programs || getauxval(AT_SECURE) != 0 || DefinerInFront("allomon_ready") == owner) return;
  const ErrnoKeeper keeper;
  why_program_malloc_is_unseen = SeeOrSayWhyNot(*_r_debug.r_map, *library);
  program_malloc_is_seen = why_program_malloc_is_unseen == nullptr;
}

}  // namespace allomon::internal
#endif  // ALLOMON_BACKEND_IS_THE_HOSTS

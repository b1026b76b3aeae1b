// The functions that stand in front of the malloc that the executable itself defines, where the
// backend keeps the program's malloc (program_malloc.h).
//
// Each calls the executable's function of its name, with the arguments as they are, and looks at
// the result: a sampled block is an ordinary block of the executable's malloc, as any other.  What
// the executable calls itself does not come by.  So a block may be freed without us; its end is
// seen when its address is handed out again.
//
// The functions that the library exports go on passing each call to the next definitions, which the
// executable may call (dlsym(RTLD_NEXT, "malloc")): they never reach the executable's.
//
// Compiled with exceptions: the executable's operator new throws through these functions.
#include <dlfcn.h>
#include <sys/auxv.h>

#include <cstring>

#include "allocator/alloc_path.h"
#include "allocator/host/next_function.h"
#include "allocator/host/program_malloc.h"
#include "allocator/overrides/rebinding.h"
#include "allocator/overrides/symbol_table.h"
#include "allocator/range/sampled_range.h"
#include "tracker/base/errno_keeper.h"
#include "tracker/base/own_threads.h"

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
  REALLOCATES(ReallocArray, "reallocarray", a, Product(b, c))                \
  ALLOCATES(Memalign, "memalign", b)                                         \
  ALLOCATES(AlignedAlloc, "aligned_alloc", b)                                \
  ALLOCATES(Valloc, "valloc", a)                                             \
  ALLOCATES(Pvalloc, "pvalloc", a)                                           \
  ALLOCATES(Strdup, "strdup", LengthOf(block) + 1)                           \
  ALLOCATES(Strndup, "strndup", LengthOf(block) + 1)                         \
  FREES(Free, "free", a)                                                     \
  FREES(Cfree, "cfree", a)                                                   \
  FREES(FreeSized, "free_sized", a)                                          \
  FREES(FreeAlignedSized, "free_aligned_sized", a)                           \
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

// The executable's, and their symbols before the change.  Set before any of ours can be called.
void* g_own[kFunctionsOfProgram];
ElfW(Sym) g_own_symbols[kFunctionsOfProgram];

template <typename Signature>
__attribute__((always_inline)) inline Signature* OwnFunction(FunctionOfProgram function) {
  return reinterpret_cast<Signature*>(g_own[function]);
}

// The blocks that this thread was given so far, and the last one.  An executable's function may
// call other objects, which call ours (operator new of the C++ runtime, by dlsym(RTLD_NEXT)): the
// block that both return is one allocation.  No scope marks the outer call, since a longjmp may end
// it.
__attribute__((ALLOMON_TLS_MODEL)) thread_local uint64_t t_births = 0;
__attribute__((ALLOMON_TLS_MODEL)) thread_local uintptr_t t_last_block = 0;

// SIZE_MAX, which no block has, if the product overflows.
size_t Product(size_t count, size_t size_bytes) {
  size_t total = 0;
  return __builtin_mul_overflow(count, size_bytes, &total) ? SIZE_MAX : total;
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
  // A callback of another thread, or a second free there, may have removed the block meanwhile.
  void Keep(BlockHandle handle) {
    if (handle == 0) return;
    if (!SetHandleOfFollowed(block_, handle)) EndFollowed(handle);
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

// `births_before` is t_births when the executable's function was called.
__attribute__((always_inline)) inline void Born(uintptr_t address, size_t size_bytes,
                                                uint64_t births_before) {
  if (__builtin_expect(t_births != births_before, 0) && t_last_block == address) return;
  ++t_births;
  t_last_block = address;
  const void* const block = reinterpret_cast<const void*>(address);
  if (__builtin_expect(MayBeFollowed(block), 0)) EndUnseenSlow(block);
  if (__builtin_expect(heap_client::CountDown(TrialWordsOf(size_bytes)), 0)) {
    JudgeSlow(block, size_bytes);
  }
}

// The block is freed also where a callback ends the thread.
ALLOMON_MALLOC_SLOW uintptr_t FreeFollowedSlow(FunctionOfProgram function, uintptr_t address,
                                               uintptr_t a, uintptr_t b, uintptr_t c) {
  const BlockHandle handle = LeaveFollowed(reinterpret_cast<const void*>(address));
  const struct FreedAtEnd {
    ~FreedAtEnd() { OwnFunction<Callee>(function)(a, b, c); }
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
  const uintptr_t block = OwnFunction<Callee>(function)(a, b, c);
  if (handle == 0) return block;
  const bool lives_on = block == 0 && size_bytes != 0;
  if (!lives_on || !EnterFollowed(old_block) || !SetHandleOfFollowed(old_block, handle)) {
    EndFollowed(handle);
  }
  return block;
}

#define ALLOMON_ALLOCATES(name, symbol, size_bytes)                              \
  ALLOMON_MALLOC_SECTION uintptr_t name(uintptr_t a, uintptr_t b, uintptr_t c) { \
    const uint64_t births = t_births;                                            \
    const uintptr_t block = OwnFunction<Callee>(k##name)(a, b, c);               \
    if (block != 0) Born(block, size_bytes, births);                             \
    return block;                                                                \
  }
#define ALLOMON_REALLOCATES(name, symbol, old_block, size_bytes)                 \
  ALLOMON_MALLOC_SECTION uintptr_t name(uintptr_t a, uintptr_t b, uintptr_t c) { \
    const uint64_t births = t_births;                                            \
    const void* const old_address = reinterpret_cast<const void*>(old_block);    \
    const uintptr_t block =                                                      \
        __builtin_expect(MayBeFollowed(old_address), 0)                          \
            ? ReallocateFollowedSlow(k##name, old_address, size_bytes, a, b, c)  \
            : OwnFunction<Callee>(k##name)(a, b, c);                             \
    if (block != 0) Born(block, size_bytes, births);                             \
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
  const uint64_t births = t_births;
  const auto function = OwnFunction<int(void**, size_t, size_t)>(kPosixMemalign);
  const int error = function(out, alignment_bytes, size_bytes);
  if (error == 0 && *out != nullptr) {
    Born(reinterpret_cast<uintptr_t>(*out), size_bytes, births);
  }
  return error;
}

// The exported functions call these while the countdown is above zero.  They have taken
// the words of a block that is not seen, and sampling must not notice.
void GiveBack(size_t size_bytes) { heap_client::CountDown(0 - TrialWordsOf(size_bytes)); }
void* PassMallocOn(size_t size_bytes) {
  GiveBack(size_bytes);
  return PassOn(Function::kMalloc, size_bytes);
}
void* PassNewOn(size_t size_bytes) {
  GiveBack(size_bytes);
  return PassOn(Function::kNew, size_bytes);
}
void* PassCallocOn(size_t count, size_t size_bytes) {
  GiveBack(count * size_bytes);
  return PassOn(Function::kCalloc, count, size_bytes);
}
void* PassMemalignOn(size_t alignment_bytes, size_t size_bytes) {
  GiveBack(size_bytes);
  return PassOn(Function::kMemalign, alignment_bytes, size_bytes);
}

void PassExportedFunctionsOn() {
  constexpr auto kRelaxed = std::memory_order_relaxed;
  backend::host_functions.malloc.store(PassMallocOn, kRelaxed);
  backend::host_functions.new_malloc.store(PassNewOn, kRelaxed);
  backend::host_functions.calloc.store(PassCallocOn, kRelaxed);
  backend::host_functions.memalign.store(PassMemalignOn, kRelaxed);
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
  int threads = 0;
  if (!VisitOwnThreads([&threads](pid_t) { ++threads; })) return "/proc cannot be read";
  return threads == 1 ? nullptr : "there are threads already";
}

bool IsDefinedBehind(const link_map& library, const char* name) {
  for (const link_map* object = library.l_next; object != nullptr; object = object->l_next) {
    if (FindDefinition(*object, name) != nullptr) return true;
  }
  return false;
}

// The look-up of a name that nobody defines allocates the text of an error.
void* NextOf(const link_map& library, const char* name) {
  return IsDefinedBehind(library, name) ? dlsym(RTLD_NEXT, name) : nullptr;
}

// Later, the executable's functions may be on the stack, which the look-up would call.
void FindNextFunctions(const link_map& library) {
  backend::FindHostFunctions();
  for (int i = 0; i < kFunctions; ++i) {
    const Function function = static_cast<Function>(i);
    if (IsDefinedBehind(library, NameOf(function))) FindNext(function);
  }
}

// Our functions of these names lead to the next ones, which would be called without us.
Rebinding RebindingOf(int function, const link_map& program, const link_map& library) {
  const Replaced replaced = ReplacedAt(function);
  const ElfW(Sym)* const own = FindDefinition(program, replaced.symbol);
  if (IsFunction(own)) return {replaced.symbol, &program, own, replaced.by, false};
  const ElfW(Sym)* const ours = FindDefinition(library, replaced.symbol);
  if (own != nullptr || !IsFunction(ours)) return {};
  const auto next = reinterpret_cast<uintptr_t>(NextOf(library, replaced.symbol));
  return {replaced.symbol, &library, ours, next, true};
}

const char* SeeOrSayWhyNot(const link_map& program, const link_map& library) {
  if (const char* const reason = ReasonAgainst(program)) return reason;
  FindNextFunctions(library);
  Rebinding rebindings[kFunctionsOfProgram];
  size_t count = 0;
  for (int i = 0; i < kFunctionsOfProgram; ++i) {
    const Rebinding rebinding = RebindingOf(i, program, library);
    if (rebinding.symbol == nullptr) continue;
    rebindings[count++] = rebinding;
    if (rebinding.is_hidden) continue;
    g_own[i] = reinterpret_cast<void*>(program.l_addr + rebinding.symbol->st_value);
    g_own_symbols[i] = *rebinding.symbol;
  }
  const char* const error = Rebind(rebindings, count);
  if (error == nullptr) PassExportedFunctionsOn();
  return error;
}

// A symbol of code that was written by hand may have no size.
bool IsIn(const void* address, const void* start, size_t size_bytes) {
  const uintptr_t offset =
      reinterpret_cast<uintptr_t>(address) - reinterpret_cast<uintptr_t>(start);
  return offset == 0 || offset < size_bytes;
}

}  // namespace

UnnamedFunction FindUnnamedFunction(const void* address) {
  if (!program_malloc_is_seen) return {};
  for (int i = 0; i < kFunctionsOfProgram; ++i) {
    if (g_own[i] == nullptr) continue;
    const Replaced replaced = ReplacedAt(i);
    if (IsIn(address, g_own[i], g_own_symbols[i].st_size)) {
      return {replaced.symbol, g_own[i], &g_own_symbols[i]};
    }
    if (reinterpret_cast<uintptr_t>(address) == replaced.by) {
      return {replaced.symbol, address, nullptr};
    }
  }
  return {};
}

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

void* AllocateOwn(size_t size_bytes, size_t alignment_bytes) {
  bool is_zero = false;
  HandleWord* word = nullptr;
  void* const block = TheSampledRange().Allocate(size_bytes, alignment_bytes, &is_zero, &word);
  return block != nullptr ? block : PassOn(Function::kMemalign, alignment_bytes, size_bytes);
}

bool FreeOwn(void* block) {
  if (!TheSampledRange().Contains(block)) return false;
  TheSampledRange().Release(block, TheSampledRange().Find(block));
  return true;
}

}  // namespace allomon::internal
#else

// A weak symbol without a definition would be looked up in the host.
namespace allomon::internal {
void SeeProgramMalloc() {}
}  // namespace allomon::internal
#endif  // ALLOMON_BACKEND_IS_THE_HOSTS

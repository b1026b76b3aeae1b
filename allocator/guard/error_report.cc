#include "allocator/guard/error_report.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>

#include "allocator/guard/code_place.h"
#include "allocator/guard/guarded_pool.h"
#include "allocator/guard/report_text.h"
#include "tracker/base/check.h"
#include "tracker/base/large_object.h"

namespace allomon::internal {
namespace {

std::atomic<bool> g_goes_on{false};
std::atomic<bool> g_fault_reported{false};
std::atomic<uint64_t> g_errors{0};

// Used only by the thread that has the turn.
struct Workplace {
  ReportText text;
  CodePlace place;
  char name[256];
  uintptr_t frames[BlockTrace::kMaxFrames];
};
ALLOMON_LARGE_ZEROS Workplace g_workplace = {};

const char* NameOf(MemoryError error) {
  switch (error) {
    case MemoryError::kUseAfterFree:
      return "heap-use-after-free";
    case MemoryError::kOverflow:
    case MemoryError::kOverwrite:
      return "heap-buffer-overflow";
    case MemoryError::kUnderflow:
    case MemoryError::kUnderwrite:
      return "heap-buffer-underflow";
    case MemoryError::kWildAccess:
      return "wild-access";
    case MemoryError::kDoubleFree:
      return "double-free";
    case MemoryError::kInvalidFree:
      return "invalid-free";
    case MemoryError::kMismatchedFree:
      return "mismatched-free";
    case MemoryError::kWrongSize:
      return "wrong-size-delete";
  }
  return "memory-error";
}

const char* TakenBy(EntryPoint entry) {
  return entry == EntryPoint::kMalloc ? "malloc"
         : entry == EntryPoint::kNew  ? "operator new"
                                      : "operator new[]";
}

const char* FreedBy(EntryPoint entry) {
  return entry == EntryPoint::kMalloc ? "free"
         : entry == EntryPoint::kNew  ? "operator delete"
                                      : "operator delete[]";
}

const char* VerbOf(AccessKind access) {
  return access == AccessKind::kWrite  ? "write to "
         : access == AccessKind::kRead ? "read of "
                                       : "access to ";
}

std::string_view Bytes(uint64_t number) { return number == 1 ? " byte" : " bytes"; }

// Writes for example "byte 70 of a block of 64 bytes", counted from 0.
void SayWhere(ReportText& text, const ErrorFacts& facts) {
  if (facts.slot == nullptr) {
    text << " where there was no block";
    return;
  }
  const GuardedSlot& slot = *facts.slot;
  if (facts.address < slot.block) {
    const uint64_t before = slot.block - facts.address;
    text << ", " << before << Bytes(before) << " before a block";
  } else {
    text << ", byte " << uint64_t{facts.address - slot.block} << " of a block";
  }
  text << " of " << uint64_t{slot.size_bytes} << Bytes(slot.size_bytes);
}

void SayWhatFreeFound(ReportText& text, const ErrorFacts& facts) {
  const GuardedSlot* slot = facts.slot;
  switch (facts.error) {
    case MemoryError::kMismatchedFree:
      text << FreedBy(facts.entry) << " of a block from " << TakenBy(slot->allocated.entry());
      break;
    case MemoryError::kWrongSize:
      text << FreedBy(facts.entry) << " of " << uint64_t{facts.claimed_bytes}
           << Bytes(facts.claimed_bytes);
      break;
    case MemoryError::kOverwrite:
    case MemoryError::kUnderwrite:
      text << "found at " << FreedBy(facts.entry) << ": overwritten with ";
      text.Hex(*reinterpret_cast<const unsigned char*>(facts.address));
      break;
    default:
      text << FreedBy(facts.entry);
  }
  text << " at ";
  text.Hex(facts.address);
  SayWhere(text, facts);
}

void SayFrame(Workplace& work, size_t number, uintptr_t pc) {
  FindCodePlace(pc, &work.place);
  const CodePlace& place = work.place;
  const size_t length = ShortName(place.symbol, work.name, sizeof(work.name));
  work.text << "    #" << uint64_t{number} << " ";
  work.text.Foreign({work.name, length});
  work.text << (length > 0 ? "  " : "");
  work.text.Foreign(place.module);
  work.text << (place.module[0] != '\0' ? "+" : "");
  work.text.Hex(place.offset) << "\n";
}

// `first_is_exact` says that the innermost frame is the address of the instruction itself.  Every
// other frame is the return address of a call.
void SayFrames(Workplace& work, const uintptr_t* frames, size_t depth, bool first_is_exact) {
  ALLOMON_DCHECK_LE("inv.host.frames", depth, BlockTrace::kMaxFrames);
  for (size_t i = 0; i < depth; ++i) {
    SayFrame(work, i, i == 0 && first_is_exact ? frames[i] : frames[i] - 1);
  }
}

// `name` names an entry point.  The frames are read after the depth, which guarantees that the
// trace is complete.
void SayTrace(Workplace& work, const char* what, const char* (*name)(EntryPoint),
              const BlockTrace& trace) {
  const size_t depth = trace.depth();
  if (depth == 0) return;
  work.text << "  " << what << " by " << name(trace.entry()) << " in thread "
            << static_cast<uint64_t>(trace.thread_id()) << "\n";
  SayFrames(work, trace.frames(), depth, false);
}

void SayBlock(Workplace& work, const GuardedSlot& slot) {
  SayTrace(work, "allocated", TakenBy, slot.allocated);
  SayTrace(work, "freed", FreedBy, slot.freed);
  if (slot.note.length_bytes == 0) return;
  work.text << "  note: ";
  work.text.Foreign(slot.note.view());
  work.text << "\n";
}

void SayThread(ReportText& text) {
  text << ", by thread " << static_cast<uint64_t>(syscall(SYS_gettid)) << "\n";
}

void SayAll(Workplace& work, const ErrorFacts& facts, const FrameState& here, bool exact) {
  SayThread(work.text);
  // Writes the line now: the rest needs system calls, for which a host's seccomp filter may kill
  // the process.
  work.text.Flush();
  const size_t depth = heap_client::CaptureFrames(here, work.frames, BlockTrace::kMaxFrames);
  SayFrames(work, work.frames, depth, exact);
  if (facts.slot != nullptr) SayBlock(work, *facts.slot);
  work.text.Flush();
  g_errors.fetch_add(1, std::memory_order_relaxed);
}

void Begin(ReportText& text, MemoryError error) { text << "allomon: " << NameOf(error) << ": "; }

MemoryError Classify(const GuardedSlot* slot, uintptr_t address) {
  if (slot == nullptr) return MemoryError::kWildAccess;
  // A page becomes inaccessible just before its slot becomes kFreed.
  const GuardedSlot::State state = slot->Load();
  if (state == GuardedSlot::State::kFreed || state == GuardedSlot::State::kEnding) {
    return MemoryError::kUseAfterFree;
  }
  return address < slot->block ? MemoryError::kUnderflow : MemoryError::kOverflow;
}

}  // namespace

void GoOnAfterErrors(bool goes_on) { g_goes_on.store(goes_on, std::memory_order_relaxed); }

void ReportAtFree(const ErrorFacts& facts, const FrameState& caller) {
  {
    const ReportTurn turn;
    if (turn.mine()) {
      Begin(g_workplace.text, facts.error);
      SayWhatFreeFound(g_workplace.text, facts);
      SayAll(g_workplace, facts, caller, false);
    }
  }
  if (!g_goes_on.load(std::memory_order_relaxed)) abort();
}

void ReportFault(uintptr_t address, AccessKind access, const FrameState& at) {
  const ReportTurn turn;
  if (!turn.mine() || g_fault_reported.exchange(true)) return;
  const GuardedSlot* slot = TheGuardedPool().SlotAt(address);
  const ErrorFacts facts = {Classify(slot, address), slot, address};
  ReportText& text = g_workplace.text;
  Begin(text, facts.error);
  text << VerbOf(access);
  text.Hex(address);
  SayWhere(text, facts);
  SayAll(g_workplace, facts, at, true);
}

uint64_t ReportedErrors() { return g_errors.load(std::memory_order_relaxed); }

}  // namespace allomon::internal

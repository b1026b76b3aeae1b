#include "runtime/internal/space/young_slice.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <new>

#include "runtime/internal/object/check.h"
#include "runtime/internal/space/memory.h"
#include "tracker/base/check.h"

namespace allomon::gc::internal {
namespace {

// The header of a filler is its number of words, itself included, with this bit, which no address
// has.
constexpr uintptr_t kFillerBit = uintptr_t{1} << 63;

Word& WordAt(uintptr_t address) { return *reinterpret_cast<Word*>(address); }
bool IsFiller(uintptr_t header) { return (header & kFillerBit) != 0; }

// Returns the size of the object or filler whose header is at `address`.
size_t BytesAt(uintptr_t address) {
  const uintptr_t header = WordAt(address);
  if (IsFiller(header)) return (header & ~kFillerBit) * kWordBytes;
  Object* const object = reinterpret_cast<Object*>(address + kWordBytes);
  return (SizeWords(TypeOf(header), object) + 1) * kWordBytes;
}

}  // namespace

YoungSlice::YoungSlice(uintptr_t start, size_t size_bytes)
    : start_(start),
      size_bytes_(size_bytes),
      n_runs_(size_bytes / kRunBytes),
      n_run_words_((n_runs_ + kBitsPerWord - 1) / kBitsPerWord) {
  const size_t bit_words = n_runs_ * kBitWordsPerRun;
  starts_ = reinterpret_cast<Bits*>(this + 1);
  stays_ = starts_ + bit_words;
  old_ = stays_ + bit_words;
  marks_ = old_ + bit_words;
  starts_known_ = marks_ + bit_words;
  has_stays_ = starts_known_ + n_run_words_;
  first_numbers_ = reinterpret_cast<uint32_t*>(has_stays_ + n_run_words_);
  first_headers_ = reinterpret_cast<uint16_t*>(first_numbers_ + n_runs_);
}

// The memory of the bitmaps becomes resident when it is touched.
size_t YoungSlice::OwnBytes(size_t size_bytes) {
  const size_t runs = size_bytes / kRunBytes;
  const size_t run_words = (runs + kBitsPerWord - 1) / kBitsPerWord;
  return sizeof(YoungSlice) + (runs * 4 * kBitWordsPerRun + 2 * run_words) * sizeof(Bits) +
         runs * (sizeof(uint32_t) + sizeof(uint16_t));
}

YoungSlice* YoungSlice::Map(size_t size_bytes) {
  char* const start = TakeYoungSlice(size_bytes);
  if (start == nullptr) return nullptr;
  void* const own = ReserveMemory(OwnBytes(size_bytes));
  if (own == nullptr) {
    ReturnYoungSlice(start, size_bytes);
    return nullptr;
  }
  YoungSlice* const slice = new (own) YoungSlice(reinterpret_cast<uintptr_t>(start), size_bytes);
  slice->Rebuild([](YoungSlice&, Object*) { return true; });
  return slice;
}

void YoungSlice::Unmap(YoungSlice* slice, bool rests) {
  ReturnYoungSlice(reinterpret_cast<char*>(slice->start_), slice->size_bytes_, rests);
  ReleaseMemory(slice, OwnBytes(slice->size_bytes_));
}

YoungSlice::Hole YoungSlice::NextHole(uintptr_t from, size_t bytes) const {
  if (rests_) return {0, 0};
  const size_t least = bytes > kLeastHoleBytes ? bytes : kLeastHoleBytes;
  for (uintptr_t at = from; at < end(); at += BytesAt(at)) {
    if (IsFiller(WordAt(at)) && BytesAt(at) >= least) return {at, at + BytesAt(at)};
  }
  return {0, 0};
}

void YoungSlice::Fill(uintptr_t from, uintptr_t to) {
  if (from == to) return;
  ALLOMON_DCHECK_LT("inv.young.hole", from, to);
  ALLOMON_GC_UNPOISON(reinterpret_cast<void*>(from), kWordBytes);
  WordAt(from) = (to - from) / kWordBytes | kFillerBit;
}

// Sets the bits of all headers in the run.
void YoungSlice::FindStarts(size_t run) {
  SetRun(starts_known_, run);
  if (first_headers_[run] == kNone) return;
  const uintptr_t run_start = start_ + run * kRunBytes;
  uintptr_t at = run_start + first_headers_[run] * kWordBytes;
  for (; at < run_start + kRunBytes; at += BytesAt(at)) {
    Object* const object = reinterpret_cast<Object*>(at + kWordBytes);
    if (!IsFiller(WordAt(at))) Set(starts_, object);
    ALLOMON_DCHECK_NE("inv.young.walk", WordAt(at) & ~kFillerBit, uintptr_t{0});
  }
}

// Returns the last object whose header is one of the first `most` + 1 words of the run.
Object* YoungSlice::LastStart(size_t run, size_t most) const {
  const Bits* const bits = starts_ + run * kBitWordsPerRun;
  size_t i = most / kBitsPerWord;
  Bits left = bits[i] & (~Bits{0} >> (kBitsPerWord - 1 - most % kBitsPerWord));
  while (left == 0) {
    if (i == 0) return nullptr;
    left = bits[--i];
  }
  const size_t word =
      i * kBitsPerWord + (kBitsPerWord - 1 - static_cast<size_t>(__builtin_clzll(left)));
  return reinterpret_cast<Object*>(start_ + run * kRunBytes + (word + 1) * kWordBytes);
}

Object* YoungSlice::ObjectAt(uintptr_t word) {
  const uintptr_t byte = word - 1;
  size_t run = RunOf(byte);
  size_t most = PlaceInRun(byte);
  // The largest object covers at most a run and a word.
  static_assert(kMaxYoungBytes <= kRunBytes);
  for (int back = 0; back <= 2; ++back) {
    if (!TestRun(starts_known_, run)) FindStarts(run);
    if (Object* const object = LastStart(run, most); object != nullptr) {
      const uintptr_t header = HeaderAddress(object);
      return byte < header + BytesAt(header) ? object : nullptr;
    }
    if (run == 0) return nullptr;
    --run;
    most = kRunWords - 1;
  }
  return nullptr;
}

void YoungSlice::Pin(Object* object) {
  uintptr_t& header = HeaderOf(object);
  if ((header & kStaysBit) != 0) return;
  header |= Stays(object) ? kStaysBit | kTenuredBit : kStaysBit;
  Set(stays_, object);
  SetRun(has_stays_, RunOf(HeaderAddress(object)));
}

// A header that is not the first of its run is found by a walk from the first.
void YoungSlice::NoteHeader(uintptr_t address) {
  uint16_t& first = first_headers_[RunOf(address)];
  if (first == kNone) first = PlaceInRun(address);
}

void YoungSlice::AddHole(uintptr_t from, uintptr_t to) {
  if (from == to) return;
  ALLOMON_DCHECK("inv.young.hole", start_ <= from && from < to && to <= end());
  ALLOMON_GC_POISON(reinterpret_cast<void*>(from), to - from);
  Fill(from, to);
  NoteHeader(from);
  if (to - from >= kLeastHoleBytes) hole_bytes_ += to - from;
  if (to - from >= kMaxYoungBytes + kWordBytes) wide_bytes_ += to - from;
}

void YoungSlice::ForgetStarts() {
  ForEachRun(starts_known_, [this](size_t run) {
    if (run >= n_runs_) return;  // Rest() sets the bits of no run, too
    memset(starts_ + run * kBitWordsPerRun, 0, kBitWordsPerRun * sizeof(Bits));
  });
  memset(starts_known_, 0, n_run_words_ * sizeof(Bits));
}

void YoungSlice::BeginRebuild() {
  stays_bytes_ = old_bytes_ = hole_bytes_ = wide_bytes_ = 0;
  rebuilt_ = start_;
  ForgetStarts();
  static_assert(kNone == 0xffff);
  memset(first_headers_, 0xff, n_runs_ * sizeof(first_headers_[0]));
}

void YoungSlice::KeepInRebuild(Object* object) {
  const uintptr_t header = HeaderAddress(object);
  AddHole(rebuilt_, header);
  NoteHeader(header);
  const size_t bytes = BytesAt(header);
  ALLOMON_DCHECK_LE("inv.young.hole", header + bytes, end());
  stays_bytes_ += bytes;
  if (IsOld(object)) old_bytes_ += bytes;
  ALLOMON_DCHECK_LE("inv.young.hole", old_bytes_, stays_bytes_);
  rebuilt_ = header + bytes;
}

void YoungSlice::EndRebuild() {
  AddHole(rebuilt_, end());
  ForEachRun(has_stays_, [this](size_t run) {
    Bits any = 0;
    for (size_t i = 0; i < kBitWordsPerRun; ++i) any |= stays_[run * kBitWordsPerRun + i];
    if (any == 0) has_stays_[run / kBitsPerWord] &= ~(Bits{1} << run % kBitsPerWord);
  });
}

// The memory between the objects that stay must not be read, so their starts are recorded here.
void YoungSlice::Rest() {
  rests_ = true;
  memset(starts_known_, 0xff, n_run_words_ * sizeof(Bits));
  ForEachStay([this](Object* object) { Set(starts_, object); });
  const size_t page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  uintptr_t unused = start_;  // no page from here up to the next object is used
  const auto protect = [](uintptr_t from, uintptr_t to) {
    if (from < to) mprotect(reinterpret_cast<void*>(from), to - from, PROT_NONE);
  };
  ForEachStay([&](Object* object) {
    const uintptr_t header = HeaderAddress(object);
    protect(unused, header / page * page);
    unused = (header + BytesAt(header) + page - 1) / page * page;
  });
  protect(unused, end());
}

void YoungSlice::Wake() {
  rests_ = false;
  ForgetStarts();
  mprotect(reinterpret_cast<void*>(start_), size_bytes_, PROT_READ | PROT_WRITE);
}

void YoungSlice::ClearMarks() {
  ForEachRun(has_stays_, [this](size_t run) {
    memset(marks_ + run * kBitWordsPerRun, 0, kBitWordsPerRun * sizeof(Bits));
  });
}

bool YoungSlice::SetMarked(const Object* object) {
  if (IsMarked(object)) return false;
  Set(marks_, object);
  return true;
}

bool YoungSlice::SetMarkedShared(const Object* object) {
  const size_t bit = BitOf(object);
  const Bits mask = Bits{1} << bit % kBitsPerWord;
  Bits& of_word = marks_[bit / kBitsPerWord];
  return (__atomic_fetch_or(&of_word, mask, __ATOMIC_RELAXED) & mask) == 0;
}

uint32_t YoungSlice::NumberMarked(uint32_t first) {
  for (size_t run = 0; run < n_runs_; ++run) {
    first_numbers_[run] = first;
    if (!TestRun(has_stays_, run)) continue;
    for (size_t i = 0; i < kBitWordsPerRun; ++i) {
      first += static_cast<uint32_t>(__builtin_popcountll(marks_[run * kBitWordsPerRun + i]));
    }
  }
  return first;
}

uint32_t YoungSlice::NumberOf(const Object* object) const {
  const size_t bit = BitOf(object);
  const size_t run = bit / kRunWords;
  uint32_t number = first_numbers_[run];
  for (size_t i = run * kBitWordsPerRun; i < bit / kBitsPerWord; ++i) {
    number += static_cast<uint32_t>(__builtin_popcountll(marks_[i]));
  }
  const Bits below = marks_[bit / kBitsPerWord] & ((Bits{1} << bit % kBitsPerWord) - 1);
  return number + static_cast<uint32_t>(__builtin_popcountll(below));
}

}  // namespace allomon::gc::internal

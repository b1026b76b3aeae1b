// A piece of the young range: runs of objects, and holes between the objects that stay.
//
// A minor collection moves a young object, unless a word of a native stack may refer to it: then
// the object stays where it is, and the holes between such objects are the nursery of the next
// cycle (README, section 4).  So the collector asks a slice which object holds a byte, and a slice
// can be walked from header to header: fillers cover the memory between objects.
//
// inv.young.walk: while the world is stopped, each word of a slice belongs to an object or a
// filler, and these cover the slice without gaps.
//
// A slice is used by the mutator that allocates in it, and by the collector while the world is
// stopped.
#ifndef ALLOMON_RUNTIME_INTERNAL_SPACE_YOUNG_SLICE_H_
#define ALLOMON_RUNTIME_INTERNAL_SPACE_YOUNG_SLICE_H_

#include <cstdint>

#include "runtime/internal/object/object.h"
#include "runtime/internal/space/young_range.h"

namespace allomon::gc::internal {

// The mutator takes its slow path when it leaves a run, and notes the first header of the next run.
// A search for an object therefore begins at most a run and two objects before it.
inline constexpr size_t kRunBytes = size_t{8} << 10;
inline constexpr size_t kRunWords = kRunBytes / kWordBytes;

// A smaller hole stays unused until a neighbour is gone.
inline constexpr size_t kLeastHoleBytes = 256;

class YoungSlice {
 public:
  // Maps a slice of `size_bytes`, a multiple of kSliceBytes, as one hole.  nullptr without memory
  // or addresses.
  static YoungSlice* Map(size_t size_bytes);
  // `rests`: the addresses stay free for as long as possible.
  static void Unmap(YoungSlice* slice, bool rests = false);

  uintptr_t start() const { return start_; }
  uintptr_t end() const { return start_ + size_bytes_; }
  size_t size_bytes() const { return size_bytes_; }
  bool Contains(uintptr_t address) const { return address - start_ < size_bytes_; }

  // --- Allocation.

  struct Hole {
    uintptr_t start;  // 0: no hole
    uintptr_t end;
  };
  // Returns the first hole of at least `bytes` and kLeastHoleBytes at or after `from`, which is the
  // slice's start or the end of an earlier hole.
  Hole NextHole(uintptr_t from, size_t bytes) const;
  // Notes that the first header of its run is at `address`, or that the slice ends there.
  void NoteFirstHeader(uintptr_t address) {
    if (address < end()) first_headers_[RunOf(address)] = PlaceInRun(address);
  }
  // Covers the memory in [from, to), which holds no object, with a filler.
  static void Fill(uintptr_t from, uintptr_t to);

  // --- Collection.

  // Called before the words of stacks are looked up: recorded starts do not include objects made
  // since.
  void BeginSearch() {
    if (!rests_) ForgetStarts();
  }
  // Returns the object, header included, that holds the byte before `word`; nullptr if no object
  // does.  So the address just past an object belongs to that object, and an object's own address
  // belongs to it, not to its neighbour.  Cost: a search among 16 words, and for the first time in
  // a run a walk over it.
  Object* ObjectAt(uintptr_t word);

  // Keeps the object in place in this collection (header bit kStaysBit).  If it also stayed in the
  // last one, it gets tenure: it is old in its place.
  void Pin(Object* object);

  // Calls visit(Object*) for the objects that stay, or have stayed, by ascending address.
  template <typename Visit>
  void ForEachStay(Visit visit) const {
    ForEachBit(stays_, visit);
  }
  bool Stays(const Object* object) const { return Test(stays_, object); }
  // Whether statistics count the object as old: it has, or has had, tenure.  For keep().
  bool IsOld(const Object* object) const { return Test(old_, object); }
  void SetOld(const Object* object) { Set(old_, object); }

  // Pins the object that a word of a stack may refer to.
  void PinAt(uintptr_t word) {
    Object* const object = IsStay(word) ? reinterpret_cast<Object*>(word) : ObjectAt(word);
    if (object != nullptr) Pin(object);
  }

  // Makes holes of all objects except those among ForEachStay() for which keep(slice, object) is
  // true.
  template <typename Keep>
  void Rebuild(Keep keep) {
    BeginRebuild();
    ForEachBit(stays_, [&](Object* object) {
      if (keep(*this, object)) {
        KeepInRebuild(object);
      } else {
        Clear(stays_, object);
        Clear(old_, object);
        Clear(marks_, object);
      }
    });
    EndRebuild();
  }
  // After Rebuild(): bytes of the objects that stay (headers included), of the old ones among them,
  // and of usable holes.
  size_t stays_bytes() const { return stays_bytes_; }
  size_t old_bytes() const { return old_bytes_; }
  size_t hole_bytes() const { return rests_ ? 0 : hole_bytes_; }
  // Bytes of holes that fit the largest object.
  size_t wide_bytes() const { return rests_ ? 0 : wide_bytes_; }

  // Stress mode: a resting slice has no hole, and is accessible only where an object stays.
  void Rest();
  void Wake();
  bool rests() const { return rests_; }

  // Marks of a major collection.
  void ClearMarks();
  bool IsMarked(const Object* object) const { return Test(marks_, object); }
  bool SetMarked(const Object* object);
  // The same while several threads mark (Chunk::SetMarkedShared).
  bool SetMarkedShared(const Object* object);
  template <typename Visit>
  void ForEachMarked(Visit visit) const {
    ForEachBit(marks_, visit);
  }
  // Numbers the marked objects from `first` on.  Returns the next free number.
  uint32_t NumberMarked(uint32_t first);
  uint32_t NumberOf(const Object* object) const;

  YoungSlice* next = nullptr;  // next slice of the mutator, or of those left by detached threads

 private:
  using Bits = uint64_t;
  static constexpr size_t kBitsPerWord = 64;
  static constexpr size_t kBitWordsPerRun = kRunWords / kBitsPerWord;
  static constexpr uint16_t kNone = 0xffff;

  YoungSlice(uintptr_t start, size_t size_bytes);
  static size_t OwnBytes(size_t size_bytes);

  size_t RunOf(uintptr_t address) const { return (address - start_) / kRunBytes; }
  static uint16_t PlaceInRun(uintptr_t address) {
    return static_cast<uint16_t>(address % kRunBytes / kWordBytes);
  }
  uintptr_t HeaderAddress(const Object* object) const {
    return reinterpret_cast<uintptr_t>(object) - kWordBytes;
  }
  size_t BitOf(const Object* object) const { return (HeaderAddress(object) - start_) / kWordBytes; }
  bool Test(const Bits* bits, const Object* object) const {
    const size_t bit = BitOf(object);
    return (bits[bit / kBitsPerWord] >> bit % kBitsPerWord & 1) != 0;
  }
  void Set(Bits* bits, const Object* object) const {
    const size_t bit = BitOf(object);
    bits[bit / kBitsPerWord] |= Bits{1} << bit % kBitsPerWord;
  }
  void Clear(Bits* bits, const Object* object) const {
    const size_t bit = BitOf(object);
    bits[bit / kBitsPerWord] &= ~(Bits{1} << bit % kBitsPerWord);
  }
  // Calls visit(i) for the bits that are set in words [begin, end), which may be cleared meanwhile.
  template <typename Visit>
  static void ForEachSet(const Bits* bits, size_t begin, size_t end, Visit visit) {
    for (size_t i = begin; i < end; ++i) {
      for (Bits left = bits[i]; left != 0; left &= left - 1) {
        visit(i * kBitsPerWord + static_cast<size_t>(__builtin_ctzll(left)));
      }
    }
  }
  template <typename Visit>
  void ForEachRun(const Bits* runs, Visit visit) const {
    ForEachSet(runs, 0, n_run_words_, visit);
  }
  bool TestRun(const Bits* runs, size_t run) const {
    return (runs[run / kBitsPerWord] >> run % kBitsPerWord & 1) != 0;
  }
  static void SetRun(Bits* runs, size_t run) {
    runs[run / kBitsPerWord] |= Bits{1} << run % kBitsPerWord;
  }
  // Only runs with objects that stay have bits in stays_, old_ and marks_.
  template <typename Visit>
  void ForEachBit(const Bits* bits, Visit visit) const {
    ForEachRun(has_stays_, [&](size_t run) {
      ForEachSet(bits, run * kBitWordsPerRun, (run + 1) * kBitWordsPerRun, [&](size_t bit) {
        visit(reinterpret_cast<Object*>(start_ + (bit + 1) * kWordBytes));
      });
    });
  }

  // Whether the word is the address of an object that has stayed, as most words of deep stacks are.
  bool IsStay(uintptr_t word) const {
    return word % kWordBytes == 0 && Contains(word - kWordBytes) &&
           Stays(reinterpret_cast<Object*>(word));
  }
  void FindStarts(size_t run);
  void ForgetStarts();
  Object* LastStart(size_t run, size_t most) const;
  void NoteHeader(uintptr_t address);
  void BeginRebuild();
  void KeepInRebuild(Object* object);
  void EndRebuild();
  void AddHole(uintptr_t from, uintptr_t to);

  const uintptr_t start_;
  const size_t size_bytes_;
  const size_t n_runs_;
  const size_t n_run_words_;  // words with a bit for each run
  size_t stays_bytes_ = 0;
  size_t old_bytes_ = 0;
  size_t hole_bytes_ = 0;
  size_t wide_bytes_ = 0;
  uintptr_t rebuilt_ = 0;  // Rebuild() has come so far
  bool rests_ = false;

  // The following lie after this object, in its memory.
  Bits* starts_;  // bits of the headers, in the runs where they are known
  Bits* stays_;
  Bits* old_;
  Bits* marks_;
  uint32_t* first_numbers_;  // a run's, by NumberMarked()
  uint16_t* first_headers_;  // per run, in words; kNone: an object or a filler covers the whole run
  Bits* starts_known_;       // a bit per run
  Bits* has_stays_;          // a bit per run
};

}  // namespace allomon::gc::internal

#endif  // ALLOMON_RUNTIME_INTERNAL_SPACE_YOUNG_SLICE_H_

// Labels tell which tenant, request or phase of a program owns memory.  A label is a key and a
// value that are in force while a scope is open.  Sampled blocks keep the labels that were in force
// at their allocation for as long as they live.  Recordings, reports, pictures and trackers show
// them.  Works in C11 and in C++17, linked or preloaded (in_process.h).
//
//   allomon_label_scope scope;
//   allomon_label_push(&scope, "tenant", name);
//   ...
//   allomon_label_pop(&scope);
//
//   allomon::ScopedLabel tenant("tenant", name);
//
// Scopes nest: a block has the labels of all scopes that are open on its thread.  Of two scopes
// with one key the inner one counts.  The order in which labels were pushed does not matter.
//
// A scope is a list element on the caller's stack.  Its key and value are not copied at the push:
// they must stay unchanged until the pop, and are read when a block is sampled.  Pop a scope on the
// thread that pushed it, the innermost first.  Other orders are counted
// (allomon_labels_statistics).  A pop of an outer scope ends it with all scopes inside of it, which
// a program needs that leaves scopes by longjmp.  A pop of a scope that has ended, or that another
// thread pushed, has no effect.
//
// Work that continues on another thread must take its labels along explicitly:
// allomon_labels_current() returns a number for the labels in force, and allomon_labels_enter()
// opens a scope with exactly these labels.  Tasks of a pool do so, and coroutines.  A coroutine
// that may be resumed on another thread, or interleaved with another one, must hold no scope across
// a suspension: it keeps the number, and opens a scope after each suspension.
//
// Limits: a key has 64 bytes and a value 256; longer ones are cut, with an ellipsis.  A block has
// at most 12 labels, the innermost ones.  A process has at most 65,536 different sets.  After that
// new values become "(other)", those of inner labels first: so a number for each request is lost,
// but the tenant outside of it is kept.
//
// A push and a pop cost a few stores each, whether or not anything samples.  A child of fork has
// its parent's scopes and numbers.  All functions may be called in callbacks and in signal
// handlers.
#ifndef ALLOMON_ALLOMON_LABELS_H_
#define ALLOMON_ALLOMON_LABELS_H_

#include <stddef.h>
#include <stdint.h>

#include "allomon/in_process.h"
#include "allomon/status.h"

ALLOMON_BEGIN_C_API

// A scope on the caller's stack.  Its content is Allomon's from push to pop; it needs no initial
// value.
typedef struct allomon_label_scope {
  uintptr_t allomon_private[8];
} allomon_label_scope;

// A scope with an end: recordings know which of its blocks are still live after it, and
// `allomon report --outlived` shows them.  Close it with allomon_label_pop(&ending.scope).  Nothing
// else may be done with `scope`.
typedef struct allomon_ending_scope {
  allomon_label_scope scope;
  uintptr_t allomon_private[4];
} allomon_ending_scope;

// A number for a set of labels, valid until the process ends.  0: no labels.
typedef uint32_t allomon_labels;

// Opens a scope.  Texts end with a zero.  A null key makes no label; a null value is "".
ALLOMON_C_PROCEDURE(allomon_label_push,
                    (allomon_label_scope * scope, const char* key, const char* value),
                    (scope, key, value))

// The same with texts of known lengths, which end earlier if they contain a zero.
ALLOMON_C_PROCEDURE(allomon_label_push_sized,
                    (allomon_label_scope * scope, const char* key, size_t key_bytes,
                     const char* value, size_t value_bytes),
                    (scope, key, key_bytes, value, value_bytes))

// Opens a scope with an end.  SIZE_MAX bytes: a zero ends the text.  A null key makes a scope
// without label and end.
//
// A block outlived its scope if it is live after the scope was closed.  Blocks that another thread
// allocated with these labels (allomon_labels_enter) do not belong to the scope: see
// allomon_label_end.  Scopes inside of it with exactly other labels (allomon_labels_enter) have
// blocks of their own, too.  Cost of the push: one call.  Cost of the pop: as for other scopes, and
// a lock if a recording has sampled blocks of the scope.
ALLOMON_C_PROCEDURE(allomon_label_push_ending,
                    (allomon_ending_scope * ending, const char* key, size_t key_bytes,
                     const char* value, size_t value_bytes),
                    (ending, key, key_bytes, value, value_bytes))

// Ends a label for work that has gone over several threads: blocks that have it now, and are live
// later, outlived it.  The label may be used again; blocks that are allocated later belong to the
// time after.  Recordings take 65,536 different labels; further ones have no effect, and are
// counted (allomon_labels_statistics, `others`).  Cost: a look-up and a lock.  In a signal handler
// that has interrupted malloc it has no effect.
ALLOMON_C_PROCEDURE(allomon_label_end, (const char* key, const char* value), (key, value))

// Returns the labels in force on the calling thread.  Cost: a few loads if this scope was queried
// before or a block was sampled in it; else a look-up of its labels (100 ns).
ALLOMON_C_FUNCTION(allomon_labels, allomon_labels_current, (void), (), 0)

// Opens a scope in which exactly `labels` are in force, without those of outer scopes.
ALLOMON_C_PROCEDURE(allomon_labels_enter, (allomon_label_scope * scope, allomon_labels labels),
                    (scope, labels))

// Closes a scope of either kind.
ALLOMON_C_PROCEDURE(allomon_label_pop, (allomon_label_scope * scope), (scope))

// Returns the text of a set: for each label key, zero, value, zero, in the order of keys; "" for no
// labels.  Valid until the process ends.  `bytes`, if it is not null, becomes the text's length.
ALLOMON_C_FUNCTION(const char*, allomon_labels_text, (allomon_labels labels, size_t* bytes),
                   (labels, bytes), "")

// Counts of the whole process.
typedef struct allomon_label_statistics {
  size_t struct_size;
  uint64_t sets;            // different sets that were sampled or queried
  uint64_t others;          // scopes whose set found no room: some values are "(other)"
  uint64_t cut_sets;        // scopes with a key or a value that was too long
  uint64_t crowded_sets;    // scopes with more labels than a block can have
  uint64_t misplaced_pops;  // of scopes that were not the innermost
  uint64_t broken_lists;    // scopes whose memory was reused before the pop
} allomon_label_statistics;
#define ALLOMON_LABEL_STATISTICS_DEFAULTS \
  { sizeof(allomon_label_statistics), 0, 0, 0, 0, 0, 0 }

// Fails with ALLOMON_INVALID_ARGUMENT if the structure is too small.
ALLOMON_C_FUNCTION(allomon_status, allomon_labels_statistics,
                   (allomon_label_statistics * statistics), (statistics), ALLOMON_ABSENT)

ALLOMON_END_C_API

#ifdef __cplusplus

#include <string>
#include <string_view>

namespace allomon {

// A text that its owner keeps.  The compiler rejects a temporary std::string, which would be
// destroyed before the scope.
class LabelText {
 public:
  LabelText(const char* text) : text_(text == nullptr ? std::string_view() : text) {}  // NOLINT
  LabelText(std::string_view text) : text_(text) {}                                    // NOLINT
  LabelText(const std::string& text) : text_(text) {}                                  // NOLINT
  LabelText(const std::string&&) = delete;

  const char* data() const { return text_.data() == nullptr ? "" : text_.data(); }
  size_t size() const { return text_.size(); }

 private:
  std::string_view text_;
};

// An argument of ScopedLabel: blocks that are allocated inside should not be live after it.
enum LabelEnd { kEnds = 1 };

// A label for the length of a C++ scope.  Key and value must outlive it.
class [[nodiscard]] ScopedLabel {
 public:
  ScopedLabel(LabelText key, LabelText value) {
    allomon_label_push_sized(&ending_.scope, key.data(), key.size(), value.data(), value.size());
  }
  ScopedLabel(LabelText key, LabelText value, LabelEnd) : ending_() {
    allomon_label_push_ending(&ending_, key.data(), key.size(), value.data(), value.size());
  }
  ~ScopedLabel() { allomon_label_pop(&ending_.scope); }
  ScopedLabel(const ScopedLabel&) = delete;
  ScopedLabel& operator=(const ScopedLabel&) = delete;
  static void* operator new(size_t) = delete;

 private:
  allomon_ending_scope ending_;
};

// Ends a label for work that has gone over several threads: allomon_label_end.  A zero ends each
// text.
inline void EndLabel(const char* key, const char* value) { allomon_label_end(key, value); }

// Labels that are passed along with a task: copy it freely, to any thread.
class Labels {
 public:
  Labels() = default;
  bool empty() const { return number_ == 0; }
  bool operator==(const Labels& other) const { return number_ == other.number_; }
  bool operator!=(const Labels& other) const { return number_ != other.number_; }

 private:
  friend Labels CurrentLabels();
  friend class WithLabels;
  explicit Labels(allomon_labels number) : number_(number) {}

  allomon_labels number_ = 0;
};

// Returns the labels in force on the calling thread.
inline Labels CurrentLabels() { return Labels(allomon_labels_current()); }

// Puts exactly these labels in force for the length of a C++ scope.
class [[nodiscard]] WithLabels {
 public:
  explicit WithLabels(Labels labels) { allomon_labels_enter(&scope_, labels.number_); }
  ~WithLabels() { allomon_label_pop(&scope_); }
  WithLabels(const WithLabels&) = delete;
  WithLabels& operator=(const WithLabels&) = delete;
  static void* operator new(size_t) = delete;

 private:
  allomon_label_scope scope_;
};

}  // namespace allomon

#endif

#endif  // ALLOMON_ALLOMON_LABELS_H_

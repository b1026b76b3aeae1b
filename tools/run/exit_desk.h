// Attends to processes that are about to exit: each is stopped, and searched for blocks that
// nothing refers to any more.
#ifndef ALLOMON_TOOLS_RUN_EXIT_DESK_H_
#define ALLOMON_TOOLS_RUN_EXIT_DESK_H_

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "tools/heap/stacks.h"
#include "tools/run/memory_file.h"
#include "tools/run/signals.h"

namespace allomon::run {

// Every search is done by a forked process, so that several go on at once, and the death of one
// harms nobody.  That process prints what it finds.  One thread.
class ExitDesk {
 public:
  // Both must outlive this.  nullptr if there is no memory.
  static std::unique_ptr<ExitDesk> Open(const MemoryFile& memory, const heap::Patterns& suppressed);

  // Call at least every kMilliseconds.
  static constexpr int kMilliseconds = 2;
  void Attend();
  // Whether a child of this process is a search whose end Attend() takes.
  bool IsSearching(pid_t child) const { return searches_.count(child) > 0; }
  // Ends all searches.  Their processes go on to their exit.
  void Interrupt();
  // Waits for the searches that go on.  No process waits at the desk afterwards.
  void Close(const Signals& signals);

  uint64_t searched() const { return searched_; }
  uint64_t with_losses() const { return with_losses_; }
  uint64_t not_searched() const { return not_searched_; }

 private:
  ExitDesk(const MemoryFile& memory, const heap::Patterns& suppressed, recording::ExitDesk* desk)
      : memory_(memory), suppressed_(suppressed), desk_(desk) {}

  void Begin(uint32_t thread);
  [[noreturn]] void Search(uint32_t thread);
  void Release(uint32_t thread);
  void NoteEnds();
  void Note(int status);

  const MemoryFile& memory_;
  const heap::Patterns& suppressed_;
  recording::ExitDesk* const desk_;
  std::map<pid_t, uint32_t> searches_;  // by the searching process: the thread that waits
  uint64_t searched_ = 0;
  uint64_t with_losses_ = 0;
  uint64_t not_searched_ = 0;
};

}  // namespace allomon::run

#endif  // ALLOMON_TOOLS_RUN_EXIT_DESK_H_

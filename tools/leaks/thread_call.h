// System calls that a stopped thread of another process makes on behalf of this one.
#ifndef ALLOMON_TOOLS_LEAKS_THREAD_CALL_H_
#define ALLOMON_TOOLS_LEAKS_THREAD_CALL_H_

#include <sys/types.h>
#include <sys/user.h>

#include <cstdint>

#include "absl/status/status.h"
#include "tools/explain/mappings.h"
#include "tools/explain/process.h"
#include "tracker/formats/process_map.h"

namespace allomon::leaks {

// Finds the instructions for it in a process that has Allomon; all zero if it has not got them: an
// older Allomon, or another processor.
process_map::CallStub FindCallStub(const explain::Process& process,
                                   const std::vector<explain::Mapping>& mappings);

// Borrows a thread that stands, in the state that PTRACE_INTERRUPT leaves it in.  The destructor
// gives back its registers and its mask of signals, and leaves it in that state, so a system call
// that was interrupted is restarted when the thread goes on.  Meanwhile no instruction of the
// program runs, and signals wait.  Call all on the thread that traces it.  x86-64 alone; Begin()
// fails elsewhere.
//
// If this program is killed meanwhile, the kernel lets the thread go.  It is at an instruction of
// the stub then, which gives back all that is borrowed, from a copy in the process.  One thing
// differs: a system call with a time limit that was interrupted returns EINTR.
//
// Cases that are left alone, since a call might change or end the program:
// - A filter of system calls (seccomp) may kill the process for one.  Such a process is left alone
//   unless the kernel suspends the filter for this program, which has to be root then.  (If this
//   program is killed in the microseconds before the kernel has let the call in, the filter
//   decides.)
// - Namespaces for children that are not the process's own (unshare(2)): the first child would be
//   process 1 there, and no other could be made after its end.
// - A thread that runs code of the program may be in a sequence that the kernel restarts (rseq),
//   which a change of the program counter would hide from the kernel.  So the thread must stand in
//   a system call, or have no such sequence.
// - Dispatch of system calls to the program (Wine) would send a signal.  A shadow stack has no
//   entry for the stub's return.
class ThreadCall {
 public:
  // Both must outlive this.
  ThreadCall(const explain::Process& process, const process_map::CallStub& stub, pid_t thread)
      : process_(process), stub_(stub), thread_(thread) {}
  ~ThreadCall();
  ThreadCall(const ThreadCall&) = delete;
  ThreadCall& operator=(const ThreadCall&) = delete;

  // SIGSTOP cannot be made to wait: 0, or the signal that came, which is to be passed on.
  int signal() const { return signal_; }

  // Fails if this thread may not be borrowed; it is as before then.  The room of the stub may still
  // be in use by a thread of which another program was killed; `room_is_free` says that it is not.
  absl::Status Begin(bool room_is_free);
  // Has it wait for an ended child, by the id that it knows, without waiting.  False if the call
  // was not made.
  bool Wait(int64_t child);
  // Has it fork, by clone3(2) with `flags` and no signal at the child's end.  Returns the child,
  // which is traced from its birth, and in *id_inside the id that the process knows it by, or
  // there the negative errno, and 0.
  pid_t Fork(uint64_t flags, int64_t* id_inside);

 private:
  bool IsInSequence() const;
  bool WriteFrame(bool room_is_free);
  void ClearRoom() const;
  bool Resume(int request);
  int64_t Call(const void* instruction, uint64_t number, uint64_t first, uint64_t second,
               uint64_t third);

  const explain::Process& process_;
  const process_map::CallStub& stub_;
  const pid_t thread_;
  bool is_borrowed_ = false;
  user_regs_struct registers_ = {};
  uint64_t signal_mask_ = 0;
  uint64_t frame_ = 0;  // address
  pid_t child_ = 0;
  int signal_ = 0;
};

// Has a child of Fork() close its copies of all files, in a table of its own; it is killed if this
// program ends.  Without effect before Linux 5.9.  It must stand, and stands afterwards.
void CloseFilesOfChild(pid_t child, const process_map::CallStub& stub);

}  // namespace allomon::leaks

#endif  // ALLOMON_TOOLS_LEAKS_THREAD_CALL_H_

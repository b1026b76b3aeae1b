#include "tools/leaks/thread_call.h"

#include <elf.h>
#include <linux/sched.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>
#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "tools/explain/notes.h"

namespace allomon::leaks {

process_map::CallStub FindCallStub(const explain::Process& process,
                                   const std::vector<explain::Mapping>& mappings) {
  for (const uint64_t address :
       explain::FindNotes(process.memory(), mappings, process_map::kCallStubNoteType)) {
    process_map::CallStub stub = {};
    if (process.memory().ReadAt(address, &stub, sizeof(stub)) &&
        memcmp(stub.magic, process_map::kCallStubMagic, sizeof(stub.magic)) == 0 &&
        stub.version == process_map::kCallStubVersion && stub.size_bytes == sizeof(stub)) {
      return stub;
    }
  }
  return {};
}

#if defined(__x86_64__)

namespace {

constexpr uint64_t kUserCode = 0x33;  // the code segment of 64-bit programs
constexpr int kCallStop = SIGTRAP | 0x80;
constexpr uint64_t kCacheLineBytes = 64;
constexpr size_t kMostStateBytes = 16 << 10;

// Later than this machine's headers may be.
constexpr int kGetCallDispatch = 0x4211;  // PTRACE_GET_SYSCALL_USER_DISPATCH_CONFIG, Linux 6.4
struct CallDispatch {
  uint64_t mode;
  uint64_t selector;
  uint64_t offset;
  uint64_t length;
};

// The kernel's frame of a signal handler on x86-64, without the signal.
struct SignalFrame {
  uint64_t return_address;
  uint64_t flags;
  uint64_t link;
  stack_t stack;
  gregset_t registers;
  uint64_t floating;  // address of the state of other registers
  uint64_t reserved[8];
  uint64_t signal_mask;
};
static_assert(sizeof(SignalFrame) == 312);

// The part of the state that fxsave leaves to software.
struct StateMark {
  uint32_t magic;
  uint32_t extended_bytes;
  uint64_t features;
  uint32_t state_bytes;
};
constexpr size_t kStateMarkOffset = 464;
constexpr size_t kLeastStateBytes = 576;  // of fxsave, and the header of xsave

void* Argument(uint64_t value) { return reinterpret_cast<void*>(value); }
uint64_t AddressOf(const void* pointer) { return reinterpret_cast<uintptr_t>(pointer); }

bool GetGeneral(pid_t thread, user_regs_struct* registers) {
  iovec room = {registers, sizeof(*registers)};
  return ptrace(PTRACE_GETREGSET, thread, NT_PRSTATUS, &room) == 0;
}

bool SetGeneral(pid_t thread, user_regs_struct registers) {
  iovec room = {&registers, sizeof(registers)};
  return ptrace(PTRACE_SETREGSET, thread, NT_PRSTATUS, &room) == 0;
}

bool SetSignalMask(pid_t thread, uint64_t mask) {
  return ptrace(PTRACE_SETSIGMASK, thread, Argument(sizeof(mask)), &mask) == 0;
}

bool Write(uint32_t pid, uint64_t address, const void* bytes, size_t size_bytes) {
  const iovec local = {const_cast<void*>(bytes), size_bytes};
  const iovec remote = {Argument(address), size_bytes};
  return process_vm_writev(static_cast<pid_t>(pid), &local, 1, &remote, 1, 0) ==
         static_cast<ssize_t>(size_bytes);
}

// The status of a thread, with lines such as "Seccomp:\t0".
class ThreadStatus {
 public:
  ThreadStatus(uint32_t pid, pid_t thread)
      : text_(explain::ProcessFile("/proc/" + std::to_string(pid) + "/task/" +
                                   std::to_string(thread) + "/status")
                  .ReadAll()) {}
  // True if that is not known.
  bool HasFilter() const {
    if (!text_.ok()) return true;
    constexpr std::string_view kLine = "\nSeccomp:\t";
    const size_t at = text_->find(kLine);
    return at != std::string::npos && text_->compare(at + kLine.size(), 2, "0\n") != 0;
  }
  bool HasShadowStack() const { return text_.ok() && text_->find("shstk") != std::string::npos; }

 private:
  const absl::StatusOr<std::string> text_;
};

// Whether children come into the same namespaces as the thread.
bool HasNamespacesForChildren(uint32_t pid, pid_t thread) {
  const std::string folder =
      "/proc/" + std::to_string(pid) + "/task/" + std::to_string(thread) + "/ns/";
  const auto name_of = [&folder](const char* file) {
    char name[64] = {};
    const ssize_t size = readlink((folder + file).c_str(), name, sizeof(name) - 1);
    return std::string(name, size > 0 ? static_cast<size_t>(size) : 0);
  };
  return name_of("pid") != name_of("pid_for_children") ||
         name_of("time") != name_of("time_for_children");
}

// A thread that may not use AMX's tiles has a state without them, and the kernel takes a frame only
// of that size, though it shows the whole state to a debugger.
uint32_t StateBytes(const std::vector<char>& state, uint32_t all_bytes) {
  constexpr size_t kFeaturesInUse = 512;  // the header of an xsave area
  constexpr uint32_t kStateLeaf = 0xd, kTiles = 18;
  uint64_t in_use = 0;
  memcpy(&in_use, state.data() + kFeaturesInUse, sizeof(in_use));
  uint32_t tile_bytes = 0, tile_begin = 0, unused = 0, more = 0;
  if ((in_use >> kTiles & 1) != 0 ||
      __get_cpuid_count(kStateLeaf, kTiles, &tile_bytes, &tile_begin, &unused, &more) == 0 ||
      tile_bytes == 0 || tile_begin == 0) {
    return all_bytes;
  }
  return std::min(all_bytes, tile_begin);
}

bool DispatchesCalls(pid_t thread) {
  CallDispatch dispatch = {};
  const auto request = static_cast<__ptrace_request>(kGetCallDispatch);
  return ptrace(request, thread, Argument(sizeof(dispatch)), &dispatch) == 0 && dispatch.mode != 0;
}

// An interrupted system call is made again by its instruction, as after a handler of a signal with
// SA_RESTART.  One with a time limit cannot be: the kernel drops the rest of its time.
void RestartInterrupted(user_regs_struct* registers) {
  // The kernel's own codes, which no program sees (ERESTARTSYS and its kin).
  constexpr int64_t kRestart = -512, kRestartNoIntr = -513, kRestartNoHandler = -514,
                    kRestartBlock = -516;
  constexpr uint64_t kInstructionBytes = 2;
  if (static_cast<int64_t>(registers->orig_rax) < 0) return;
  const auto result = static_cast<int64_t>(registers->rax);
  if (result == kRestart || result == kRestartNoIntr || result == kRestartNoHandler) {
    registers->rax = registers->orig_rax;
    registers->rip -= kInstructionBytes;
  } else if (result == kRestartBlock) {
    registers->rax = static_cast<uint64_t>(-int64_t{EINTR});
  }
}

}  // namespace

// The kernel clears the word after the first instruction outside of a sequence.
bool ThreadCall::IsInSequence() const {
  __ptrace_rseq_configuration known = {};
  if (ptrace(PTRACE_GET_RSEQ_CONFIGURATION, thread_, Argument(sizeof(known)), &known) <= 0) {
    return true;
  }
  constexpr uint64_t kSequenceOffset = 8;  // struct rseq of rseq(2), after two processor numbers
  uint64_t sequence = 0;
  return known.rseq_abi_pointer != 0 &&
         (!process_.memory().ReadAt(known.rseq_abi_pointer + kSequenceOffset, &sequence,
                                    sizeof(sequence)) ||
          sequence != 0);
}

absl::Status ThreadCall::Begin(bool room_is_free) {
  const auto failed = [](const char* why) { return absl::FailedPreconditionError(why); };
  if (stub_.room == nullptr) return failed("it has no instructions for a fork");
  if (!GetGeneral(thread_, &registers_)) return failed("a thread has ended");
  if (registers_.cs != kUserCode) return failed("it is no 64-bit program");
  const bool is_in_call = static_cast<int64_t>(registers_.orig_rax) >= 0;
  if (!is_in_call && IsInSequence()) return failed("no thread stands where it could be borrowed");
  if (DispatchesCalls(thread_)) return failed("it handles system calls itself");
  if (HasNamespacesForChildren(process_.pid(), thread_)) {
    return failed("its children would come into another namespace");
  }
  const ThreadStatus status(process_.pid(), thread_);
  if (status.HasShadowStack()) return failed("it has shadow stacks");
  if (ptrace(PTRACE_GETSIGMASK, thread_, Argument(sizeof(signal_mask_)), &signal_mask_) != 0 ||
      !WriteFrame(room_is_free)) {
    return failed("a thread's state cannot be kept");
  }
  uint64_t options =
      PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACECLONE | PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK;
  if (status.HasFilter()) options |= PTRACE_O_SUSPEND_SECCOMP;
  if (ptrace(PTRACE_SETOPTIONS, thread_, nullptr, Argument(options)) != 0) {
    return failed(status.HasFilter()
                      ? "it has a filter of system calls, which only root may suspend"
                      : "a thread cannot be traced");
  }
  is_borrowed_ = true;
  return absl::OkStatus();
}

// Writes what rt_sigreturn(2) would give back.
bool ThreadCall::WriteFrame(bool room_is_free) {
  std::vector<char> state(kMostStateBytes);
  iovec found = {state.data(), state.size()};
  if (ptrace(PTRACE_GETREGSET, thread_, NT_X86_XSTATE, &found) != 0 ||
      found.iov_len == state.size() || found.iov_len < kLeastStateBytes) {
    return false;
  }
  const uint32_t state_bytes = StateBytes(state, static_cast<uint32_t>(found.iov_len));
  constexpr uint32_t kMagic1 = 0x46505853, kMagic2 = 0x46505845;  // FP_XSTATE_MAGIC1 and 2
  StateMark mark = {kMagic1, state_bytes + static_cast<uint32_t>(sizeof(kMagic2)), 0, state_bytes};
  memcpy(&mark.features, state.data() + kStateMarkOffset, sizeof(mark.features));  // the kernel's
  memcpy(state.data() + kStateMarkOffset, &mark, sizeof(mark));
  memcpy(state.data() + state_bytes, &kMagic2, sizeof(kMagic2));
  state.resize(state_bytes + sizeof(kMagic2));

  const uint64_t end = AddressOf(stub_.room) + stub_.room_bytes;
  const uint64_t state_place = (end - state.size()) & ~(kCacheLineBytes - 1);
  frame_ = (state_place - sizeof(SignalFrame)) & ~(kCacheLineBytes - 1);
  if (frame_ < AddressOf(stub_.room) + sizeof(clone_args)) return false;

  SignalFrame frame = {};
  if (!room_is_free &&
      (!process_.memory().ReadAt(frame_, &frame, sizeof(frame)) || frame.flags != 0)) {
    return false;
  }
  user_regs_struct from = registers_;
  RestartInterrupted(&from);
  frame = {};
  constexpr uint64_t kHasState = 1, kHasStackSegment = 2, kStackSegmentAsItIs = 4;
  frame.flags = kHasState | kHasStackSegment | kStackSegmentAsItIs;
  frame.stack.ss_flags = -1;  // no mode that there is: the alternate stack stays
  const std::pair<int, uint64_t> general[] = {
      {REG_R8, from.r8},   {REG_R9, from.r9},     {REG_R10, from.r10}, {REG_R11, from.r11},
      {REG_R12, from.r12}, {REG_R13, from.r13},   {REG_R14, from.r14}, {REG_R15, from.r15},
      {REG_RDI, from.rdi}, {REG_RSI, from.rsi},   {REG_RBP, from.rbp}, {REG_RBX, from.rbx},
      {REG_RDX, from.rdx}, {REG_RAX, from.rax},   {REG_RCX, from.rcx}, {REG_RSP, from.rsp},
      {REG_RIP, from.rip}, {REG_EFL, from.eflags}};
  for (const auto& [place, value] : general) {
    frame.registers[place] = static_cast<greg_t>(value);
  }
  frame.registers[REG_CSGSFS] =
      static_cast<greg_t>(from.cs | from.gs << 16 | from.fs << 32 | from.ss << 48);
  frame.floating = state_place;
  frame.signal_mask = signal_mask_;
  return Write(process_.pid(), state_place, state.data(), state.size()) &&
         Write(process_.pid(), frame_, &frame, sizeof(frame));
}

// A later search takes no old registers for references.
void ThreadCall::ClearRoom() const {
  const std::vector<char> zeros(AddressOf(stub_.room) + stub_.room_bytes - frame_);
  Write(process_.pid(), frame_, zeros.data(), zeros.size());
  Write(process_.pid(), AddressOf(stub_.room), zeros.data(), sizeof(clone_args));
}

// If this program is killed between two of these steps, the thread goes on at the stub, or has all
// that is its own.
ThreadCall::~ThreadCall() {
  if (!is_borrowed_) return;
  SetSignalMask(thread_, signal_mask_);
  SetGeneral(thread_, registers_);
  ptrace(PTRACE_SETOPTIONS, thread_, nullptr, nullptr);
  ClearRoom();
}

// Lets the thread go to its next stop of the kind that the request asks for.  False if it ended, or
// if it was given a signal, which the mask leaves for faults alone.
bool ThreadCall::Resume(int request) {
  for (;;) {
    int status = 0;
    if (ptrace(static_cast<__ptrace_request>(request), thread_, nullptr, nullptr) != 0) {
      return false;
    }
    pid_t done = 0;
    do {
      done = waitpid(thread_, &status, __WALL);
    } while (done < 0 && errno == EINTR);
    if (done != thread_ || !WIFSTOPPED(status)) {
      is_borrowed_ = false;
      return false;
    }
    const int event = status >> 16;
    if (event == PTRACE_EVENT_CLONE || event == PTRACE_EVENT_FORK || event == PTRACE_EVENT_VFORK) {
      unsigned long child = 0;
      if (ptrace(PTRACE_GETEVENTMSG, thread_, nullptr, &child) == 0) {
        child_ = static_cast<pid_t>(child);
      }
    } else if (event == PTRACE_EVENT_STOP) {
      // A stop of the whole process may come before that of the call.
      if (request == PTRACE_CONT) return true;
    } else if (WSTOPSIG(status) == SIGSTOP) {
      signal_ = SIGSTOP;
    } else {
      return request == PTRACE_SYSCALL && WSTOPSIG(status) == kCallStop;
    }
  }
}

// Returns the result, a negative errno if it failed.
int64_t ThreadCall::Call(const void* instruction, uint64_t number, uint64_t first, uint64_t second,
                         uint64_t third) {
  user_regs_struct registers = registers_;
  registers.rax = number;
  registers.rdi = first;
  registers.rsi = second;
  registers.rdx = third;
  registers.r10 = 0;
  registers.rip = AddressOf(instruction);
  registers.rsp = frame_ + sizeof(uint64_t);  // as if the handler had returned
  registers.orig_rax = UINT64_MAX;            // no call is to be restarted
  // Signals wait only from here on: see the destructor.
  if (!SetGeneral(thread_, registers) || !SetSignalMask(thread_, ~uint64_t{0})) return -ESRCH;
  // The first stop is at the entry of the call, the second one at its exit.
  user_regs_struct after = {};
  if (!Resume(PTRACE_SYSCALL) || !Resume(PTRACE_SYSCALL) || !GetGeneral(thread_, &after)) {
    return -EINTR;
  }
  // The kernel looks at calls to be restarted after a stop of this kind, and not after the other.
  ptrace(PTRACE_INTERRUPT, thread_, nullptr, nullptr);
  return Resume(PTRACE_CONT) ? static_cast<int64_t>(after.rax) : -EINTR;
}

bool ThreadCall::Wait(int64_t child) {
  return Call(stub_.other_call, SYS_wait4, static_cast<uint64_t>(child), 0, __WALL | WNOHANG) !=
         -EINTR;
}

// At the instruction that ends a child whose call has succeeded: it never does anything else.
void CloseFilesOfChild(pid_t child, const process_map::CallStub& stub) {
  user_regs_struct registers = {};
  const uint64_t options = PTRACE_O_EXITKILL | PTRACE_O_TRACESYSGOOD;
  // A filter's suspension is the parent's option, which the child has from it.
  if (ptrace(PTRACE_SETOPTIONS, child, nullptr, Argument(options | PTRACE_O_SUSPEND_SECCOMP)) !=
          0 &&
      ptrace(PTRACE_SETOPTIONS, child, nullptr, Argument(options)) != 0) {
    return;
  }
  if (!GetGeneral(child, &registers)) return;
  registers.rax = SYS_close_range;
  registers.rdi = 0;
  registers.rsi = UINT32_MAX;
  registers.rdx = 2;  // CLOSE_RANGE_UNSHARE: none is copied, so none is closed
  registers.rip = AddressOf(stub.fork_call);
  registers.orig_rax = UINT64_MAX;
  if (!SetGeneral(child, registers)) return;
  for (int stop = 0; stop < 2; ++stop) {  // at the call's entry, and at its exit
    int status = 0;
    if (ptrace(PTRACE_SYSCALL, child, nullptr, nullptr) != 0) return;
    while (waitpid(child, &status, __WALL) < 0 && errno == EINTR) {
    }
    if (!WIFSTOPPED(status) || WSTOPSIG(status) != kCallStop) return;
  }
}

pid_t ThreadCall::Fork(uint64_t flags, int64_t* id_inside) {
  clone_args arguments = {};
  arguments.flags = flags;
  const uint64_t place = AddressOf(stub_.room);
  child_ = 0;
  *id_inside = -EFAULT;
  if (Write(process_.pid(), place, &arguments, sizeof(arguments))) {
    *id_inside = Call(stub_.fork_call, SYS_clone3, place, CLONE_ARGS_SIZE_VER0, 0);
  }
  return child_;
}

#else

absl::Status ThreadCall::Begin(bool) {
  return absl::UnimplementedError("it is not forked on this processor");
}

ThreadCall::~ThreadCall() = default;

bool ThreadCall::Wait(int64_t) { return false; }

void CloseFilesOfChild(pid_t, const process_map::CallStub&) {}

pid_t ThreadCall::Fork(uint64_t, int64_t* id_inside) {
  *id_inside = -ENOSYS;
  return 0;
}

#endif

}  // namespace allomon::leaks

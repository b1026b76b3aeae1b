#include "tracker/control/attendant.h"

#include <unistd.h>

#include <atomic>
#include <cstring>
#include <memory>
#include <new>

#include "tracker/base/check.h"
#include "tracker/base/large_object.h"
#include "tracker/control/control_file.h"
#include "tracker/control/orders.h"
#include "tracker/control/probe_sampler.h"
#include "tracker/core/control.h"
#include "tracker/core/fork.h"
#include "tracker/core/one_inside.h"
#include "tracker/recording/fork_mark.h"

namespace allomon::control {
namespace {

uint64_t NumberOf(const Request& request) {
  // Pairs with the release by which a command publishes its request: the rest is there.
  return __atomic_load_n(&request.number, __ATOMIC_ACQUIRE);
}

// Copies the page's request in one attempt; false if it is being written.
bool Copy(const Request& shared, Request* copy) {
  const uint64_t number = NumberOf(shared);
  memcpy(copy, &shared, sizeof(*copy));
  copy->number = number;
  copy->path[sizeof(copy->path) - 1] = '\0';
  // Keeps the second look at the number after the copy: an equal number means that no other request
  // was written meanwhile.
  std::atomic_thread_fence(std::memory_order_acquire);
  return __atomic_load_n(&shared.number, __ATOMIC_RELAXED) == number;
}

// Copies the last request if it is for children: a parent that does not allocate has not answered
// it.  While a request is being written, copies the one before.
void CopyOrderForChildren(const Page& page, Request* copy) {
  if (Copy(page.request, copy) && copy->number != 0 && copy->for_children != 0) return;
  Copy(page.standing, copy);
}

// Room for a request and its reply, so that they are not on the stack.
struct Talk {
  Request request;
  Reply reply;
};

// Returns nullptr if memory is short; the next look will try again.  Throws nothing, since the
// caller is the host's malloc.
std::unique_ptr<Talk> NewTalk() { return std::unique_ptr<Talk>(new (std::nothrow) Talk()); }

// Static data without a destructor, since blocks are sampled until the very end of the process.
class Attendant {
 public:
  const char* Start(const AttendOptions& options);
  void Look();
  void End();

 private:
  void LookAtPage();
  void Answer(const Request& shared);
  void Publish(const Reply& reply);
  void BeginAsChild();
  const char* MakePage();

  internal::OneInside door_;
  // Only the thread inside uses these.
  ControlFile file_;
  Orders orders_;
  recording::ForkMark fork_mark_;
  uint32_t pid_ = 0;
  uint64_t answered_ = 0;  // the number of the last request
};
ALLOMON_LARGE_ZEROS Attendant g_attendant;

// Called at a sample.
void LookAtAll() {
  LookAtProbes();
  g_attendant.Look();
}

const char* Attendant::MakePage() {
  const char* const error = file_.Open(pid_, static_cast<uint32_t>(getppid()));
  if (error != nullptr) return error;
  file_.page()->gap_bytes = kLookGapBytes;
  orders_.SetPlace(file_.folder(), file_.pid_namespace());
  fork_mark_.Set();
  return nullptr;
}

const char* Attendant::Start(const AttendOptions& options) {
  const internal::SuspendedSampling suspended;
  pid_ = static_cast<uint32_t>(getpid());
  const bool fits = orders_.SetDefaults(options);
  if (const char* const error = MakePage()) return error;
  const char* const error =
      fits ? StartLooking(LookAtAll, options.seed) : "the path of ALLOMON_RECORD is too long";
  if (error != nullptr) End();
  return error;
}

void Attendant::Look() {
  const internal::OneInside::Scope inside(door_);
  if (!inside) return;
  if (fork_mark_.IsInChild()) BeginAsChild();
  if (!fork_mark_.IsInChild() && file_.IsWhole()) LookAtPage();
}

void Attendant::LookAtPage() {
  Page& page = *file_.page();
  __atomic_store_n(&page.looks, page.looks + 1, __ATOMIC_RELAXED);
  __atomic_store_n(&page.looked_at_nanos, BootNanos(), __ATOMIC_RELAXED);
  const uint64_t number = NumberOf(page.request);
  if (number != 0 && number != answered_) Answer(page.request);
}

void Attendant::Answer(const Request& shared) {
  const std::unique_ptr<Talk> talk = NewTalk();
  if (talk == nullptr || !Copy(shared, &talk->request)) return;
  answered_ = talk->request.number;
  orders_.CarryOut(talk->request, &talk->reply);
  file_.page()->standing = talk->request.for_children != 0 ? talk->request : Request();
  Publish(talk->reply);
}

void Attendant::Publish(const Reply& reply) {
  ALLOMON_DCHECK_NE("inv.control.page", file_.page(), nullptr);
  Reply& shared = file_.page()->reply;
  const uint64_t sequence = shared.sequence | 1;
  __atomic_store_n(&shared.sequence, sequence, __ATOMIC_RELAXED);
  // Keeps the odd sequence before the reply: a reader that sees a part of it sees the number odd,
  // or changed.
  std::atomic_thread_fence(std::memory_order_release);
  memcpy(reinterpret_cast<char*>(&shared) + sizeof(shared.sequence),
         reinterpret_cast<const char*>(&reply) + sizeof(reply.sequence),
         sizeof(reply) - sizeof(reply.sequence));
  // Pairs with the reader's acquire: an even sequence means a whole reply.
  __atomic_store_n(&shared.sequence, sequence + 1, __ATOMIC_RELEASE);
}

// The parent's page is mapped in the child as well, and may have an order for its children.
void Attendant::BeginAsChild() {
  const std::unique_ptr<Talk> talk = NewTalk();
  if (talk == nullptr) return;
  if (file_.IsWhole()) CopyOrderForChildren(*file_.page(), &talk->request);
  file_.Forget();
  pid_ = internal::OwnProcessIdAfterFork();
  orders_.BecomeChild();
  answered_ = 0;
  fork_mark_.Set();
  if (MakePage() != nullptr) return;
  const uint64_t standing = talk->request.number;
  talk->request.number = 0;
  if (standing != 0) orders_.CarryOut(talk->request, &talk->reply);
  orders_.Describe(&talk->reply);
  Publish(talk->reply);
}

// Removes only this process's own page: not a parent's, nor that of a process which shares this
// memory after vfork.
void Attendant::End() {
  if (pid_ == static_cast<uint32_t>(getpid())) file_.Unlink();
}

}  // namespace

const char* StartAttending(const AttendOptions& options) { return g_attendant.Start(options); }

void EndAttending() { g_attendant.End(); }

}  // namespace allomon::control

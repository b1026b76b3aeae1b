#include "tracker/gates/ledger.h"

#include <algorithm>
#include <mutex>

#include "tracker/base/check.h"
#include "tracker/gates/framework_frames.h"

namespace allomon::internal {
namespace {

std::mutex g_lock;

// The lock of all ledgers, held.
class LedgersLock {
 public:
  LedgersLock() {
    ALLOMON_DCHECK("inv.gates.lock", !t_holds);
    g_lock.lock();
    if constexpr (kDebugChecks) t_holds = true;
  }
  ~LedgersLock() {
    if constexpr (kDebugChecks) t_holds = false;
    g_lock.unlock();
  }
  LedgersLock(const LedgersLock&) = delete;
  LedgersLock& operator=(const LedgersLock&) = delete;

 private:
  [[maybe_unused]] static __thread bool t_holds;
};

__thread bool LedgersLock::t_holds = false;

[[maybe_unused]] bool SitesAddUp(const AllocationReport& report) {
  uint64_t allocations = 0;
  uint64_t bytes = 0;
  uint64_t live_bytes = 0;
  for (const AllocationSite& site : report.sites) {
    allocations += site.allocations;
    bytes += site.bytes;
    live_bytes += site.live_bytes;
  }
  return allocations == report.allocations && bytes == report.bytes &&
         live_bytes == report.live_bytes;
}

}  // namespace

void Ledger::Open(const Callstack& opener) {
  opener_ = opener;
  open_ = true;
}

Ledger* Ledger::FirstOpen(Ledger* ledger) {
  while (ledger != nullptr && ledger->closed_) ledger = ledger->outer_.get();
  return ledger;
}

size_t Ledger::InnerFrames(const Callstack& callstack) const {
  size_t shared = 0;
  while (shared < callstack.size() && shared < opener_.size() &&
         callstack[callstack.size() - 1 - shared] == opener_[opener_.size() - 1 - shared]) {
    ++shared;
  }
  return callstack.size() - shared;
}

Ledger::Account& Ledger::AccountOf(const Callstack& callstack) {
  const auto [at, is_new] = accounts_.try_emplace(callstack.id());
  Account& account = at->second;
  if (is_new) {
    account.site.callstack = callstack;
    account.site.inner_frames = InnerFrames(callstack);
    account.frameworks_own = IsFrameworksOwn(callstack, account.site.inner_frames);
  }
  return account;
}

void Ledger::Enter(const Allocation& allocation) {
  const LedgersLock hold;
  for (Ledger* ledger = this; ledger != nullptr; ledger = ledger->outer_.get()) {
    Account& account = ledger->AccountOf(allocation.callstack);
    if (!account.frameworks_own) ledger->EnterLocked(allocation, account);
  }
}

void Ledger::Leave(const Callstack& callstack, uint64_t size_bytes) {
  const LedgersLock hold;
  for (Ledger* ledger = this; ledger != nullptr; ledger = ledger->outer_.get()) {
    Account& account = ledger->AccountOf(callstack);
    if (!account.frameworks_own) ledger->LeaveLocked(account, size_bytes);
  }
}

void Ledger::EnterLocked(const Allocation& allocation, Account& account) {
  ALLOMON_DCHECK("inv.gates.probe", open_);
  const uint64_t size_bytes = allocation.size_bytes;
  ++total_.allocations;
  ++total_.live_blocks;
  total_.bytes += size_bytes;
  total_.live_bytes += size_bytes;
  total_.peak_bytes = std::max(total_.peak_bytes, total_.live_bytes);
  ++account.site.allocations;
  ++account.site.live_blocks;
  account.site.bytes += size_bytes;
  account.site.live_bytes += size_bytes;
  ALLOMON_DCHECK_LE("inv.gates.sum", account.site.live_bytes, total_.live_bytes);
  ALLOMON_DCHECK_LE("inv.gates.sum", account.site.bytes, total_.bytes);
  if (!IsExcessLocked()) return;
  if (limit_.quantity == AllocationQuantity::kPeakBytes) {
    NoteWhatLivesLocked();
  } else {
    ++account.site.excess_blocks;
  }
}

void Ledger::LeaveLocked(Account& account, uint64_t size_bytes) {
  ALLOMON_DCHECK_LT("inv.gates.exact", 0u, account.site.live_blocks);
  ALLOMON_DCHECK_LE("inv.gates.exact", account.site.live_blocks, total_.live_blocks);
  ALLOMON_DCHECK_LE("inv.gates.exact", size_bytes, account.site.live_bytes);
  --total_.live_blocks;
  total_.live_bytes -= size_bytes;
  --account.site.live_blocks;
  account.site.live_bytes -= size_bytes;
}

// Leaks are known only at the end.
bool Ledger::IsExcessLocked() const {
  return limit_.quantity != AllocationQuantity::kLeakedBlocks &&
         total_.Of(limit_.quantity) > limit_.value;
}

void Ledger::NoteWhatLivesLocked() {
  if (peak_noted_) return;
  peak_noted_ = true;
  for (auto& [id, account] : accounts_) account.site.excess_blocks = account.site.live_blocks;
}

AllocationReport Ledger::Read() const {
  const LedgersLock hold;
  AllocationReport report = total_;
  for (const auto& [id, account] : accounts_) {
    if (!account.frameworks_own) report.sites.push_back(account.site);
  }
  ALLOMON_DCHECK("inv.gates.sum", SitesAddUp(report));
  return report;
}

}  // namespace allomon::internal

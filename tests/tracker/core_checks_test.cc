// A debug build stops where an invariant of core/ is broken, with a line that names it; a release
// build goes on.
#include <optional>
#include <thread>

#include "gtest/gtest.h"
#include "tests/support/expect_stops.h"
#include "tracker/core/address_index.h"
#include "tracker/core/callback_scope.h"
#include "tracker/core/control.h"
#include "tracker/core/entry_table.h"
#include "tracker/core/pinned_session.h"
#include "tracker/core/registry.h"
#include "tracker/core/valueless_client.h"

namespace allomon::internal {
namespace {

class CoreChecksDeathTest : public ::testing::Test {
 protected:
  void SetUp() override {
    Session::Config config;
    config.kind = SessionKind::kTracker;
    config.rate = 0;
    config.concurrent = true;
    std::unique_ptr<SessionClient> client = std::make_unique<ValuelessClient>();
    id_ = StartSession(config, client).id;
    ASSERT_NE(id_, 0u);
  }
  void TearDown() override {
    EXPECT_EQ(StopAndDiscardSession(id_, SessionKind::kTracker), ControlError::kNone);
  }

  Session& session() { return *Session::Find(id_); }

  SessionId id_ = 0;
};

TEST_F(CoreChecksDeathTest, EntryThatIsReleasedTwice) {
  const EntryId id = Entries().Allocate();
  Entries().At(id).Begin(id_);
  Entries().Release(id);
  EXPECT_STOPS(Entries().At(id).SetState(EntryState::kFree), "inv.entry.life");
}

TEST_F(CoreChecksDeathTest, EntryThatIsReleasedWithItsValue) {
  const EntryId id = Entries().Allocate();
  Entries().At(id).Begin(id_);
  Entries().At(id).SetState(EntryState::kLiveMajor);
  EXPECT_STOPS(Entries().Release(id), "inv.entry.life");
  Entries().At(id).TakeLive(id_);
  Entries().Release(id);
}

TEST_F(CoreChecksDeathTest, EntryThatIsUsedWhileAnotherBlockHasIt) {
  const EntryId id = Entries().Allocate();
  Entries().At(id).Begin(id_);
  EXPECT_STOPS(Entries().At(id).Begin(id_), "inv.entry.life");
  Entries().Release(id);
}

TEST_F(CoreChecksDeathTest, EntryThatIsForgottenByOneWhoHasNotTakenItsValue) {
  const EntryId id = Entries().Allocate();
  Entries().At(id).Begin(id_);
  Entries().At(id).SetState(EntryState::kLiveMajor);
  EXPECT_STOPS(Entries().At(id).FinishForgetting(), "inv.entry.owner");
  Entries().At(id).TakeLive(id_);
  Entries().Release(id);
}

TEST_F(CoreChecksDeathTest, PinsThatDoNotNest) {
  ThreadState& thread = CurrentThread();
  const bool was_registered = thread.in_registry();
  if (!was_registered) thread.countdown = &countdown_words;  // so that there are slots for pins
  EXPECT_STOPS(
      {
        std::optional<PinnedSession> first(std::in_place, id_);
        const PinnedSession second(id_);
        first.reset();
      },
      "inv.pin.lifo");
  if (!was_registered) thread.countdown = nullptr;
}

TEST_F(CoreChecksDeathTest, ClientThatNobodyHasPinned) {
  EXPECT_STOPS(static_cast<void>(session().client()), "inv.session.pin");
  const PinnedSession pinned(id_);
  static_cast<void>(pinned->client());
}

TEST_F(CoreChecksDeathTest, SessionThatIsStoppedTwice) {
  EXPECT_STOPS(
      {
        const TickSafeLockHolder hold(Registry::Get().lock());
        session().SetStoppedLocked();
        session().SetStoppedLocked();
      },
      "inv.session.status");
}

TEST_F(CoreChecksDeathTest, StateOfTheRegistryWithoutItsLock) {
  EXPECT_STOPS(Registry::Get().NextStreamLocked(), "inv.lock.held");
  EXPECT_STOPS(session().SetStoppedLocked(), "inv.lock.held");
}

TEST_F(CoreChecksDeathTest, CallbackScopeInACallback) {
  EXPECT_STOPS(
      {
        CallbackScope outer(CurrentThread());
        CallbackScope inner(CurrentThread());
      },
      "inv.callback.nesting");
}

TEST_F(CoreChecksDeathTest, CountdownThatIsSetInACallback) {
  EXPECT_STOPS(
      {
        CallbackScope scope(CurrentThread());
        SetCountdown(CurrentThread(), 5);
      },
      "inv.callback.countdown");
}

TEST_F(CoreChecksDeathTest, ReportThatIsCountedForAnotherThread) {
  EXPECT_STOPS(
      {
        ThreadState& mine = CurrentThread();
        std::thread([&] { CountReport(mine, session(), 1, false); }).join();
      },
      "inv.counters.own");
}

TEST_F(CoreChecksDeathTest, CountersOfAnotherPlace) {
  EXPECT_STOPS(
      {
        ThreadState& thread = CurrentThread();
        thread.countdown = &countdown_words;
        thread.counters[PlaceOfSession(id_)].AddReport(id_ + 1, 1, false);
        CountReport(thread, session(), 1, false);
      },
      "inv.counters.place");
}

}  // namespace
}  // namespace allomon::internal

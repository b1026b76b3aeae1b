// Erases the types of a user's tracker: values of any type live in a room of 16 bytes, in place if
// they fit, else in a box.
#ifndef ALLOMON_TRACKER_CORE_CLIENT_H_
#define ALLOMON_TRACKER_CORE_CLIENT_H_

#include <new>
#include <optional>
#include <type_traits>
#include <utility>

#include "tracker/allocation.h"
#include "tracker/core/exception_carrier.h"
#include "tracker/core/forced_unwind.h"
#include "tracker/core/session_client.h"

namespace allomon::internal {

// A value of type T in a ValueRoom.
template <typename T>
struct TypedValue {
  static constexpr bool kInPlace = sizeof(T) <= sizeof(ValueRoom) &&
                                   alignof(T) <= alignof(ValueRoom) &&
                                   std::is_nothrow_move_constructible_v<T>;
  using Stored = std::conditional_t<kInPlace, T, T*>;

  static void Put(ValueRoom* room, T&& value) {
    if constexpr (kInPlace) {
      new (room->bytes) T(std::move(value));
    } else {
      new (room->bytes) Stored(new T(std::move(value)));
    }
  }

  // Moves the value out; the room is empty afterwards.
  static T Take(ValueRoom* room) {
    const Emptier emptier{room};
    return std::move(Ref(room));
  }

  static void Destroy(ValueRoom* room) { const Emptier emptier{room}; }

  static T& Ref(ValueRoom* room) {
    Stored* stored = std::launder(reinterpret_cast<Stored*>(room->bytes));
    if constexpr (kInPlace) {
      return *stored;
    } else {
      return **stored;
    }
  }

 private:
  struct Emptier {
    ValueRoom* room;
    ~Emptier() {
      if constexpr (kInPlace) {
        Ref(room).~T();
      } else {
        delete &Ref(room);
      }
    }
  };
};

// The value type of a tracker that lacks the method which would name the type.
struct NoValue {};

// Whether Call<Arguments...> is well formed, and its type; Default if it is not.
template <typename Default, typename Void, template <typename...> class Call, typename... Arguments>
struct Detect {
  static constexpr bool kPresent = false;
  using Type = Default;
};
template <typename Default, template <typename...> class Call, typename... Arguments>
struct Detect<Default, std::void_t<Call<Arguments...>>, Call, Arguments...> {
  static constexpr bool kPresent = true;
  using Type = Call<Arguments...>;
};
template <template <typename...> class Call, typename... Arguments>
using Detected = Detect<std::optional<NoValue>, void, Call, Arguments...>;

// The calls of a user's tracker.
template <typename User>
using AllocMinorCall =
    decltype(std::declval<User&>().alloc_minor(std::declval<const Allocation&>()));
template <typename User>
using AllocMajorCall =
    decltype(std::declval<User&>().alloc_major(std::declval<const Allocation&>()));
template <typename User, typename Minor>
using PromoteCall = decltype(std::declval<User&>().promote(std::declval<Minor>()));
template <typename User, typename Minor>
using DeallocMinorCall = decltype(std::declval<User&>().dealloc_minor(std::declval<Minor>()));
template <typename User, typename Major>
using DeallocMajorCall = decltype(std::declval<User&>().dealloc_major(std::declval<Major>()));
template <typename User, typename Minor>
using SurviveMinorCall = decltype(std::declval<User&>().survive_minor(
    std::declval<const Allocation&>(), std::declval<Minor>()));
template <typename User, typename Major>
using SurviveMajorCall = decltype(std::declval<User&>().survive_major(
    std::declval<const Allocation&>(), std::declval<Major>()));

template <typename User, typename Major>
using DescribeCall = decltype(std::declval<User&>().describe(std::declval<const Major&>()));

// The value type inside the std::optional that a method returns.
template <typename Result>
struct KeptBy {
  static_assert(!sizeof(Result), "alloc_minor, alloc_major and promote must return std::optional");
};
template <typename T>
struct KeptBy<std::optional<T>> {
  using Type = T;
};

template <typename User>
class Client final : public SessionClient {
  using AllocMinorResult = Detected<AllocMinorCall, User>;
  using AllocMajorResult = Detected<AllocMajorCall, User>;
  using Minor = typename KeptBy<typename AllocMinorResult::Type>::Type;
  using PromoteResult = Detected<PromoteCall, User, Minor>;
  using Promoted = typename KeptBy<typename PromoteResult::Type>::Type;
  // A tracker of malloc blocks names Major in alloc_major, one of managed blocks only in promote;
  // one with both must name the same.
  using Major =
      std::conditional_t<AllocMajorResult::kPresent,
                         typename KeptBy<typename AllocMajorResult::Type>::Type, Promoted>;
  static_assert(!AllocMajorResult::kPresent || !PromoteResult::kPresent ||
                    std::is_same_v<Major, Promoted>,
                "alloc_major and promote must return the same std::optional<Major>");
  static_assert(AllocMajorResult::kPresent || AllocMinorResult::kPresent,
                "a tracker needs alloc_major or alloc_minor, public, taking const Allocation& "
                "and returning std::optional of the value to keep");

 public:
  explicit Client(User user) : user_(std::move(user)) {}

  bool AllocMinor(const Allocation& allocation, ValueRoom* room) override {
    if constexpr (AllocMinorResult::kPresent) {
      return Guard([&] { return Keep<Minor>(user_.alloc_minor(allocation), room); });
    }
    return false;
  }

  bool AllocMajor(const Allocation& allocation, ValueRoom* room) override {
    if constexpr (AllocMajorResult::kPresent) {
      return Guard([&] { return Keep<Major>(user_.alloc_major(allocation), room); });
    }
    return false;
  }

  bool Promote(ValueRoom* room) override {
    return Guard([&] {
      Minor minor = TypedValue<Minor>::Take(room);
      if constexpr (PromoteResult::kPresent) {
        return Keep<Major>(user_.promote(std::move(minor)), room);
      }
      return false;
    });
  }

  void DeallocMinor(ValueRoom* room) override {
    Guard([&] {
      Minor minor = TypedValue<Minor>::Take(room);
      if constexpr (Detected<DeallocMinorCall, User, Minor>::kPresent)
        user_.dealloc_minor(std::move(minor));
      return true;
    });
  }

  void DeallocMajor(ValueRoom* room) override {
    Guard([&] {
      Major major = TypedValue<Major>::Take(room);
      if constexpr (Detected<DeallocMajorCall, User, Major>::kPresent)
        user_.dealloc_major(std::move(major));
      return true;
    });
  }

  void SurviveMinor(const Allocation& allocation, ValueRoom* room) override {
    Guard([&] {
      Minor minor = TypedValue<Minor>::Take(room);
      if constexpr (Detected<SurviveMinorCall, User, Minor>::kPresent) {
        user_.survive_minor(allocation, std::move(minor));
      }
      return true;
    });
  }

  void SurviveMajor(const Allocation& allocation, ValueRoom* room) override {
    Guard([&] {
      Major major = TypedValue<Major>::Take(room);
      if constexpr (Detected<SurviveMajorCall, User, Major>::kPresent) {
        user_.survive_major(allocation, std::move(major));
      }
      return true;
    });
  }

  void Describe(ValueRoom* room, BlockNote* note) override {
    if constexpr (Detected<DescribeCall, User, Major>::kPresent) {
      Guard([&] {
        note->Append(user_.describe(std::as_const(TypedValue<Major>::Ref(room))));
        return true;
      });
    }
  }

  void DestroyMinor(ValueRoom* room) override { TypedValue<Minor>::Destroy(room); }
  void DestroyMajor(ValueRoom* room) override { TypedValue<Major>::Destroy(room); }

 private:
  template <typename T>
  static bool Keep(std::optional<T>&& value, ValueRoom* room) {
    if (!value.has_value()) return false;
    TypedValue<T>::Put(room, std::move(*value));
    return true;
  }

  // malloc must not throw.  So an exception, also one from the move of a value, ends the tracking
  // of the block, and is handed to a heap that can throw it on.  The unwinding of a thread that
  // ends itself is no exception, and must go on.
  template <typename Call>
  __attribute__((no_sanitize("undefined"))) bool Guard(Call call) {
    try {
      return call();
    } catch (ForcedUnwind&) {
      throw;
    } catch (...) {
      PassForcedUnwindOn();
      CountException();
      ExceptionCarrier::KeepCurrent();
      return false;
    }
  }

  User user_;
};

}  // namespace allomon::internal

#endif  // ALLOMON_TRACKER_CORE_CLIENT_H_

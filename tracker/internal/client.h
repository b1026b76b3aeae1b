// Erases the types of a user's tracker: values of any type live in a 16-byte slot, in
// place if they fit, else in a box.
#ifndef ALLOMON_TRACKER_INTERNAL_CLIENT_H_
#define ALLOMON_TRACKER_INTERNAL_CLIENT_H_

#include <cxxabi.h>

#include <new>
#include <optional>
#include <type_traits>
#include <utility>

#include "tracker/allocation.h"
#include "tracker/internal/session.h"

namespace allomon::internal {

// A value of type T in a ValueSlot.
template <typename T>
struct SlotValue {
  static constexpr bool kInPlace = sizeof(T) <= sizeof(ValueSlot) &&
                                   alignof(T) <= alignof(ValueSlot) &&
                                   std::is_nothrow_move_constructible_v<T>;
  using Stored = std::conditional_t<kInPlace, T, T*>;

  static void Put(ValueSlot* slot, T&& value) {
    if constexpr (kInPlace) {
      new (slot->bytes) T(std::move(value));
    } else {
      new (slot->bytes) Stored(new T(std::move(value)));
    }
  }

  // Moves the value out; the slot is empty afterwards.
  static T Take(ValueSlot* slot) {
    const Emptier emptier{slot};
    return std::move(Ref(slot));
  }

  static void Destroy(ValueSlot* slot) { const Emptier emptier{slot}; }

 private:
  struct Emptier {
    ValueSlot* slot;
    ~Emptier() {
      if constexpr (kInPlace) {
        Ref(slot).~T();
      } else {
        delete &Ref(slot);
      }
    }
  };

  static T& Ref(ValueSlot* slot) {
    Stored* stored = std::launder(reinterpret_cast<Stored*>(slot->bytes));
    if constexpr (kInPlace) {
      return *stored;
    } else {
      return **stored;
    }
  }
};

// What a tracker keeps when it lacks the method that would say so.
struct NoValue {};

#define ALLOMON_DETECT(Name, method, ...)                                               \
  template <typename U, typename = void>                                                \
  struct Name {                                                                         \
    static constexpr bool kPresent = false;                                             \
    using Result = std::optional<NoValue>;                                              \
  };                                                                                    \
  template <typename U>                                                                 \
  struct Name<U, std::void_t<decltype(std::declval<U&>().method(__VA_ARGS__))>> {       \
    static constexpr bool kPresent = true;                                              \
    using Result = decltype(std::declval<U&>().method(__VA_ARGS__));                    \
  };

ALLOMON_DETECT(AllocMinorOf, alloc_minor, std::declval<const Allocation&>())
ALLOMON_DETECT(AllocMajorOf, alloc_major, std::declval<const Allocation&>())

// The value type behind the std::optional that a method returns.
template <typename Result>
struct KeptBy;
template <typename T>
struct KeptBy<std::optional<T>> {
  using Type = T;
};

template <typename User, typename Minor, typename = void>
struct PromoteOf {
  static constexpr bool kPresent = false;
  using Result = std::optional<NoValue>;
};
template <typename User, typename Minor>
struct PromoteOf<User, Minor, std::void_t<decltype(std::declval<User&>().promote(std::declval<Minor>()))>> {
  static constexpr bool kPresent = true;
  using Result = decltype(std::declval<User&>().promote(std::declval<Minor>()));
};

template <typename User, typename Minor, typename = void>
struct HasDeallocMinor : std::false_type {};
template <typename User, typename Minor>
struct HasDeallocMinor<User, Minor, std::void_t<decltype(std::declval<User&>().dealloc_minor(std::declval<Minor>()))>>
    : std::true_type {};

template <typename User, typename Major, typename = void>
struct HasDeallocMajor : std::false_type {};
template <typename User, typename Major>
struct HasDeallocMajor<User, Major, std::void_t<decltype(std::declval<User&>().dealloc_major(std::declval<Major>()))>>
    : std::true_type {};

template <typename User, typename Minor, typename = void>
struct HasSurviveMinor : std::false_type {};
template <typename User, typename Minor>
struct HasSurviveMinor<User, Minor, std::void_t<decltype(std::declval<User&>().survive_minor(std::declval<const Allocation&>(), std::declval<Minor>()))>>
    : std::true_type {};

template <typename User, typename Major, typename = void>
struct HasSurviveMajor : std::false_type {};
template <typename User, typename Major>
struct HasSurviveMajor<User, Major, std::void_t<decltype(std::declval<User&>().survive_major(std::declval<const Allocation&>(), std::declval<Major>()))>>
    : std::true_type {};

template <typename User>
class Client final : public SessionClient {
  using Minor = typename KeptBy<typename AllocMinorOf<User>::Result>::Type;
  using Promoted = typename KeptBy<typename PromoteOf<User, Minor>::Result>::Type;
  // A tracker of malloc blocks names Major in alloc_major, one of managed blocks only in
  // promote; one with both must name the same.
  using Major = std::conditional_t<AllocMajorOf<User>::kPresent,
                                   typename KeptBy<typename AllocMajorOf<User>::Result>::Type, Promoted>;
  static_assert(!AllocMajorOf<User>::kPresent || !PromoteOf<User, Minor>::kPresent ||
                    std::is_same_v<Major, Promoted>,
                "alloc_major and promote must return the same std::optional<Major>");
  static_assert(AllocMajorOf<User>::kPresent || AllocMinorOf<User>::kPresent,
                "a tracker needs alloc_major or alloc_minor, public, taking const Allocation& "
                "and returning std::optional of the value to keep");

 public:
  explicit Client(User user) : user_(std::move(user)) {}

  bool AllocMinor(const Allocation& allocation, ValueSlot* slot) override {
    if constexpr (AllocMinorOf<User>::kPresent) {
      return Guard([&] { return Keep<Minor>(user_.alloc_minor(allocation), slot); });
    }
    return false;
  }

  bool AllocMajor(const Allocation& allocation, ValueSlot* slot) override {
    if constexpr (AllocMajorOf<User>::kPresent) {
      return Guard([&] { return Keep<Major>(user_.alloc_major(allocation), slot); });
    }
    return false;
  }

  bool Promote(ValueSlot* slot) override {
    return Guard([&] {
      Minor minor = SlotValue<Minor>::Take(slot);
      if constexpr (PromoteOf<User, Minor>::kPresent) {
        return Keep<Major>(user_.promote(std::move(minor)), slot);
      }
      return false;
    });
  }

  void DeallocMinor(ValueSlot* slot) override {
    Guard([&] {
      Minor minor = SlotValue<Minor>::Take(slot);
      if constexpr (HasDeallocMinor<User, Minor>::value) user_.dealloc_minor(std::move(minor));
      return true;
    });
  }

  void DeallocMajor(ValueSlot* slot) override {
    Guard([&] {
      Major major = SlotValue<Major>::Take(slot);
      if constexpr (HasDeallocMajor<User, Major>::value) user_.dealloc_major(std::move(major));
      return true;
    });
  }

  void SurviveMinor(const Allocation& allocation, ValueSlot* slot) override {
    Guard([&] {
      Minor minor = SlotValue<Minor>::Take(slot);
      if constexpr (HasSurviveMinor<User, Minor>::value) {
        user_.survive_minor(allocation, std::move(minor));
      }
      return true;
    });
  }

  void SurviveMajor(const Allocation& allocation, ValueSlot* slot) override {
    Guard([&] {
      Major major = SlotValue<Major>::Take(slot);
      if constexpr (HasSurviveMajor<User, Major>::value) {
        user_.survive_major(allocation, std::move(major));
      }
      return true;
    });
  }

  void DestroyMinor(ValueSlot* slot) override { SlotValue<Minor>::Destroy(slot); }
  void DestroyMajor(ValueSlot* slot) override { SlotValue<Major>::Destroy(slot); }

 private:
  template <typename T>
  static bool Keep(std::optional<T>&& value, ValueSlot* slot) {
    if (!value.has_value()) return false;
    SlotValue<T>::Put(slot, std::move(*value));
    return true;
  }

  // malloc must not throw: an exception, also from the move of a value, ends the tracking
  // of the block.  The unwinding
  // of a thread that ends itself is none, and must go on.
  template <typename Call>
  bool Guard(Call call) {
    try {
      return call();
    } catch (abi::__forced_unwind&) {
      throw;
    } catch (...) {
      CountException();
      return false;
    }
  }

  User user_;
};

}  // namespace allomon::internal

#undef ALLOMON_DETECT

#endif  // ALLOMON_TRACKER_INTERNAL_CLIENT_H_

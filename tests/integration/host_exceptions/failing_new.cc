// A program that makes its allocations fail, and checks the way in which they fail.
#include <pthread.h>

#include <cstdint>
#include <cstdio>
#include <exception>
#include <new>
#include <thread>

namespace {

// A size larger than every address space.  volatile, because the compiler would refuse the call or
// omit it.
volatile size_t g_too_large = PTRDIFF_MAX / 2;

void* Fail() { return ::operator new(g_too_large); }

int g_failures = 0;

void Expect(bool good, const char* what) {
  if (good) return;
  ++g_failures;
  printf("not so: %s\n", what);
}

// Checks that no exception is in flight.  A second copy of the runtime would leave an exception in
// the host's copy.
void ExpectNothingInFlight(const char* when) {
  Expect(std::uncaught_exceptions() == 0 && std::current_exception() == nullptr, when);
}

bool ThrowsBadAlloc() {
  try {
    Fail();
  } catch (const std::bad_alloc& e) {
    return typeid(e) == typeid(std::bad_alloc);
  } catch (...) {
  }
  return false;
}

struct Given {
  int value;
};
[[noreturn]] void ThrowGiven() { throw Given{std::uncaught_exceptions()}; }
[[noreturn]] void ThrowBadAlloc() { throw std::bad_alloc(); }

int g_asked = 0;
void GiveUp() {
  ++g_asked;
  std::set_new_handler(nullptr);
}

bool HandlersExceptionPasses() {
  std::set_new_handler(ThrowGiven);
  try {
    Fail();
  } catch (const Given& given) {
    std::set_new_handler(nullptr);
    return given.value == 0;
  }
  return false;
}

bool NothrowTurnsBadAllocIntoNull() {
  std::set_new_handler(ThrowBadAlloc);
  void* block = ::operator new(g_too_large, std::nothrow);
  std::set_new_handler(nullptr);
  return block == nullptr;
}

struct Mark {
  bool* marked;
  ~Mark() { *marked = true; }
};

void EndThread() { pthread_exit(nullptr); }

void* EndInHandler(void* marked) {
  const Mark mark{static_cast<bool*>(marked)};
  std::set_new_handler(EndThread);
  return Fail();
}

bool ThreadThatEndsInTheHandlerUnwinds() {
  bool marked = false;
  pthread_t thread;
  if (pthread_create(&thread, nullptr, EndInHandler, &marked) != 0) return false;
  pthread_join(thread, nullptr);
  std::set_new_handler(nullptr);
  return marked;
}

}  // namespace

// Prints the expectations that do not hold on standard output, and returns their number.
extern "C" __attribute__((visibility("default"))) int CheckFailingNew() {
  Expect(ThrowsBadAlloc(), "operator new throws the program's bad_alloc");
  ExpectNothingInFlight("nothing is in flight after bad_alloc");
  bool in_thread = false;
  std::thread([&] { in_thread = ThrowsBadAlloc(); }).join();
  Expect(in_thread, "on another thread too");
  std::set_new_handler(GiveUp);
  Expect(ThrowsBadAlloc() && g_asked == 1, "the program's new-handler is asked");
  Expect(HandlersExceptionPasses(), "an exception of the new-handler passes");
  ExpectNothingInFlight("nothing is in flight after the handler's exception");
  Expect(NothrowTurnsBadAllocIntoNull(), "nothrow new turns the handler's bad_alloc into null");
  ExpectNothingInFlight("nothing is in flight after nothrow new");
  Expect(ThreadThatEndsInTheHandlerUnwinds(), "a thread that ends in the handler unwinds");
  fflush(stdout);
  return g_failures;
}

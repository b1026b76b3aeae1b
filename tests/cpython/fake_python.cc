// A library that looks like CPython 3.12 to what walks its frames, and whose thread state is in
// thread-local storage of the model that FAKE_TLS_MODEL says: for late_python_test.cc.
#include <cstdint>
#include <cstring>

namespace {

constexpr int kWords = 32;

struct Words {
  uint64_t word[kWords];
};

// So large that it is never put beside the thread's stack, but where the model wants that.
thread_local char t_ballast[FAKE_BALLAST_BYTES] __attribute__((tls_model(FAKE_TLS_MODEL)));
thread_local void* t_state __attribute__((tls_model(FAKE_TLS_MODEL))) = nullptr;

Words g_state = {};
Words g_loop = {};
Words g_frame = {};

}  // namespace

extern "C" {

extern const unsigned long Py_Version;        // NOLINT
const unsigned long Py_Version = 0x030c01f0;  // NOLINT
char _PyRuntime[256] = {};                    // NOLINT
// Sizes of an object and of an item, at words 4 and 5.
Words PyCode_Type = {{0, 0, 0, 0, 192, 2}};
Words PyUnicode_Type = {{0, 0, 0, 0, 64}};
Words PyBytes_Type = {{0, 0, 0, 0, 33}};

void* PyGILState_GetThisThreadState() { return nullptr; }
void* _PyThreadState_UncheckedGet() { return t_state; }  // NOLINT

// From here on the calling thread runs a frame.
void FakeRun() {
  g_frame.word[0] = reinterpret_cast<uint64_t>(&PyCode_Type);
  g_frame.word[7] = g_frame.word[0] + 192;
  g_loop.word[0] = reinterpret_cast<uint64_t>(&g_frame);
  g_state.word[7] = reinterpret_cast<uint64_t>(&g_loop);
  t_ballast[0] = 1;
  t_state = &g_state;
}
}

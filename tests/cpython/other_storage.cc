// A library with thread-local storage, which is unloaded: for late_python_test.cc.
namespace {
thread_local char t_storage[4096] __attribute__((tls_model("global-dynamic")));
}

extern "C" char* OtherStorage() { return t_storage; }

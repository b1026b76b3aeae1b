// A library whose symbols tests look up; BUILD also makes stripped copies of it.
namespace {

__attribute__((noinline)) int Hidden(int x) { return x * 3 + 1; }

}  // namespace

namespace fixture {

int Exported(int x) { return Hidden(x) + 2; }

}  // namespace fixture

extern "C" {

int fixture_plain(int x) { return fixture::Exported(x) - 1; }

// Three names for one function.
int fixture_original(int x) { return x ^ 0x55; }
int __fixture_alias(int x) __attribute__((alias("fixture_original")));
int fixture_a(int x) __attribute__((alias("fixture_original")));

// The address of a function without a dynamic symbol.
void* fixture_hidden() { return reinterpret_cast<void*>(&Hidden); }
}

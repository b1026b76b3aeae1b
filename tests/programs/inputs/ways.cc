// A program of two units, built in many ways by ways_to_build.py.
#include "ways.h"

namespace shop {

void* g_last;
Shelves* g_shelves;

// Linkers may remove it, which moves the code after it.
__attribute__((used, noinline)) static int Unused(int x) { return x * 3; }
__attribute__((noinline)) int UnusedToo(int x) { return Unused(x) + (g_shelves ? 1 : 0); }

__attribute__((noinline)) void Fill() {
  for (int i = 0; i < 100; ++i) {
    Reserve(1000);  // line: of Fill
  }
}

__attribute__((noinline)) void Serve() {
  for (int i = 0; i < 100; ++i) {
    Order(500);  // line: of Serve
  }
}

}  // namespace shop

int main() {
  shop::Fill();
  shop::Serve();
  return shop::g_last == nullptr;
}

#include <cstdio>
#include <cstdlib>
#ifdef SAMPLED
#include "tracker/tracker.h"
struct T { std::optional<int> alloc_major(const allomon::Allocation&){return 1;} void dealloc_major(int){} };
#endif
int main(int argc, char** argv) {
  int n = atoi(argv[1]); size_t size = atoi(argv[2]);
#ifdef SAMPLED
  if (argc>3) { auto s = allomon::Tracker::start(atof(argv[3]), T{}); if(!s.ok()) puts("bad"); }
#endif
  for (int i=0;i<n;++i){ void* p = malloc(size); asm volatile(""::"r"(p):"memory"); free(p); }
}

#ifndef ALLOMON_TRACKER_BASE_LINK_MALLOC_H_
#define ALLOMON_TRACKER_BASE_LINK_MALLOC_H_

// The advice in error texts for a program whose malloc does not report, for each build system. It
// is a literal, so that other literals can be joined to it.
#define ALLOMON_LINK_MALLOC                                                            \
  "link Allomon's malloc (in Bazel malloc = \"@allomon//allocator:malloc\", in CMake " \
  "Allomon::malloc, else `pkg-config --libs allomon`; its archive without "            \
  "--whole-archive is not enough)"

#endif  // ALLOMON_TRACKER_BASE_LINK_MALLOC_H_

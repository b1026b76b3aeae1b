// The second unit: with -flto its function may be inlined into the first.
#include "ways.h"

namespace shop {

void* Order(size_t bytes) {
  void* block = std::malloc(bytes);  // line: of Order
  g_last = block;
  return block;
}

}  // namespace shop

// Labels from C11: 2 MB for acme, 1 MB for zeta.
#include <allomon/labels.h>
#include <stdio.h>
#include <stdlib.h>

static void allocate(const char* tenant, int count) {
  struct allomon_label_scope scope;
  allomon_label_push(&scope, "tenant", tenant);
  for (int i = 0; i < count; ++i) {
    volatile char* block = malloc(1000);
    if (block != NULL) *block = 1;
    free((void*)block);
  }
  allomon_label_pop(&scope);
}

int main(void) {
  allomon_label_statistics statistics = ALLOMON_LABEL_STATISTICS_DEFAULTS;
  if (allomon_labels_statistics(&statistics) == ALLOMON_ABSENT) puts("labels are absent");
  allocate("acme", 2000);
  allocate("zeta", 1000);
  return allomon_labels_current() == 0 ? 0 : 1;
}

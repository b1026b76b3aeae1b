// Uses Allomon if the process has it, and links nothing of it.
#include <allomon/allomon.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

static int32_t count(void* user, const allomon_allocation* block, allomon_value* value) {
  value->words[0] = block->size_bytes;
  ++*(int*)user;
  return 1;
}

static int32_t add_blocks(void* user, const allomon_live_stack* stack) {
  *(uint64_t*)user += stack->sampled_blocks;
  return 0;
}

static void say(const char* what, allomon_status status) {
  printf("%s: %s\n", what, allomon_status_text(status));
}

// volatile: the host's calls must be made although the blocks are unused.
static void* volatile blocks[100];

static int run(void) {
  int allocs = 0;
  uint64_t live = 0;
  allomon_callbacks callbacks = ALLOMON_CALLBACKS_DEFAULTS;
  allomon_tracker_options options = ALLOMON_TRACKER_DEFAULTS;
  allomon_tracker tracker = 1;
  callbacks.user = &allocs;
  callbacks.alloc_major = count;
  options.rate = 1;
  say("ready", allomon_ready());
  printf("version %s\n", allomon_version_text());
  const allomon_status status = allomon_tracker_start(&options, &callbacks, &tracker);
  say("start", status);
  for (int i = 0; i < 100; ++i) blocks[i] = malloc(1000);
  allomon_tracker_snapshot(tracker, add_blocks, &live);
  for (int i = 0; i < 100; ++i) free(blocks[i]);
  allomon_custom_memory_release(allomon_custom_memory_report(1 << 20));
  say("stop", allomon_tracker_stop(tracker, ALLOMON_DISCARD));
  printf("%s\n", allocs > 100 && live >= 100 ? "followed" : "not followed");
  return 0;
}

#ifdef AS_PLUGIN
int run_plugin(void) { return run(); }
#else
int main(void) { return run(); }
#endif

#include "tracker/probes/probes.h"

// An argument is "8@" and the operand as the assembler writes it.
#define ALLOMON_PROBE_OPERANDS_1 "8@%[a]"
#define ALLOMON_PROBE_OPERANDS_2 ALLOMON_PROBE_OPERANDS_1 " 8@%[b]"
#define ALLOMON_PROBE_OPERANDS_3 ALLOMON_PROBE_OPERANDS_2 " 8@%[c]"
#define ALLOMON_PROBE_INPUTS_1 [a] "r"(a)
#define ALLOMON_PROBE_INPUTS_2 ALLOMON_PROBE_INPUTS_1, [b] "r"(b)
#define ALLOMON_PROBE_INPUTS_3 ALLOMON_PROBE_INPUTS_2, [c] "r"(c)
#define ALLOMON_PROBE_PARAMETERS_1 uint64_t a
#define ALLOMON_PROBE_PARAMETERS_2 ALLOMON_PROBE_PARAMETERS_1, uint64_t b
#define ALLOMON_PROBE_PARAMETERS_3 ALLOMON_PROBE_PARAMETERS_2, uint64_t c

// The note: lengths of owner and contents, type 3, the owner; then the addresses of the nop, of the
// base section and of the semaphore; then three texts.  Notes are not loaded, so they cost a
// running process nothing, and strip leaves them.  If a file's addresses are moved later, a reader
// learns by how much from the base section, which is loaded.  A function that is not inlined has
// one nop.
//
// --gc-sections must drop nothing that such a note refers to, and does not look into notes that are
// not loaded.  So the functions share a section, and refer to the base and the semaphores by
// relocations that change nothing; and a loaded note, which is kept, refers to their section.  Its
// type is none that readers of process_map.h look for.
// clang-format off
asm(".pushsection .note.allomon_probes, \"a\", \"note\"\n"
    ".balign 4\n"
    ".4byte 2f - 1f, 0, 3\n"
    "1: .asciz \"Allomon\"\n"
    "2: .balign 4\n"
    ".reloc 1b, BFD_RELOC_NONE, .text.allomon_probes\n"
    ".popsection\n");

#define ALLOMON_PROBE(provider, name, function, count)                               \
  __attribute__((noinline, section(".text.allomon_probes")))                         \
  void function(ALLOMON_PROBE_PARAMETERS_##count) {                                  \
    asm volatile(                                                                    \
        ".reloc ., BFD_RELOC_NONE, _.stapsdt.base\n"                                 \
        ".reloc ., BFD_RELOC_NONE, " #provider "_" #name "_semaphore\n"              \
        "1: nop\n"                                                                   \
        ".pushsection .note.stapsdt, \"\", \"note\"\n"                               \
        ".balign 4\n"                                                                \
        ".4byte 3f - 2f, 5f - 4f, 3\n"                                               \
        "2: .asciz \"stapsdt\"\n"                                                    \
        "3: .balign 4\n"                                                             \
        "4: .8byte 1b, _.stapsdt.base, " #provider "_" #name "_semaphore\n"          \
        ".asciz \"" #provider "\", \"" #name "\"\n"                                  \
        ".asciz \"" ALLOMON_PROBE_OPERANDS_##count "\"\n"                            \
        "5: .balign 4\n"                                                             \
        ".popsection\n"                                                              \
        ".ifndef _.stapsdt.base\n"                                                   \
        ".pushsection .stapsdt.base, \"aG\", \"progbits\", .stapsdt.base, comdat\n"  \
        ".weak _.stapsdt.base\n"                                                     \
        ".hidden _.stapsdt.base\n"                                                   \
        "_.stapsdt.base: .space 1\n"                                                 \
        ".size _.stapsdt.base, 1\n"                                                  \
        ".popsection\n"                                                              \
        ".endif\n"                                                                   \
        :                                                                            \
        : ALLOMON_PROBE_INPUTS_##count                                               \
        : "memory");                                                                 \
  }
// clang-format on

namespace allomon::probes {

// The section of the semaphores is named by convention, like the two of the notes below.
#define ALLOMON_PROBE_SEMAPHORE(provider, name, function, count) \
  uint16_t provider##_##name##_semaphore __attribute__((section(".probes"), used)) = 0;
extern "C" {
ALLOMON_PROBES(ALLOMON_PROBE_SEMAPHORE)
}
#undef ALLOMON_PROBE_SEMAPHORE

ALLOMON_PROBES(ALLOMON_PROBE)

}  // namespace allomon::probes

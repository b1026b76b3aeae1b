// Ends as a Go program that uses C does, and has the note that Go's linker writes.
#include <sys/syscall.h>
#include <unistd.h>

asm(".pushsection .note.go.buildid, \"a\", @note\n"
    ".balign 4\n"
    ".long 4, 4, 4\n"
    ".ascii \"Go\\0\\0\"\n"
    ".ascii \"abcd\"\n"
    ".popsection");

int main() { syscall(SYS_exit_group, 0); }

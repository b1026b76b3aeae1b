// Files whose debug sections are compressed by zstd, for an elfutils that cannot read them (before
// 0.189).
#ifndef ALLOMON_TOOLS_SYMBOLS_EXPANDED_FILE_H_
#define ALLOMON_TOOLS_SYMBOLS_EXPANDED_FILE_H_

namespace allomon {

// Takes an open ELF file.  Answers a copy of it in memory in which these sections are not
// compressed, and closes the file; the file itself if it has none, if the sections are damaged or
// claim to be too large, or where Allomon was built without libzstd.  -1 stays -1.
//
// Cost: the headers of sections; of a file that has such sections, its bytes and theirs in memory
// until the copy is closed.
int ExpandedFile(int fd);

// Whether it would try.
bool IsExpandable(int fd);

}  // namespace allomon

#endif  // ALLOMON_TOOLS_SYMBOLS_EXPANDED_FILE_H_

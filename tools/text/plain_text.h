#ifndef ALLOMON_TOOLS_TEXT_PLAIN_TEXT_H_
#define ALLOMON_TOOLS_TEXT_PLAIN_TEXT_H_

#include <string>
#include <string_view>

namespace allomon {

// The characters that the reader's terminal can show.
enum class Charset { kAscii, kUtf8 };

// Returns `text` without anything that could control a terminal instead of being shown, whatever
// its origin.  Control characters (C0, DEL, C1) and bytes that are not UTF-8 become \x1b and so on.
// Marks that are invisible or turn the direction of writing become \u202e and so on (Unicode
// Technical Report 36).  With kAscii all other characters beyond ASCII are escaped too, because in
// another encoding their bytes may be control characters.
std::string Printable(std::string_view text, Charset charset);

// Returns the mark for removed text: one column wide.
const char* CutMark(Charset charset);

// Returns the end of a printable text, in at most `columns` columns, with a mark for the missing
// beginning.  The end of a qualified name or of a path tells it from others.
std::string CutToEnd(const std::string& text, int columns, Charset charset);

// Returns the beginning of a printable text, in the same way, with a mark for the missing end.
std::string CutToBeginning(const std::string& text, int columns, Charset charset);

}  // namespace allomon

#endif  // ALLOMON_TOOLS_TEXT_PLAIN_TEXT_H_

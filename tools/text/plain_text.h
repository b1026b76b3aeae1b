#ifndef ALLOMON_TOOLS_TEXT_PLAIN_TEXT_H_
#define ALLOMON_TOOLS_TEXT_PLAIN_TEXT_H_

#include <string>
#include <string_view>

namespace allomon {

// The characters that the reader's terminal is known to show.
enum class Charset { kAscii, kUtf8 };

// `text` with nothing in it that could act on a terminal instead of being shown, whoever
// chose the text: control characters (C0, DEL, C1) and bytes that are not UTF-8 become \x1b
// and the like, marks that turn the direction of writing or are invisible become \u202e and
// the like (Unicode Technical Report 36).  With kAscii so does all that is not ASCII: in
// another encoding its bytes may be control characters.
std::string Printable(std::string_view text, Charset charset);

// The end of a printable text, with a mark for what is missing before it, in at most
// `columns` columns: of a qualified name or a path, the end is what tells it from others.
std::string CutToEnd(const std::string& text, int columns, Charset charset);

}  // namespace allomon

#endif  // ALLOMON_TOOLS_TEXT_PLAIN_TEXT_H_

// The page's files, which the build embeds into the program (BUILD, embedded_page).
#ifndef ALLOMON_TOOLS_FLAME_EMBEDDED_PAGE_H_
#define ALLOMON_TOOLS_FLAME_EMBEDDED_PAGE_H_

namespace allomon::flame {

extern const char kHtml[];
extern const char kStyle[];
extern const char kScript[];

// SHA-256 of kStyle and kScript in base64, for the page's content security policy.
extern const char kStyleHash[];
extern const char kScriptHash[];

}  // namespace allomon::flame

#endif  // ALLOMON_TOOLS_FLAME_EMBEDDED_PAGE_H_

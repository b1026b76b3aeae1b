#include "tracker/names/wrappers.h"

#include <fnmatch.h>

#include <algorithm>
#include <cctype>
#include <cstdint>

namespace allomon {
namespace {

// By program or library.
constexpr std::string_view kKnown =
    "*xmalloc,*xmallocz,*xmalloc0,*xmalloc2,*xcalloc,*xrealloc,*xrealloc2,*xreallocarray,*xzalloc,"
    "*xstrdup,*xstrndup,*xmemdup,*xmemdupz,*xasprintf,*xvasprintf,xnmalloc,xnrealloc,x2realloc,"
    "x2nrealloc,xpalloc,xcharalloc,"
    "*zmalloc,*zmalloc_usable,zcalloc*,zrealloc*,ztrymalloc*,ztrycalloc*,ztryrealloc*,"
    "*safe_malloc,*safe_calloc,*safe_realloc,emalloc,ecalloc,erealloc,"
    "strdup,__strdup,strndup,__strndup,wcsdup,__wcsdup,asprintf,__asprintf*,vasprintf,__vasprintf*,"
    "reallocarray,__libc_reallocarray,*obstack_newchunk,*obstack_begin,*obstack_begin_1,"
    "operator new*,*::operator new*,std::*,__gnu_cxx::*,__cxa_allocate_exception,"
    "absl::*container_internal::*,llvm::safe_*alloc*,llvm::allocate_buffer,llvm::SmallVectorBase*,"
    "alloc::raw_vec*,alloc::alloc*,alloc::boxed*,alloc::collections*,alloc::rc*,alloc::slice*,"
    "alloc::string*,alloc::sync*,alloc::vec*,<alloc::*,<* as "
    "alloc::*,<hashbrown::*,<std::*,finish_grow,__rust_*alloc*,"
    "__rdl_*alloc*,hashbrown::*,core::iter::*,_R*_5alloc7raw_vec*,_R*_9hashbrown3raw*,_R*_"
    "5alloc5alloc15exchange_mall*,"
    "g_malloc*,g_try_malloc*,g_realloc*,g_try_realloc*,g_slice_*,g_strdup*,g_strndup,g_memdup*,"
    "monoeg_*alloc*,monoeg_g_*alloc*,monoeg_g_strdup*,monoeg_strdup,"
    "CRYPTO_*alloc,CRYPTO_str*dup,CRYPTO_memdup,"
    "sqlite3Malloc*,sqlite3_malloc*,sqlite3MemMalloc,sqlite3Realloc*,sqlite3_realloc*,"
    "sqlite3MemRealloc,sqlite3DbMalloc*,sqlite3DbRealloc*,dbMallocRawFinish,mallocWithAlarm,"
    "palloc*,repalloc*,pstrdup,pnstrdup,MemoryContextAlloc*,MemoryContextStrdup,AllocSetAlloc*,"
    "AllocSetRealloc,AllocSetContextCreate*,GenerationAlloc*,SlabAlloc*,pg_malloc*,pg_realloc,"
    "Perl_safesys*,Perl_more_bodies,Perl_savepv*,"
    "PyMem_*,_PyMem_*,PyObject_Malloc,PyObject_Calloc,PyObject_Realloc,_PyObject_Malloc,"
    "_PyObject_Calloc,_PyObject_Realloc,_PyObject_GC_New*,_PyObject_New*,_PyObject_GC_Resize,"
    "PyType_GenericAlloc,_PyType_AllocNoTrack,"
    "luaM_*,l_alloc,lalloc,lalloc_clear,lalloc_id,alloc,alloc_clear,mem_realloc,"
    "ruby_x*alloc*,rb_gc_impl_*alloc*,objspace_x*alloc*,_emalloc*,_ecalloc*,_erealloc*,"
    "_safe_emalloc*,_estrdup*,_estrndup*,__zend_*alloc,"
    "os::malloc*,os::realloc*,os::strdup*,AllocateHeap*,ReallocateHeap*,CHeapObj*,Chunk::*,"
    "ChunkPool::*,Arena::grow*,node::*Malloc*,node::*Realloc*,v8::base::Malloc,"
    "v8::internal::AllocWithRetry*,"
    "my_malloc*,my_realloc*,my_multi_malloc*,my_strdup*,alloc_root,multi_alloc_root,"
    "apr_palloc*,apr_pcalloc*,apr_pool_create*,allocator_alloc,"
    "av_malloc*,av_realloc*,av_calloc,av_fast_*alloc*,av_strdup,"
    "bfd_malloc*,bfd_zmalloc*,bfd_realloc*,bfd_alloc*,bfd_zalloc*,ggc_internal_*alloc*,"
    "R_chk_*alloc,erts_alloc*,erts_sys_*alloc,lmalloc,lrealloc";

constexpr size_t kNone = std::string_view::npos;

bool StartsWith(std::string_view text, std::string_view head) {
  return text.substr(0, head.size()) == head;
}
bool EndsWith(std::string_view text, std::string_view tail) {
  return text.size() >= tail.size() && text.substr(text.size() - tail.size()) == tail;
}

uint8_t Byte(char c) { return static_cast<uint8_t>(c); }

bool IsWordCharacter(char c) { return isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

// Walks over a demangled name.
class NameScan {
 public:
  explicit NameScan(std::string_view name) : name_(name) {}

  std::string_view Bare() {
    while (at_ < name_.size() && !Done()) Step();
    return name_.substr(start_, at_ - start_);
  }

 private:
  // At the parameters.  `decltype(...)` in front of a name is what the function returns.
  bool Done() const {
    if (depth_ != 0 || name_[at_] != '(' || AtAnonymous()) return false;
    return !EndsWith(name_.substr(0, at_), "decltype") && !EndsWith(name_.substr(0, at_), " ");
  }

  bool AtAnonymous() const { return StartsWith(name_.substr(at_), "(anonymous namespace)"); }

  bool AtOperator() const {
    constexpr std::string_view kOperator = "operator";
    const size_t end = at_ + kOperator.size();
    const bool begins = at_ == 0 || name_[at_ - 1] == ' ' || name_[at_ - 1] == ':';
    return begins && StartsWith(name_.substr(at_), kOperator) &&
           (end == name_.size() || !IsWordCharacter(name_[end]));
  }

  void Step() {
    if (depth_ == 0 && AtOperator()) return TakeOperator();
    const char c = name_[at_++];
    if (c == '<' || c == '(' || c == '[' || c == '{') ++depth_;
    if (c == '>' || c == ')' || c == ']' || c == '}') --depth_;
    if (c == ' ' && depth_ == 0) start_ = at_;
  }

  // All up to the parameters is the operator's name: its brackets and blanks mean nothing.
  void TakeOperator() {
    const size_t symbol = at_ + std::string_view("operator").size();
    const size_t from = StartsWith(name_.substr(symbol), "()") ? symbol + 2 : symbol;
    at_ = std::min(name_.find('(', from), name_.size());
    name_ = name_.substr(0, at_);
  }

  std::string_view name_;
  size_t at_ = 0;
  size_t start_ = 0;
  int depth_ = 0;
};

template <typename Use>
void ForEachPattern(std::string_view patterns, Use use) {
  for (size_t begin = 0, end; begin < patterns.size(); begin = end + 1) {
    end = std::min(patterns.find(',', begin), patterns.size());
    if (end != begin) use(std::string(patterns.substr(begin, end - begin)));
  }
}

}  // namespace

std::string WrappersOf(ProfileKind kind, const std::optional<std::string>& setting) {
  const std::string own = setting.value_or("");
  const bool none_wanted = setting.has_value() && own.empty();
  if (kind != ProfileKind::kAlloc || none_wanted) return own;
  return std::string(kKnownWrappers) + (own.empty() ? "" : ",") + own;
}

std::string_view BareName(std::string_view name) {
  // What has no parameters is no C++ function, or one of Rust: "<a as b>::c".
  if (name.find('(') == kNone || StartsWith(name, "<")) return name;
  return NameScan(name).Bare();
}

Wrappers::Wrappers(std::string_view patterns) {
  ForEachPattern(patterns, [this](std::string pattern) {
    if (pattern != kKnownWrappers) return Add(std::move(pattern));
    ForEachPattern(kKnown, [this](std::string known) { Add(std::move(known)); });
  });
  std::sort(names_.begin(), names_.end());
}

void Wrappers::Add(std::string pattern) {
  constexpr char kSpecial[] = "*?[\\";
  const size_t special = pattern.find_first_of(kSpecial);
  const size_t next = special == kNone ? kNone : pattern.find_first_of(kSpecial, special + 1);
  const bool is_one_star = special != kNone && pattern[special] == '*' && next == kNone;
  if (special == kNone) {
    names_.push_back(std::move(pattern));
  } else if (is_one_star && special != 0 && special + 1 == pattern.size()) {
    heads_[Byte(pattern.front())].push_back(pattern.substr(0, special));
  } else if (is_one_star && special == 0 && pattern.size() > 1) {
    tails_[Byte(pattern.back())].push_back(pattern.substr(1));
  } else {
    others_.push_back(std::move(pattern));
  }
}

bool Wrappers::Matches(const std::string& name) const {
  if (name.empty()) return false;
  const auto any = [](const std::vector<std::string>& patterns, auto matches) {
    return std::any_of(patterns.begin(), patterns.end(), matches);
  };
  const auto is_head = [&name](const std::string& head) { return StartsWith(name, head); };
  const auto is_tail = [&name](const std::string& tail) { return EndsWith(name, tail); };
  const auto fits = [&name](const std::string& p) { return !fnmatch(p.c_str(), name.c_str(), 0); };
  return std::binary_search(names_.begin(), names_.end(), name) ||
         any(heads_[Byte(name.front())], is_head) || any(tails_[Byte(name.back())], is_tail) ||
         any(others_, fits);
}

bool Wrappers::Contain(const std::string& name) const {
  const std::string_view bare = BareName(name);
  if (Matches(std::string(bare))) return true;
  // What a function returns does not make it one of "std::*".
  return bare.size() != name.size() &&
         Matches(name.substr(static_cast<size_t>(bare.data() - name.data())));
}

}  // namespace allomon

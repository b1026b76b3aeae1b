#include "tracker/names/wrappers.h"

#include <fnmatch.h>

#include <algorithm>
#include <cctype>
#include <cstdint>

#include "tracker/base/check.h"

namespace allomon {
namespace {

// Patterns by program or library.
constexpr std::string_view kKnown =
    "*xmalloc,*xmallocz,*xmalloc0,*xmalloc2,*xcalloc,*xrealloc,*xrealloc2,*xreallocarray,*xzalloc,"
    "*xstrdup,*xstrndup,*xmemdup,*xmemdupz,*xasprintf,*xvasprintf,xnmalloc,xnrealloc,x2realloc,"
    "x2nrealloc,xpalloc,xcharalloc,"
    "*zmalloc,*zmalloc_usable,zmalloc_with_flags,zcalloc*,zrealloc*,ztrymalloc*,ztrycalloc*,"
    "ztryrealloc*,"
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
    "R_chk_*alloc,erts_alloc*,erts_sys_*alloc,lmalloc,lrealloc,"
    // Ada: the runtime, its pools, its secondary stack.
    "__gnat_malloc,__gnat_realloc,system__memory__alloc*,system__memory__realloc,system__pool_*,"
    "system__storage_pools__*,system__secondary_stack__*,"
    // Pictures, sound, fonts.
    "x264_malloc,x264_8_malloc,x264_10_malloc,x264_param_strdup,x265_malloc,*::x265_malloc,"
    "dav1d_malloc*,dav1d_alloc_aligned*,vpx_malloc,vpx_calloc,vpx_memalign,aom_malloc,aom_calloc,"
    "aom_memalign,opj_malloc,opj_calloc,opj_realloc,opj_aligned_malloc,opj_aligned_realloc,"
    "png_malloc*,png_calloc,jpeg_get_small,jpeg_get_large,_TIFFmalloc*,_TIFFcalloc*,_TIFFrealloc*,"
    "ft_alloc,ft_mem_alloc,ft_mem_qalloc,ft_mem_realloc,ft_mem_qrealloc,SDL_malloc*,SDL_calloc*,"
    "SDL_realloc*,SDL_strdup*,MEM_lockfree_*,MEM_guarded_*,MEM_mallocN*,MEM_callocN*,MEM_reallocN*,"
    // Servers and their libraries.
    "ngx_alloc,ngx_calloc,ngx_palloc*,ngx_pnalloc,ngx_pcalloc,ngx_memalign,h2o_mem_alloc*,"
    "lws_malloc,lws_zalloc,lws_realloc,uv__malloc,uv__calloc,uv__realloc,uv__strdup,"
    "event_mm_malloc_,event_mm_calloc_,event_mm_realloc_,event_mm_strdup_,_talloc*,__talloc*,"
    "talloc_*,isc_mem_get*,isc__mem_get*,isc_mem_allocate*,isc__mem_allocate*,isc_mem_reallocate*,"
    "bson_malloc*,bson_realloc*,bson_strdup*,git__malloc*,git__calloc*,git__realloc*,git__strdup,"
    "git__strndup,git__substrdup,Curl_strdup,Curl_memdup*,xmlMemMalloc,xmlMemRealloc,xmlStrdup,"
    "xmlStrndup,gcry_malloc*,gcry_calloc*,gcry_realloc*,_gcry_malloc*,_gcry_calloc*,_gcry_realloc*,"
    "mbedtls_calloc,wolfSSL_Malloc,wolfSSL_Realloc,PORT_Alloc*,PORT_ZAlloc*,PR_Malloc,PR_Calloc,"
    "PR_Realloc,PL_ArenaAllocate,rte_malloc*,rte_zmalloc*,rte_calloc*,"
    // Frameworks and languages.
    "QArrayData::allocate*,QArrayData::reallocate*,QListData::realloc*,qMallocAligned,"
    "qReallocAligned,XtMalloc,XtCalloc,XtRealloc,Tcl_Alloc,Tcl_AttemptAlloc,Tcl_Realloc,TclpAlloc,"
    "TclpRealloc,WTF::fastMalloc*,WTF::tryFastMalloc*,WTF::fastRealloc*,bmalloc::*,"
    "caml_stat_alloc*,caml_stat_calloc*,caml_stat_resize*,caml_stat_strdup*,caml_alloc_for_heap,"
    "scm_malloc,scm_calloc,scm_realloc,scm_gc_malloc*,stgMallocBytes,stgCallocBytes,"
    "stgReallocBytes,js_malloc*,js_calloc*,js_realloc*,js_strdup,js_def_malloc,js_def_realloc,"
    "mrb_malloc*,mrb_calloc,mrb_realloc*,__gmp_default_allocate,__gmp_default_reallocate,__gmp_tmp_"
    "reentrant_alloc";

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
    ALLOMON_DCHECK("inv.names.part", start_ <= at_ && at_ <= name_.size());
    return name_.substr(start_, at_ - start_);
  }

 private:
  // Whether the scan is at the parameters.  The brackets of a leading `decltype(...)` are part of
  // the return type.
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

  // All text up to the parameters is the operator's name: its brackets and blanks mean nothing.
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
  // A name without parameters is not a C++ function.  One like "<a as b>::c" is Rust's.
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
  ALLOMON_DCHECK("inv.names.pattern", !pattern.empty());
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
  ALLOMON_DCHECK("inv.names.part", name.data() <= bare.data() &&
                                       bare.data() + bare.size() <= name.data() + name.size());
  if (Matches(std::string(bare))) return true;
  // The return type does not make a function one of "std::*".
  return bare.size() != name.size() &&
         Matches(name.substr(static_cast<size_t>(bare.data() - name.data())));
}

}  // namespace allomon

#!/usr/bin/env bash
# usage: mend_mimalloc.sh DIRECTORY
#
# Mends two defects of mimalloc 3.0.1 in its unpacked source; other versions stay as they are, as
# does what has been mended.
#
# 1. A page knows by a flag whether it has blocks that begin inside of a cell, as aligned_alloc()
#    makes them.  When a thread abandons the page (it is full, or the thread ends) 3.0.1 forgets the
#    flag.  A free then takes the middle of a cell for its begin, and the next blocks of the page
#    overlap: four threads that free each other's aligned blocks crash within a second.  So the flag
#    is kept, and what asks whether a page is abandoned looks past it.
# 2. A new page is entered into a map, a part of which may have to be made for that.  Where memory
#    has ended (ulimit -v) there is none for the part, and 3.0.1 writes to address 0.  So the part
#    is made before the page is, and without it the page is given back.
set -euo pipefail

source=$1
grep -q '^#define MI_MALLOC_VERSION 301' "$source/include/mimalloc.h" || exit 0

# The files that are mended are renamed at the end, so that a failure leaves none half mended.
mended=()
trap 'rm -f "${mended[@]/%/.new}"' EXIT
begin() { # file, word that tells a mended one
  file=$source/$1
  ! grep -q "$2" "$file" || return 1
  [[ -f $file.new ]] || cp "$file" "$file.new"
  mended+=("$file")
}

replace() { # a line's part that is there once, what is to be there (a replacement of sed's)
  [[ $(grep -cF -- "$1" "$file.new") == 1 ]] || {
    echo "bazelw: the source of mimalloc 3.0.1 has not the line that is to be mended: $1" >&2
    exit 1
  }
  local pattern=${1//\*/\\*}
  sed -i "s#$pattern#$2#" "$file.new"
}

word='mi_atomic_load_relaxed(\&page->xthread_id)'
kept="($word \& MI_PAGE_HAS_ALIGNED)"
if begin include/mimalloc/internal.h 'mended for allomon'; then
  replace 'mi_atomic_store_release(&page->xthread_id, heap->tld->thread_id);' \
    "mi_atomic_store_release(\&page->xthread_id, heap->tld->thread_id | $kept);"
  replace 'mi_atomic_store_release(&page->xthread_id,0);' \
    "mi_atomic_store_release(\&page->xthread_id, $kept);"
  replace 'return (mi_page_xthread_id(page) <= MI_PAGE_IS_ABANDONED_MAPPED);' \
    'return (mi_page_thread_id(page) == 0);'
  replace 'return (mi_page_xthread_id(page) == MI_PAGE_IS_ABANDONED_MAPPED);' \
    'return ((mi_page_xthread_id(page) \& ~MI_PAGE_HAS_ALIGNED) == MI_PAGE_IS_ABANDONED_MAPPED);'
  echo '// mended for allomon by tools/setup/mend_mimalloc.sh' >>"$file.new"
fi

map='bool allomon_has_page_map(const void* page, size_t size)'
if begin include/mimalloc/internal.h allomon_has_page_map; then
  replace 'void          _mi_page_map_register(mi_page_t* page);' "&\\n$map;"
fi
if begin src/page-map.c allomon_has_page_map; then
  # No entry is behind the first MI_LARGE_PAGE_SIZE bytes of a page.
  replace 'static size_t mi_page_map_get_idx(mi_page_t* page, size_t* sub_idx,' \
    "$map {\\
  if (size > MI_LARGE_PAGE_SIZE) { size = MI_LARGE_PAGE_SIZE; }\\
  const size_t last = _mi_page_map_index((const uint8_t*)page + size - 1, NULL);\\
  for (size_t idx = _mi_page_map_index(page, NULL); idx <= last; idx++) {\\
    if (mi_page_map_ensure_at(idx) == NULL) return false;\\
  }\\
  return true;\\
}\\
\\
&"
fi
if begin src/arena.c allomon_has_page_map; then
  replace '  // guard page at the end of mimalloc page?' \
    "  if mi_unlikely(!allomon_has_page_map(page, alloc_size)) {\\
    if (memid.memkind == MI_MEM_ARENA) {\\
      mi_bitmap_clear(memid.mem.arena.arena->pages, memid.mem.arena.slice_index);\\
    }\\
    _mi_arenas_free(page, alloc_size, memid);\\
    return NULL;\\
  }\\
\\
&"
fi

for file in "${mended[@]}"; do [[ ! -f $file.new ]] || mv "$file.new" "$file"; done

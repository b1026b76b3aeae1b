#!/usr/bin/env bash
# usage: mend_mimalloc.sh DIRECTORY
#
# Mends two defects of mimalloc 3.0.1 in its unpacked source.  Other versions, and source that has
# been mended already, stay unchanged.
#
# 1. A flag of a page says whether it has blocks that begin inside of a cell, as aligned_alloc()
#    makes them.  When a thread abandons the page (it is full, or the thread ends) 3.0.1 clears the
#    flag.  A free then takes the middle of a cell for its begin, and the next blocks of the page
#    overlap: four threads that free each other's aligned blocks crash within a second.  The mended
#    source keeps the flag, and ignores it when it checks whether a page is abandoned.
# 2. A new page is entered into a map, and a part of the map may have to be allocated for that.  If
#    memory has run out (ulimit -v), that fails, and 3.0.1 writes to address 0.  The mended source
#    allocates the parts for a whole arena together with it (64 KiB of addresses for 512 MiB).  It
#    allocates a part that is still missing before the page, and gives the page back if that fails.
set -euo pipefail

source=$1
grep -q '^#define MI_MALLOC_VERSION 301' "$source/include/mimalloc.h" || exit 0

# Mended files are renamed at the end, so that a failure leaves no file half mended.
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
  replace 'static size_t mi_page_map_get_idx(mi_page_t* page, size_t* sub_idx,' \
    "$map {\\
  if (_mi_page_map == NULL \&\& !_mi_page_map_init()) return false;\\
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
  replace '  // mi_lock_init(&arena->abandoned_visit_lock);' \
    "  allomon_has_page_map(start, mi_size_of_slices(slice_count));"
  # All entries are in the first MI_LARGE_PAGE_SIZE bytes of a page.
  replace '  // guard page at the end of mimalloc page?' \
    "  size_t mapped_size = MI_LARGE_PAGE_SIZE;\\
  if (mapped_size > alloc_size) { mapped_size = alloc_size; }\\
  if mi_unlikely(!allomon_has_page_map(page, mapped_size)) {\\
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

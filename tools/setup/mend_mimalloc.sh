#!/usr/bin/env bash
# usage: mend_mimalloc.sh DIRECTORY
#
# Mends a defect of mimalloc 3.0.1 in its unpacked source; other versions stay as they are.
#
# A page knows by a flag whether it has blocks that begin inside of a cell, as aligned_alloc() makes
# them.  When a thread abandons the page (it is full, or the thread ends) 3.0.1 forgets the flag.  A
# free then takes the middle of a cell for its begin, and the next blocks of the page overlap: four
# threads that free each other's aligned blocks crash within a second.  So the flag is kept, and
# what asks whether a page is abandoned looks past it.
set -euo pipefail

header=$1/include/mimalloc/internal.h
grep -q '^#define MI_MALLOC_VERSION 301' "$1/include/mimalloc.h" || exit 0
grep -q 'allomon' "$header" && exit

word='mi_atomic_load_relaxed(\&page->xthread_id)'
kept="($word \& MI_PAGE_HAS_ALIGNED)"

replace() { # what is there, what is to be there
  [[ $(grep -cF -- "$1" "$header.new") == 1 ]] || {
    echo "bazelw: the source of mimalloc 3.0.1 has not the line that is to be mended: $1" >&2
    rm -f "$header.new"
    exit 1
  }
  local pattern=${1//\*/\\*}
  sed -i "s/$pattern/$2/" "$header.new"
}

cp "$header" "$header.new"
replace 'mi_atomic_store_release(&page->xthread_id, heap->tld->thread_id);' \
  "mi_atomic_store_release(\&page->xthread_id, heap->tld->thread_id | $kept);"
replace 'mi_atomic_store_release(&page->xthread_id,0);' \
  "mi_atomic_store_release(\&page->xthread_id, $kept);"
replace 'return (mi_page_xthread_id(page) <= MI_PAGE_IS_ABANDONED_MAPPED);' \
  'return (mi_page_thread_id(page) == 0);'
replace 'return (mi_page_xthread_id(page) == MI_PAGE_IS_ABANDONED_MAPPED);' \
  'return ((mi_page_xthread_id(page) \& ~MI_PAGE_HAS_ALIGNED) == MI_PAGE_IS_ABANDONED_MAPPED);'
echo '// mended for allomon by tools/setup/mend_mimalloc.sh' >>"$header.new"
mv "$header.new" "$header"

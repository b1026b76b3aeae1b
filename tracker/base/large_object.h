// The place of large global objects.
//
// A start-up touches a few words of hundreds of small variables.  Were there tables of many pages
// between them, nearly each variable would have a page of its own, and a page that is touched for
// the first time costs a microsecond.  So global objects from 1 KiB on are marked, and the linker
// keeps them apart from the rest:
//
//   ALLOMON_LARGE_ZEROS Cell g_cells[4096];   // all bits are 0 at the start
//   ALLOMON_LARGE_DATA EntryTable entry_table;  // initialised at compile time to something else
//
// The mark stands at the definition.  A variable of a template or an inline one cannot have it.
// A marked object is as before: no page is touched before it is used, and nothing calls anything.
#ifndef ALLOMON_TRACKER_BASE_LARGE_OBJECT_H_
#define ALLOMON_TRACKER_BASE_LARGE_OBJECT_H_

// Compilers know by the name that the file has no bytes of this section.  The linkers place it
// after .bss.
#define ALLOMON_LARGE_ZEROS __attribute__((section(".sbss.allomon")))
// Linkers place a section that they do not know between .data and .bss.
#define ALLOMON_LARGE_DATA __attribute__((section("allomon_tables")))

#endif  // ALLOMON_TRACKER_BASE_LARGE_OBJECT_H_

// Whether a thread has the thread-local storage of a library that was loaded late.
//
// Such storage is allocated when a thread first reads it, by malloc, in __tls_get_addr.  A tick's
// handler may not go there: it may have interrupted malloc.  But a thread that never read the
// storage never wrote it either, so a handler need not ask.
//
// Where glibc notes the storage of a thread is part of the ABI of x86-64 (the TLS ABI's dtv), but
// for its generation and length; what is read here is compared with the dynamic linker's answers.
#ifndef ALLOMON_TRACKER_CPYTHON_THREAD_STORAGE_H_
#define ALLOMON_TRACKER_CPYTHON_THREAD_STORAGE_H_

#include <cstddef>

namespace allomon::cpython {

struct ThreadStorage {
  size_t module;      // the dynamic linker's number of the library; 0: each thread has the storage
  size_t generation;  // the threads that know of the library have come as far as this
};

// Called once, by a thread that may allocate.  `symbol` lies in the library, and `read` reads its
// thread-local variables.  False if the C library is not known to be laid out as here.
bool FindThreadStorage(const void* symbol, void* (*read)(), ThreadStorage* storage);

// Whether the calling thread has the library's variables, so that reading them allocates none.  The
// dynamic linker may free other libraries' all the same (README.md, "Weak").  Callable anywhere.
bool HasThreadStorage(const ThreadStorage& storage);

}  // namespace allomon::cpython

#endif  // ALLOMON_TRACKER_CPYTHON_THREAD_STORAGE_H_

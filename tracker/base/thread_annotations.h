// Macros for clang's thread safety analysis, which checks at compile time which lock guards which
// data.
//
// `bazel build --config=thread_safety //...` checks them with clang and treats a finding as an
// error; other compilers see nothing.  The names are those of clang's manual, "Thread Safety
// Analysis".
#ifndef ALLOMON_TRACKER_BASE_THREAD_ANNOTATIONS_H_
#define ALLOMON_TRACKER_BASE_THREAD_ANNOTATIONS_H_

#if defined(__clang__)
#define ALLOMON_ANNOTATION(attribute) __attribute__((attribute))
#else
#define ALLOMON_ANNOTATION(attribute)
#endif

// Attributes of a class: an object of it is a lock, or holds one for the length of its scope.
#define ALLOMON_LOCKABLE ALLOMON_ANNOTATION(capability("mutex"))
#define ALLOMON_SCOPED_LOCKABLE ALLOMON_ANNOTATION(scoped_lockable)

// Attributes of data: it is read and written only while the lock is held.
#define ALLOMON_GUARDED_BY(lock) ALLOMON_ANNOTATION(guarded_by(lock))
#define ALLOMON_PT_GUARDED_BY(lock) ALLOMON_ANNOTATION(pt_guarded_by(lock))

// Attributes of a function: the caller holds the lock or does not hold it, or the function takes or
// releases it.
#define ALLOMON_REQUIRES(...) ALLOMON_ANNOTATION(requires_capability(__VA_ARGS__))
#define ALLOMON_EXCLUDES(...) ALLOMON_ANNOTATION(locks_excluded(__VA_ARGS__))
#define ALLOMON_ACQUIRE(...) ALLOMON_ANNOTATION(acquire_capability(__VA_ARGS__))
#define ALLOMON_RELEASE(...) ALLOMON_ANNOTATION(release_capability(__VA_ARGS__))
#define ALLOMON_TRY_ACQUIRE(...) ALLOMON_ANNOTATION(try_acquire_capability(__VA_ARGS__))
#define ALLOMON_RETURNS_LOCK(lock) ALLOMON_ANNOTATION(lock_returned(lock))

// Attribute of a function whose locking the analysis cannot follow; a comment there gives the
// reason.
#define ALLOMON_NO_THREAD_SAFETY_ANALYSIS ALLOMON_ANNOTATION(no_thread_safety_analysis)

#endif  // ALLOMON_TRACKER_BASE_THREAD_ANNOTATIONS_H_

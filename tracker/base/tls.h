// The model of our thread-local data, which makes access possible without a call, from anywhere.
#ifndef ALLOMON_TRACKER_BASE_TLS_H_
#define ALLOMON_TRACKER_BASE_TLS_H_

// Position-independent code that is not for an executable goes into liballomon.so.  That is loaded
// at start-up, so it may use static TLS; an executable knows the offset.  Neither ever calls
// __tls_get_addr, which may call malloc.
#if defined(__PIC__) && !defined(__PIE__)
#define ALLOMON_TLS_MODEL tls_model("initial-exec")
#else
#define ALLOMON_TLS_MODEL tls_model("local-exec")
#endif

#endif  // ALLOMON_TRACKER_BASE_TLS_H_

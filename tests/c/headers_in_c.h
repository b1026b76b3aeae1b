/* What C11 makes of the headers, for c_interface_test. */
#ifndef ALLOMON_TESTS_C_HEADERS_IN_C_H_
#define ALLOMON_TESTS_C_HEADERS_IN_C_H_

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Sizes of the structures, in the order in which allomon.h has them; then 0. */
extern const size_t sizes_in_c[];

/* Calls a function of the interface by its address. */
const char* version_in_c(void);

#ifdef __cplusplus
}
#endif

#endif /* ALLOMON_TESTS_C_HEADERS_IN_C_H_ */

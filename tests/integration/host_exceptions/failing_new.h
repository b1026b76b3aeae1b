// A program whose allocations fail, and which minds how.
#ifndef ALLOMON_TESTS_INTEGRATION_HOST_EXCEPTIONS_FAILING_NEW_H_
#define ALLOMON_TESTS_INTEGRATION_HOST_EXCEPTIONS_FAILING_NEW_H_

// The number of expectations that do not hold; says on standard output which.
extern "C" __attribute__((visibility("default"))) int CheckFailingNew();

#endif  // ALLOMON_TESTS_INTEGRATION_HOST_EXCEPTIONS_FAILING_NEW_H_

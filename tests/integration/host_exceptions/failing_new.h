// A program whose allocations fail, and which checks how they fail.
#ifndef ALLOMON_TESTS_INTEGRATION_HOST_EXCEPTIONS_FAILING_NEW_H_
#define ALLOMON_TESTS_INTEGRATION_HOST_EXCEPTIONS_FAILING_NEW_H_

// Returns the number of expectations that do not hold, and prints them on standard output.
extern "C" __attribute__((visibility("default"))) int CheckFailingNew();

#endif  // ALLOMON_TESTS_INTEGRATION_HOST_EXCEPTIONS_FAILING_NEW_H_

// A program that makes its allocations fail, and checks the way in which they fail.
#ifndef ALLOMON_TESTS_INTEGRATION_HOST_EXCEPTIONS_FAILING_NEW_H_
#define ALLOMON_TESTS_INTEGRATION_HOST_EXCEPTIONS_FAILING_NEW_H_

// Prints the expectations that do not hold on standard output, and returns their number.
extern "C" __attribute__((visibility("default"))) int CheckFailingNew();

#endif  // ALLOMON_TESTS_INTEGRATION_HOST_EXCEPTIONS_FAILING_NEW_H_

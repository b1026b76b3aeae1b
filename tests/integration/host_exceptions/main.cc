#include "tests/integration/host_exceptions/failing_new.h"

int main() { return CheckFailingNew(); }

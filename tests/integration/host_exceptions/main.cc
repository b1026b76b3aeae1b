extern "C" int CheckFailingNew();  // failing_new.cc

int main() { return CheckFailingNew(); }

extern "C" int PassingFunction(int argument) { return argument + 1; }

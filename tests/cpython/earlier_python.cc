// The symbols that the preloaded library looks for and that a Python before 3.11 exports.
extern "C" {
char PyCode_Type[416];
char PyUnicode_Type[416];
char PyBytes_Type[416];
}

int main() { return 0; }

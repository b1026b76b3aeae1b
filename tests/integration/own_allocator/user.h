// A library of a host with an allocator of its own.
#ifndef ALLOMON_TESTS_INTEGRATION_OWN_ALLOCATOR_USER_H_
#define ALLOMON_TESTS_INTEGRATION_OWN_ALLOCATOR_USER_H_

struct Kept {
  char bytes[40] = {};
};

// Allocates and frees by each function of C and each form of operator new and delete.
void UseEachForm();

// The blocks of these functions cross the border of the library.
char* StringOfTheLibrary();
Kept* NewInTheLibrary();
void DeleteInTheLibrary(Kept* kept);

// Takes blocks of 1,000 bytes, which nobody frees.
extern "C" void LeakInTheLibrary(int blocks);
// Frees a block that another module has taken.
extern "C" void FreeInTheLibrary(void* block);

#endif  // ALLOMON_TESTS_INTEGRATION_OWN_ALLOCATOR_USER_H_

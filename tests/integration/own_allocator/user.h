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

#endif  // ALLOMON_TESTS_INTEGRATION_OWN_ALLOCATOR_USER_H_

// The task of words.awk in goroutines, with C's malloc and callbacks from C.
package main

/*
#include <stdlib.h>
#include <string.h>

extern int goLess(int, int);

static int compare(const void* a, const void* b) { return goLess(*(const int*)a, *(const int*)b); }

static void sortInC(int* values, int count) {
  int* copy = malloc(sizeof(int) * count);
  memcpy(copy, values, sizeof(int) * count);
  qsort(copy, count, sizeof(int), compare);
  memcpy(values, copy, sizeof(int) * count);
  free(copy);
}
*/
import "C"

import (
	"fmt"
	"os"
	"sort"
	"strings"
	"sync"
	"unsafe"
)

//export goLess
func goLess(a, b C.int) C.int { return a - b }

func words() string {
	lists := map[string]*strings.Builder{}
	for i := 0; i < 200000; i++ {
		key := fmt.Sprintf("key%d", i*7919%10007)
		if lists[key] == nil {
			lists[key] = &strings.Builder{}
		}
		fmt.Fprintf(lists[key], "%d,", i)
	}
	keys := []string{}
	for key := range lists {
		keys = append(keys, key)
	}
	sort.Strings(keys)
	hash := 0
	for _, key := range keys {
		text := strings.ToUpper(key) + ":" + lists[key].String()
		copied := C.CString(strings.ReplaceAll(text, "7", "seven"))
		hash = (hash*31 + int(C.strlen(copied))) % 1000000007
		C.free(unsafe.Pointer(copied))
	}
	return fmt.Sprint(len(keys), hash)
}

func sorted() bool {
	values := make([]C.int, 2000)
	for i := range values {
		values[i] = C.int(i * 7919 % 2003)
	}
	C.sortInC(&values[0], C.int(len(values)))
	return sort.SliceIsSorted(values, func(a, b int) bool { return values[a] < values[b] })
}

func main() {
	var wait sync.WaitGroup
	found := make([]string, 4)
	for i := range found {
		wait.Add(1)
		go func(i int) {
			found[i] = words() + fmt.Sprint(" ", sorted())
			wait.Done()
		}(i)
	}
	wait.Wait()
	fmt.Println(strings.Join(found, "\n"))
	os.Exit(3)
}

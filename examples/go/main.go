// Memory that a Go program takes from C by cgo.  Go's own heap is not malloc's: runtime/pprof has
// that.  An argument is the number of rounds, ten a second.
//
//	CGO_LDFLAGS="-L/usr/lib" go build
package main

/*
#cgo CFLAGS: -g1 -O2 -fno-omit-frame-pointer
#cgo LDFLAGS: -l:liballomon.a -lstdc++ -lm
#include <stdlib.h>
#include <string.h>

__attribute__((noinline)) static char* render_answer(int key) {
	char* answer = malloc(1000);
	if (answer != NULL) memset(answer, key, 1000);
	return answer;
}
*/
import "C"

import (
	"fmt"
	"os"
	"strconv"
	"sync"
	"time"
)

const (
	threads = 4
	each    = 10000
)

// fillCache keeps blocks of C, which the collector of Go does not free.
func fillCache(first int) []*C.char {
	var answers []*C.char
	for key := first; key < first+each; key++ {
		answers = append(answers, C.render_answer(C.int(key)))
	}
	return answers
}

func fillByThreads() int {
	var wait sync.WaitGroup
	caches := make([][]*C.char, threads)
	for i := range caches {
		wait.Add(1)
		go func(i int) {
			defer wait.Done()
			caches[i] = fillCache(i * each)
		}(i)
	}
	wait.Wait()
	count := 0
	for _, cache := range caches {
		count += len(cache)
	}
	return count
}

func main() {
	rounds := 1
	if len(os.Args) > 1 {
		rounds, _ = strconv.Atoi(os.Args[1])
	}
	count := 0
	for round := 0; round < rounds; round++ {
		if round > 0 {
			time.Sleep(100 * time.Millisecond)
		}
		count = fillByThreads()
	}
	fmt.Println(count, "answers")
}

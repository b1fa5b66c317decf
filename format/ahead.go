package format

import (
	"iter"
	"runtime"
)

// Ahead does jobs before their results are asked for, as many at once as there are processors and one more, and gives the
// results in the order of the jobs. It ends with the first error, and waits for all that it began. The jobs themselves
// are taken from the sequence one after the other, in the goroutine of the caller.
func Ahead[T any](jobs iter.Seq[func() (T, error)]) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		depth := runtime.GOMAXPROCS(0) + 1
		var begun []chan outcome[T]
		defer func() {
			for _, one := range begun {
				<-one
			}
		}()
		give := func() bool {
			first := <-begun[0]
			begun = begun[1:]
			return yield(first.v, first.err) && first.err == nil
		}
		for job := range jobs {
			one := make(chan outcome[T], 1)
			begun = append(begun, one)
			go func() {
				v, err := job()
				one <- outcome[T]{v, err}
			}()
			if len(begun) == depth && !give() {
				return
			}
		}
		for len(begun) > 0 && give() {
		}
	}
}

// outcome is what a job gave.
type outcome[T any] struct {
	v   T
	err error
}

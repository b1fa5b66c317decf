package data_test

import (
	"context"
	"fmt"
	"strings"

	"thole.example/data"
)

func ExampleRead() {
	text := "1 3:0.5 7:1\n0 1:2\n\n1 2:1 # the last\n"
	in := data.Input{Name: "toy.txt", R: strings.NewReader(text), Size: int64(len(text))}
	for b, err := range data.Read(context.Background(), in, data.Options{Labels: data.AutoTrans, BatchRows: 2}) {
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(b.X.At.Rows, b.Label, b.Rows().Idx, b.Rows().Val)
	}
	// Output:
	// [0,2) [1 -1] [2 6 0] [0.5 1 2]
	// [2,3) [1] [1] [1]
}

func ExampleError() {
	text := "1 1:1\n1 0:1\n"
	in := data.Input{Name: "toy.txt", R: strings.NewReader(text), Size: int64(len(text))}
	_, err := data.Load(context.Background(), in, data.Options{})
	fmt.Println(err)
	// Output:
	// toy.txt:2: index 0 in a file that counts from 1, want 1 or more (--index-base 0 if it counts from 0)
}

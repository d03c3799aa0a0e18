package data_test

import (
	"context"
	"fmt"

	"github.com/ebb-ml/ebb"
	"github.com/ebb-ml/ebb/data"
)

// A loader over tensors, in order.
func Example() {
	rt := ebb.NewRuntime()
	defer rt.Close()
	store := rt.NewStore("data")
	x := ebb.Arange(store, 0, 10, 1, ebb.Float32).View(5, 2)
	y := ebb.Arange(store, 0, 5, 1)

	set := data.NewTensorDataset(x, y)
	loader := data.NewLoader(set, data.BatchSize(2))
	for batch, err := range loader.Batches(context.Background()) {
		if err != nil {
			fmt.Println(err)
			return
		}
		sum := batch.Input.Sum() // gone, with the batch, when the loop goes on
		fmt.Println(batch.Target.Int64s(), sum.Item())
	}
	loader.Close()
	set.Close()
	fmt.Println(rt.Stats().Live.Current)
	// Output:
	// [0 1] 6
	// [2 3] 22
	// [4] 17
	// 0
}

// Samples of any type, put together by a function: here words, of which each
// batch has the lengths. The batches are of a type of their own.
func ExampleCollate() {
	type batch struct {
		words   []string
		lengths *ebb.Tensor
	}
	rt := ebb.NewRuntime()
	defer rt.Close()
	words := data.Slice[string]{"a", "loader", "of", "words"}
	set := data.Collate(rt, words, func(_ context.Context, scope *ebb.Scope, words []string) (batch, error) {
		lengths := make([]int64, len(words))
		for i, w := range words {
			lengths[i] = int64(len(w))
		}
		return batch{words, ebb.FromSlice(scope, lengths)}, nil
	})
	loader := data.NewLoader(set, data.BatchSize(3), data.Workers(2))
	defer loader.Close()
	for b, err := range loader.Batches(context.Background(), data.NoGrad) {
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(b.words, b.lengths.Int64s())
	}
	// Output:
	// [a loader of] [1 6 2]
	// [words] [5]
}

// The first batch, kept beyond the loop.
func ExampleLoader_Batches() {
	rt := ebb.NewRuntime()
	defer rt.Close()
	set := data.NewTensorDataset(ebb.Arange(rt.NewStore("data"), 0, 100, 1), nil)
	defer set.Close()
	loader := data.NewLoader(set, data.BatchSize(3))
	defer loader.Close()

	kept := rt.NewStore("kept")
	defer kept.Close()
	var first *ebb.Tensor
	for batch, err := range loader.Batches(context.Background()) {
		if err != nil {
			fmt.Println(err)
			return
		}
		first = batch.Input.MoveTo(kept)
		break
	}
	fmt.Println(first.Int64s())
	// Output: [0 1 2]
}

// A part to train with and a part to validate with.
func ExampleRandomSplit() {
	rt := ebb.NewRuntime()
	defer rt.Close()
	rt.ManualSeed(0)
	set := data.NewTensorDataset(ebb.Arange(rt.NewStore("data"), 0, 10, 1), nil)
	defer set.Close()
	parts := data.RandomSplit(set, nil, data.Fractions(set.Len(), 0.8, 0.2)...)
	for _, part := range parts {
		loader := data.NewLoader(part, data.BatchSize(8), data.Shuffle())
		fmt.Println(part.Len(), loader.Len())
		loader.Close()
	}
	// Output:
	// 8 1
	// 2 1
}

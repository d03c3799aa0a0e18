package datasets_test

import (
	"context"
	"fmt"

	"github.com/ebb-ml/ebb"
	"github.com/ebb-ml/ebb/data"
	"github.com/ebb-ml/ebb/datasets"
	"github.com/ebb-ml/ebb/transforms"
)

func ExampleMNIST() {
	ctx := context.Background()
	rt := ebb.NewRuntime()
	defer rt.Close()

	train, err := datasets.MNIST(ctx, rt.NewStore("data"), datasets.Train, transforms.ToTensor())
	if err != nil {
		fmt.Println(err)
		return
	}
	defer train.Close()
	loader := data.NewLoader(train, data.BatchSize(64), data.Shuffle())
	defer loader.Close()
	for batch, err := range loader.Batches(ctx) {
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(batch.Input.Shape(), batch.Target.Shape()) // [64 1 28 28] [64]
	}
}

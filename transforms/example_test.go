package transforms_test

import (
	"fmt"

	"github.com/ebb-ml/ebb"
	"github.com/ebb-ml/ebb/transforms"
)

func Example() {
	rt := ebb.NewRuntime()
	defer rt.Close()
	images := ebb.FromSlice(rt.NewStore("data"), []uint8{0, 51, 102, 255}, 1, 2, 2)
	defer images.Store().Close()

	t := transforms.Compose(
		transforms.ToTensor(),
		transforms.Lambda(func(x *ebb.Tensor) *ebb.Tensor { return x.MulScalar(10) }),
	)
	err := rt.Run(ebb.NoGrad, func(s *ebb.Scope) error {
		x := transforms.Gather(s, images, []int64{0}, t)
		fmt.Println(x.Shape(), x.Float32s())
		return nil
	})
	if err != nil {
		fmt.Println(err)
	}
	// Output: [1 1 2 2] [0 2 4 10]
}

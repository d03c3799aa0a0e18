package ebb_test

import (
	"slices"
	"testing"

	"github.com/ebb-ml/ebb"
)

// What samplers draw, after torch.manual_seed(0), by PyTorch 1.13.1:
//
//	torch.empty((), dtype=torch.int64).random_()
//	torch.randperm(5)
//	torch.randint(-3, 4, (6,))
//	torch.multinomial(torch.tensor([1, 2, 0, 4], dtype=torch.float64), 6, replacement=True)
func TestGeneratorDraws(t *testing.T) {
	rt := newRuntime(t)
	rt.ManualSeed(0)
	g := rt.Generator()
	perm, ints, many := make([]int64, 5), make([]int64, 6), make([]int64, 6)
	n := g.Int63()
	g.Randperm(perm)
	g.Randint(ints, -3, 4)
	g.Multinomial(many, []float64{1, 2, 0, 4}, true)
	if n != 900450186894289455 || !slices.Equal(perm, []int64{3, 1, 0, 4, 2}) || !slices.Equal(ints, []int64{3, 0, 1, 2, -1, -3}) || !slices.Equal(many, []int64{1, 1, 3, 1, 3, 1}) {
		t.Errorf("%d %v %v %v", n, perm, ints, many)
	}
	wantError(t, ebb.ErrValue, "range from 3 to 3", func() { g.Randint(ints, 3, 3) })
	wantError(t, ebb.ErrValue, "weight 1 is -1", func() { g.Multinomial(many, []float64{1, -1}, true) })
	wantError(t, ebb.ErrValue, "without replacement", func() { g.Multinomial(many, []float64{1, 1}, false) })
}

package reduce

// A sum of n terms one after the other errs by up to n roundings. Here at most
// cascadeLen terms are added before the sum moves up a level, as in PyTorch's
// cascade_sum (aten/src/ATen/native/cpu/SumKernel.cpp), so the error stays that
// of a few hundred roundings, and typically of ten.

const (
	cascadeLen    = 64
	cascadeLevels = 3
)

// cascade merges partial results one at a time.
type cascade[A any] struct {
	merge    func(A, A) A
	identity A
	level    [cascadeLevels]A
	filled   [cascadeLevels]int
}

func newCascade[A any](merge func(A, A) A, identity A) cascade[A] {
	return cascade[A]{merge: merge, identity: identity, level: [cascadeLevels]A{identity, identity, identity}}
}

func (c *cascade[A]) add(v A) {
	for l := range c.level {
		c.level[l] = c.merge(c.level[l], v)
		c.filled[l]++
		if c.filled[l] < cascadeLen || l == cascadeLevels-1 {
			return
		}
		v = c.level[l]
		c.level[l], c.filled[l] = c.identity, 0
	}
}

func (c *cascade[A]) total() A {
	t := c.level[cascadeLevels-1]
	for l := cascadeLevels - 2; l >= 0; l-- {
		t = c.merge(t, c.level[l])
	}
	return t
}

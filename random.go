package ebb

import (
	"sync"

	"github.com/ebb-ml/ebb/internal/random"
)

// defaultSeed is what PyTorch's default generator starts from.
const defaultSeed = 67280421310721

// Generator is a stream of random numbers: PyTorch's CPU generator, so that
// the same seed and the same calls give the same numbers. It is safe for use
// by many goroutines; the order of their draws is then theirs. A Generator is
// also an [Option] of the random creation functions.
//
// PyTorch built with MKL on Intel processors draws bernoulli_ and Dropout from
// MKL's own generator; Ebb follows the mt19937 stream, as PyTorch does on
// other processors.
type Generator struct {
	mu  sync.Mutex
	src *random.Source
}

// NewGenerator returns a generator with the given seed, as
// torch.Generator().manual_seed(seed).
func NewGenerator(seed uint64) *Generator { return &Generator{src: random.New(seed)} }

// ManualSeed restarts the stream at seed and returns g. PyTorch takes a
// negative seed s as 2^64 + s, which is uint64(s).
func (g *Generator) ManualSeed(seed uint64) *Generator {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.src.Seed(seed)
	return g
}

// InitialSeed returns the seed the stream started from.
func (g *Generator) InitialSeed() uint64 {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.src.InitialSeed()
}

// draw calls f with the source, alone.
func (g *Generator) draw(f func(s *random.Source)) {
	g.mu.Lock()
	defer g.mu.Unlock()
	f(g.src)
}

// Int63 returns a number from 0 to 1<<63 - 1: the value of
// torch.empty((), dtype=torch.int64).random_(generator=g), which PyTorch's
// data loaders and samplers draw to seed others.
func (g *Generator) Int63() (n int64) {
	g.draw(func(s *random.Source) { n = s.Int63() })
	return n
}

// Randperm fills dst with a permutation of the numbers from 0 to len(dst)-1,
// as torch.randperm(len(dst), generator=g).
func (g *Generator) Randperm(dst []int64) {
	g.draw(func(s *random.Source) { random.Randperm(s, dst) })
}

// Randint fills dst with numbers from low, inclusive, to high, exclusive, as
// torch.randint(low, high, (len(dst),), generator=g). A range without numbers
// is an [ErrValue] panic.
func (g *Generator) Randint(dst []int64, low, high int64) {
	if low >= high {
		throw(ErrValue, "randint", nil, "a range from %d to %d", low, high)
	}
	g.draw(func(s *random.Source) { random.Randint(s, dst, low, high) })
}

// Multinomial fills dst with indices into weights, each drawn with a
// probability proportional to its weight, as torch.multinomial(weights,
// len(dst), replacement, generator=g). Weights that nothing can be drawn by
// (negative, not finite, all zero, or fewer than draws without replacement) are
// an [ErrValue] panic.
func (g *Generator) Multinomial(dst []int64, weights []float64, replacement bool) {
	var err error
	g.draw(func(s *random.Source) { err = random.Multinomial(s, dst, weights, replacement) })
	if err != nil {
		e := newError(ErrValue, "multinomial", nil, "nothing can be drawn by these weights")
		e.Err = err
		panic(e)
	}
}

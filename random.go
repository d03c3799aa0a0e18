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

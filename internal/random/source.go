// Package random is PyTorch's random stream on the CPU: the same seed gives the
// same numbers, call by call, as torch.manual_seed gives in PyTorch.
//
// A [Source] is PyTorch's CPU generator (at::CPUGeneratorImpl): a Mersenne
// Twister, mt19937, and the half of a pair of normals that is left over. The
// functions fill slices, as PyTorch's in-place methods fill tensors:
//
//   - [Uniform], [Normal], [Bernoulli] and [BernoulliEach] for floats and masks
//   - [Randint], [RandomFull] and [Randperm] for integers, and [Source.Int63],
//     which data loaders draw their own seeds with
//   - [Multinomial], with and without replacement
//
// # How far the numbers agree
//
// Integers, permutations and uniforms are exact, bit by bit, with PyTorch on
// processors with fused multiply-add (its AVX2, AVX-512 and ARM builds; its
// fallback rounds x*(to-from)+from twice). Normals agree to about 1e-6, since
// each of PyTorch's builds has a logarithm, sine and cosine of its own. The
// position in the stream is exact always. All draws are serial, so nothing here
// depends on the number of processors.
//
// Builds of PyTorch with Intel's MKL draw bernoulli_(p), and with it Dropout, from
// a generator of MKL's on Intel processors, and newer ones exponential_, and with
// it multinomial without replacement. Ebb follows the Mersenne Twister, as PyTorch
// does everywhere else.
//
// # Order of elements
//
// PyTorch fills a tensor in the order of its memory: a transposed tensor gets the
// numbers that its base would. Callers with strided tensors draw into a slice and
// copy. Only [Normal] draws differently for a tensor that is not contiguous; see
// [NormalSerial].
package random

import (
	"encoding/binary"
	"errors"
	"math"
)

const (
	stateLen = 624 // words of the Mersenne Twister
	shift    = 397
)

// A Source is a stream of random numbers, PyTorch's torch.Generator of the CPU.
// It is not safe for use by many goroutines at once. Make one with [New].
type Source struct {
	seed  uint64
	left  int // words of state not yet used, plus one
	next  int // index of the next word
	state [stateLen]uint32

	normal float64 // the second of a pair of normals
	waits  bool    // whether normal is still to be used
}

// New returns a source seeded as [Source.Seed] does.
func New(seed uint64) *Source {
	s := new(Source)
	s.Seed(seed)
	return s
}

// Seed starts the stream anew, as torch.manual_seed. Of the seed's 64 bits the
// Mersenne Twister takes the low 32. torch.manual_seed also takes negative
// numbers, down to -1<<63: a negative seed is its two's complement, uint64(seed)
// in Go.
func (s *Source) Seed(seed uint64) {
	*s = Source{seed: seed, left: 1}
	s.state[0] = uint32(seed)
	for i := 1; i < stateLen; i++ {
		prev := s.state[i-1]
		s.state[i] = 1812433253*(prev^prev>>30) + uint32(i)
	}
}

// InitialSeed returns what the source was last seeded with, all 64 bits, as
// torch.initial_seed.
func (s *Source) InitialSeed() uint64 { return s.seed }

// take returns the next words of the state, at least one and at most n, and moves
// past them. They are still to be tempered.
func (s *Source) take(n int) []uint32 {
	if s.left == 1 {
		s.twist()
	}
	n = min(n, s.left-1)
	words := s.state[s.next : s.next+n]
	s.left -= n
	s.next += n
	return words
}

// twist computes the next 624 words of state.
func (s *Source) twist() {
	mix := func(far, this, next uint32) uint32 {
		y := this&0x80000000 | next&0x7fffffff
		return far ^ y>>1 ^ -(next&1)&0x9908b0df
	}
	p := &s.state
	for i := range stateLen - shift {
		p[i] = mix(p[i+shift], p[i], p[i+1])
	}
	for i := stateLen - shift; i < stateLen-1; i++ {
		p[i] = mix(p[i+shift-stateLen], p[i], p[i+1])
	}
	p[stateLen-1] = mix(p[shift-1], p[stateLen-1], p[0])
	s.left, s.next = stateLen+1, 0
}

// temper turns a word of state into a random number.
func temper(y uint32) uint32 {
	y ^= y >> 11
	y ^= y << 7 & 0x9d2c5680
	y ^= y << 15 & 0xefc60000
	return y ^ y>>18
}

// Uint32 returns the next 32 bits of the stream.
func (s *Source) Uint32() uint32 { return temper(s.take(1)[0]) }

// Uint64 returns the next 64 bits of the stream, the high half drawn first.
func (s *Source) Uint64() uint64 {
	if s.left > 2 {
		i := s.next
		s.left -= 2
		s.next += 2
		return uint64(temper(s.state[i]))<<32 | uint64(temper(s.state[i+1]))
	}
	hi := s.Uint32()
	return uint64(hi)<<32 | uint64(s.Uint32())
}

// Int63 returns a number from 0 to 1<<63 - 1: the value of
// torch.empty((), dtype=torch.int64).random_(), which PyTorch's data loaders and
// random samplers draw once an epoch.
func (s *Source) Int63() int64 { return int64(s.Uint64() & math.MaxInt64) }

// Offsets in torch.get_rng_state(), a little-endian C struct.
const (
	offSeed      = 0
	offLeft      = 8    // int32
	offSeeded    = 12   // int32, 1
	offNext      = 16   // uint64
	offState     = 24   // 624 words, each in a uint64
	offNormal    = 5024 // float64
	offHasNormal = 5040 // int32
	stateBytes   = 5056 // the rest is 0 on the CPU
)

// State returns the source's state in the bytes of torch.get_rng_state(), which
// torch.set_rng_state takes.
func (s *Source) State() []byte {
	b := make([]byte, stateBytes)
	le := binary.LittleEndian
	le.PutUint64(b[offSeed:], s.seed)
	le.PutUint32(b[offLeft:], uint32(s.left))
	le.PutUint32(b[offSeeded:], 1)
	le.PutUint64(b[offNext:], uint64(s.next))
	for i, w := range s.state {
		le.PutUint64(b[offState+8*i:], uint64(w))
	}
	if s.waits {
		le.PutUint64(b[offNormal:], math.Float64bits(s.normal))
		b[offHasNormal] = 1
	}
	return b
}

// ErrState is the error of [Source.SetState] for bytes that are no state.
var ErrState = errors.New("random: not the state of a PyTorch CPU generator")

// SetState takes a state from [Source.State] or torch.get_rng_state(). If it is
// none the source stays as it was and the error is [ErrState].
func (s *Source) SetState(b []byte) error {
	if len(b) != stateBytes {
		return ErrState
	}
	le := binary.LittleEndian
	left, next := le.Uint32(b[offLeft:]), le.Uint64(b[offNext:])
	fresh := left == 1 && next == 0
	if !fresh && (left < 1 || left > stateLen+1 || next != uint64(stateLen+1-left)) || le.Uint32(b[offSeeded:]) != 1 {
		return ErrState
	}
	t := Source{seed: le.Uint64(b[offSeed:]), left: int(left), next: int(next)}
	for i := range t.state {
		w := le.Uint64(b[offState+8*i:])
		if w > math.MaxUint32 {
			return ErrState
		}
		t.state[i] = uint32(w)
	}
	if le.Uint32(b[offHasNormal:]) != 0 {
		t.waits = true
		t.normal = math.Float64frombits(le.Uint64(b[offNormal:]))
	}
	*s = t
	return nil
}

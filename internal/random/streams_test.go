package random

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"strings"
	"testing"
)

// readJSON reads a file of testdata, keeping integers of 64 bits whole.
func readJSON(t *testing.T, name string, v any) {
	t.Helper()
	b, err := os.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	dec := json.NewDecoder(bytes.NewReader(b))
	dec.UseNumber()
	if err := dec.Decode(v); err != nil {
		t.Fatal(err)
	}
}

func float(t *testing.T, n json.Number) float64 {
	t.Helper()
	x, err := n.Float64()
	if err != nil {
		t.Fatal(err)
	}
	return x
}

// near is how far normals may be from PyTorch's.
func near(got, want float64) bool { return math.Abs(got-want) <= 1e-6+1e-6*math.Abs(want) }

// compare checks values, every stride-th of them, in the numbers' own text.
func compare[T int64 | int32 | uint8 | Float](t *testing.T, what string, got []T, want []json.Number, stride int, exact bool) {
	t.Helper()
	if n := (len(got) + stride - 1) / stride; n != len(want) {
		t.Errorf("%s: %d values, want %d", what, n, len(want))
		return
	}
	for i, w := range want {
		g := got[i*stride]
		var ok bool
		switch v := any(g).(type) {
		case int64:
			n, err := w.Int64()
			ok = err == nil && n == v
		case float32:
			ok = v == float32(float(t, w)) || !exact && near(float64(v), float(t, w))
		default:
			ok = float64(g) == float(t, w) || !exact && near(float64(g), float(t, w))
		}
		if !ok {
			t.Errorf("%s: [%d] is %v, want %v", what, i*stride, g, w)
			return
		}
	}
}

func TestPyTorchStreams(t *testing.T) {
	var file struct {
		Cases []struct {
			Seed   json.Number
			Call   string
			Dtype  string
			Shape  []int
			Values []json.Number
		}
	}
	readJSON(t, "random_streams.json", &file)
	if len(file.Cases) != 5*37 {
		t.Fatalf("%d cases", len(file.Cases))
	}
	for _, c := range file.Cases {
		var seed uint64
		if _, err := fmt.Sscan(c.Seed.String(), &seed); err != nil {
			t.Fatal(err)
		}
		s := New(seed)
		n := len(c.Values)
		f32, f64, i64 := make([]float32, n), make([]float64, n), make([]int64, n)
		exact, ints := true, false
		switch name, _, _ := strings.Cut(c.Call, "("); {
		case c.Call == "Linear(5, 3): weight then bias": // both uniform in +-1/sqrt(5)
			Uniform(s, f32[:15], -1/math.Sqrt(5), 1/math.Sqrt(5))
			Uniform(s, f32[15:], -1/math.Sqrt(5), 1/math.Sqrt(5))
		case c.Call == "randn(5), rand(3), randn(5), randperm(6) in one stream":
			Normal(s, f32[:5], 0, 1)
			Uniform(s, f32[5:8], 0, 1)
			Normal(s, f32[8:13], 0, 1)
			Randperm(s, i64[13:])
			for i, x := range i64[13:] {
				f32[13+i] = float32(x)
			}
			exact = false
		case c.Call == "empty(8).uniform_(-0.25, 0.5)":
			Uniform(s, f32, -0.25, 0.5)
		case c.Call == "empty(20).normal_(1.5, 2)":
			Normal(s, f32, 1.5, 2)
			exact = false
		case c.Call == "empty(4, 6).bernoulli_(0.3)":
			Bernoulli(s, f32, 0.3)
		case c.Call == "empty((), dtype=int64).random_()":
			i64[0] = s.Int63()
			ints = true
		case name == "rand":
			Uniform(s, f32, 0, 1)
			if c.Dtype == "torch.float64" {
				s.Seed(seed)
				Uniform(s, f64, 0, 1)
			}
		case name == "randn":
			Normal(s, f32, 0, 1)
			if c.Dtype == "torch.float64" {
				s.Seed(seed)
				Normal(s, f64, 0, 1)
			}
			exact = false
		case name == "randperm":
			Randperm(s, i64)
			ints = true
		case c.Call == "randint(0, 10, (12,))":
			Randint(s, i64, 0, 10)
			ints = true
		default:
			t.Fatalf("unknown call %s", c.Call)
		}
		what := fmt.Sprintf("seed %d, %s", seed, c.Call)
		switch {
		case ints:
			compare(t, what, i64, c.Values, 1, true)
		case c.Dtype == "torch.float64":
			compare(t, what, f64, c.Values, 1, exact)
		default:
			compare(t, what, f32, c.Values, 1, exact)
		}
	}
}

type step struct {
	Op     string
	N      int
	Dtype  string
	Args   []json.Number
	Stride int
	Values []json.Number
	SHA256 string
}

// numbers returns the step's arguments.
func numbers[T int64 | Float](t *testing.T, step step) []T {
	args := make([]T, len(step.Args))
	for i, a := range step.Args {
		if n, err := a.Int64(); err == nil {
			args[i] = T(n)
			continue
		}
		args[i] = T(float(t, a))
	}
	return args
}

// integral runs the steps that exist for all types.
func integral[T int64 | int32 | uint8 | Float](t *testing.T, s *Source, what string, step step) {
	dst := make([]T, step.N)
	switch step.Op {
	case "bernoulli":
		Bernoulli(s, dst, numbers[float64](t, step)[0])
	case "random":
		RandomFull(s, dst)
	default:
		t.Fatalf("%s: unknown", what)
	}
	check(t, what, dst, step, true)
}

// indices runs the steps that give int64.
func indices[T int64 | Float](t *testing.T, s *Source, what string, step step) {
	dst := make([]int64, step.N)
	args := numbers[T](t, step)
	switch step.Op {
	case "randint":
		a := numbers[int64](t, step)
		Randint(s, dst, a[0], a[1])
	case "randperm":
		Randperm(s, dst)
	case "multinomial", "multinomial_distinct":
		var err error
		switch w := any(args).(type) {
		case []float32:
			err = Multinomial(s, dst, w, step.Op == "multinomial")
		case []float64:
			err = Multinomial(s, dst, w, step.Op == "multinomial")
		}
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
	}
	check(t, what, dst, step, true)
}

// reals runs the steps that give floats.
func reals[T Float](t *testing.T, s *Source, what string, step step) {
	dst := make([]T, step.N)
	args := numbers[float64](t, step)
	switch step.Op {
	case "uniform":
		Uniform(s, dst, args[0], args[1])
	case "normal":
		Normal(s, dst, args[0], args[1])
	case "normal_serial":
		NormalSerial(s, dst, args[0], args[1])
	case "bernoulli_each":
		p := make([]T, step.N) // torch.linspace
		for i := range p {
			p[i] = T(args[0] + (args[1]-args[0])/float64(max(step.N-1, 1))*float64(i))
		}
		BernoulliEach(s, dst, p)
	}
	check(t, what, dst, step, !strings.HasPrefix(step.Op, "normal"))
}

func check[T int64 | int32 | uint8 | Float](t *testing.T, what string, got []T, step step, exact bool) {
	t.Helper()
	compare(t, what, got, step.Values, step.Stride, exact)
	if !exact {
		return
	}
	var b bytes.Buffer
	if err := binary.Write(&b, binary.LittleEndian, got); err != nil {
		t.Fatal(err)
	}
	if sum := sha256.Sum256(b.Bytes()); hex.EncodeToString(sum[:]) != step.SHA256 {
		t.Errorf("%s: not the same bytes", what)
	}
}

func TestMorePyTorchStreams(t *testing.T) {
	var file struct {
		Cases []struct {
			Seed    json.Number
			Initial json.Number
			Steps   []step
			Cached  json.Number
			State   string
		}
	}
	readJSON(t, "more_streams.json", &file)
	if len(file.Cases) < 100 {
		t.Fatalf("%d cases", len(file.Cases))
	}
	for i, c := range file.Cases {
		// Seeds are from -2^63 to 2^64-1; the negative ones as in manual_seed.
		var seed uint64
		if n, err := c.Seed.Int64(); err == nil {
			seed = uint64(n)
		} else if _, err := fmt.Sscan(c.Seed.String(), &seed); err != nil {
			t.Fatal(err)
		}
		s := New(seed)
		if got := fmt.Sprint(s.InitialSeed()); got != c.Initial.String() {
			t.Errorf("manual_seed(%s): initial seed %s, want %s", c.Seed, got, c.Initial)
		}
		for j, step := range c.Steps {
			what := fmt.Sprintf("case %d, step %d: %s(%v) of %d %s, seed %d", i, j, step.Op, step.Args, step.N, step.Dtype, seed)
			switch {
			case step.Op == "randint" || step.Op == "randperm":
				indices[int64](t, s, what, step)
			case strings.HasPrefix(step.Op, "multinomial") && step.Dtype == "float32":
				indices[float32](t, s, what, step)
			case strings.HasPrefix(step.Op, "multinomial"):
				indices[float64](t, s, what, step)
			case step.Op == "random" || step.Op == "bernoulli":
				switch step.Dtype {
				case "uint8":
					integral[uint8](t, s, what, step)
				case "int32":
					integral[int32](t, s, what, step)
				case "int64":
					integral[int64](t, s, what, step)
				case "float32":
					integral[float32](t, s, what, step)
				case "float64":
					integral[float64](t, s, what, step)
				}
			case step.Dtype == "float32":
				reals[float32](t, s, what, step)
			default:
				reals[float64](t, s, what, step)
			}
		}
		state := s.State()
		cached := math.Float64frombits(binary.LittleEndian.Uint64(state[offNormal:]))
		if want := float(t, c.Cached); !near(cached, want) || (cached == 0) != (want == 0) {
			t.Errorf("case %d: cached normal %v, want %v", i, cached, want)
		}
		clear(state[offNormal : offNormal+8])
		if sum := sha256.Sum256(state); hex.EncodeToString(sum[:]) != c.State {
			t.Errorf("case %d (seed %d, %s ...): another state than PyTorch's after the last step", i, seed, c.Steps[0].Op)
		}
	}
}

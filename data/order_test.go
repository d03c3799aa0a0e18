package data_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ebb-ml/ebb"
	"github.com/ebb-ml/ebb/data"
)

type orderCase struct {
	Name     string
	Seed     uint64
	N        int
	Takes    []int
	Own      int64
	Size     int
	Shuffle  bool
	DropLast bool `json:"drop_last"`
	Passes   [][][]int64
	Next     int64
	NextOwn  int64 `json:"next_own"`
}

type torchOrders struct {
	Cases  []orderCase
	Splits []struct {
		Seed      uint64
		N         int
		Fractions []float64
		Lengths   []int
		Subsets   [][]int64
	}
	Concat [][]float64
}

// options returns a loader's options as the case has them.
func (c orderCase) options(own *ebb.Generator) []data.LoaderOption {
	opts := []data.LoaderOption{data.BatchSize(c.Size)}
	if c.Shuffle {
		opts = append(opts, data.Shuffle())
	}
	if c.DropLast {
		opts = append(opts, data.DropLast())
	}
	switch c.Name {
	case "sequential", "shuffle":
		if own != nil {
			opts = append(opts, data.WithGenerator(own))
		}
	case "replacement":
		opts = append(opts, data.WithSampler(data.RandomSampler{Replacement: true, Generator: own}))
	case "replacement 100":
		opts = append(opts, data.WithSampler(data.RandomSampler{Replacement: true, NumSamples: 100, Generator: own}))
	case "num_samples 25":
		opts = append(opts, data.WithSampler(data.RandomSampler{NumSamples: 25, Generator: own}))
	case "num_samples 5":
		opts = append(opts, data.WithSampler(data.RandomSampler{NumSamples: 5, Generator: own}))
	case "subset":
		opts = append(opts, data.WithSampler(data.SubsetRandomSampler{Samples: []int64{1, 3, 5, 7, 9}, Generator: own}))
	case "weighted":
		opts = append(opts, data.WithSampler(data.WeightedRandomSampler{Weights: []float64{0.1, 0.9, 0.4, 0.7, 3.0, 0.6}, NumSamples: 12, Generator: own}))
	default:
		panic(c.Name)
	}
	return opts
}

// Orders, and what is left of the generators after them, are PyTorch's. With
// workers the batches are the same; where a pass was left early while a sampler
// drew from a generator that outlives it, that generator may be further on.
func TestOrdersArePyTorchs(t *testing.T) {
	var want torchOrders
	load(t, "testdata/loader_torch.json", &want)
	for i, c := range want.Cases {
		for _, workers := range []int{0, 1, 3} {
			t.Run(fmt.Sprintf("%d %s workers %d", i, c.Name, workers), func(t *testing.T) {
				rt := runtimeOf(t)
				set := numbers(rt, c.N, 2)
				defer set.Close()
				rt.ManualSeed(c.Seed)
				var own *ebb.Generator
				if c.Own >= 0 {
					own = ebb.NewGenerator(uint64(c.Own))
				}
				l := data.NewLoader(set, append(c.options(own), data.Workers(workers))...)
				defer l.Close()
				if workers > 0 && own != nil && c.Name != "sequential" && c.Name != "shuffle" {
					for _, take := range c.Takes {
						if take != -1 {
							t.Skip("a pass is left early")
						}
					}
				}
				for i, take := range c.Takes {
					if diff := cmp.Diff(c.Passes[i], pass(t, l, take)); diff != "" {
						t.Fatalf("pass %d (-PyTorch +Ebb):\n%s", i, diff)
					}
				}
				if got := rt.Generator().Int63(); got != c.Next {
					t.Errorf("the generator's next number is %d, PyTorch's %d", got, c.Next)
				}
				if own != nil {
					if got := own.Int63(); got != c.NextOwn {
						t.Errorf("the loader's generator's next number is %d, PyTorch's %d", got, c.NextOwn)
					}
				}
			})
		}
	}
}

// The order of the MNIST program: the default generator has given the model's
// weights, one number each, before the first pass.
func TestOrderOfMNIST(t *testing.T) {
	var want []struct {
		Seed  uint64
		First [][]int64 `json:"first_indices"`
	}
	load(t, "testdata/mnist_order.json", &want)
	if len(want) != 2 {
		t.Fatal("no cases")
	}
	for _, c := range want {
		rt := runtimeOf(t)
		set := numbers(rt, 60000, 1)
		rt.ManualSeed(c.Seed)
		rt.Generator().Randint(make([]int64, 784*128+128+128*10+10), 0, 2)
		l := data.NewLoader(set, data.BatchSize(64), data.Shuffle(), data.Workers(2))
		for epoch, first := range c.First {
			got := pass(t, l, -1)
			if len(got) != 938 || len(got[937]) != 32 {
				t.Fatalf("%d batches, the last of %d", len(got), len(got[len(got)-1]))
			}
			if diff := cmp.Diff(first, got[0][:len(first)]); diff != "" {
				t.Errorf("seed %d, epoch %d (-PyTorch +Ebb):\n%s", c.Seed, epoch, diff)
			}
			seen := make([]bool, set.Len())
			for _, b := range got {
				for _, i := range b {
					if seen[i] {
						t.Fatalf("sample %d twice", i)
					}
					seen[i] = true
				}
			}
		}
		l.Close()
		set.Close()
	}
}

func TestRandomSplitIsPyTorchs(t *testing.T) {
	var want torchOrders
	load(t, "testdata/loader_torch.json", &want)
	for _, c := range want.Splits {
		rt := runtimeOf(t)
		set := numbers(rt, c.N, 1)
		lengths := c.Lengths
		if len(c.Fractions) > 0 {
			lengths = data.Fractions(c.N, c.Fractions...)
		}
		rt.ManualSeed(c.Seed)
		for i, s := range data.RandomSplit(set, nil, lengths...) {
			l := data.NewLoader(s, data.BatchSize(100))
			if got := pass(t, l, -1); !cmp.Equal(c.Subsets[i], got[0]) {
				t.Errorf("seed %d, %v: subset %d is %v, PyTorch's %v", c.Seed, lengths, i, got, c.Subsets[i])
			}
			l.Close()
		}
		set.Close()
	}
}

func TestConcatIsPyTorchs(t *testing.T) {
	var want torchOrders
	load(t, "testdata/loader_torch.json", &want)
	rt := runtimeOf(t)
	st := rt.NewStore("data")
	defer st.Close()
	from := func(start, n int) *data.TensorDataset {
		return data.NewTensorDataset(ebb.Arange(st, start, start+n, 1, ebb.Float32), ebb.Arange(st, start, start+n, 1))
	}
	both := data.Concat(from(0, 5), from(100, 4), data.NewSubset(from(200, 9), []int64{8, 0, 4}))
	if both.Len() != 12 {
		t.Fatal(both.Len())
	}
	rt.ManualSeed(3)
	l := data.NewLoader(both, data.BatchSize(5), data.Shuffle())
	defer l.Close()
	i := 0
	for b, err := range l.Batches(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		if got := b.Target.To(ebb.Float64).Float64s(); !cmp.Equal(got, want.Concat[i]) {
			t.Errorf("batch %d: targets %v, PyTorch's %v", i, got, want.Concat[i])
		}
		if got := b.Input.To(ebb.Float64).Float64s(); !cmp.Equal(got, want.Concat[i]) {
			t.Errorf("batch %d: inputs %v, PyTorch's %v", i, got, want.Concat[i])
		}
		i++
	}
	if i != len(want.Concat) {
		t.Errorf("%d batches, PyTorch's %d", i, len(want.Concat))
	}
}

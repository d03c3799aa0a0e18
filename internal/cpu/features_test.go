package cpu

import (
	"errors"
	"slices"
	"testing"
)

func TestLevelIsTheBestUnlessForced(t *testing.T) {
	supported := []SIMD{Generic, AVX2, AVX512}
	for _, c := range []struct {
		env  string
		want SIMD
	}{{"", AVX512}, {"generic", Generic}, {"avx2", AVX2}, {"avx512", AVX512}} {
		if got, err := chooseLevel(c.env, supported); got != c.want || err != nil {
			t.Errorf("EBB_CPU=%q: %v, %v; want %v", c.env, got, err, c.want)
		}
	}
}

func TestLevelErrors(t *testing.T) {
	for _, c := range []struct {
		env   string
		known bool
		text  string
	}{
		{"neon", true, "EBB_CPU=neon: this processor or build does not support it: use one of [generic avx2]"},
		{"AVX2", false, `EBB_CPU="AVX2" is not a processor level: use one of [generic avx2]`},
	} {
		got, err := chooseLevel(c.env, []SIMD{Generic, AVX2})
		var le *LevelError
		if got != Generic || !errors.As(err, &le) || le.Known != c.known || err.Error() != c.text {
			t.Errorf("EBB_CPU=%s: %v, %v", c.env, got, err)
		}
	}
}

func TestSupportedLevels(t *testing.T) {
	got := supportedLevels()
	if got[0] != Generic || !slices.IsSorted(got) {
		t.Errorf("levels %v: want generic first, best last", got)
	}
	if !haveAssembly && len(got) != 1 {
		t.Errorf("without assembly: levels %v", got)
	}
}

package process

import (
	"os"
	"path/filepath"
	"testing"
)

func TestRead(t *testing.T) {
	f, err := Read()
	if err != nil {
		t.Fatal(err)
	}
	if f.RSS < 1<<20 {
		t.Errorf("a Go program in %d bytes", f.RSS)
	}
	if f.Split && f.Anon+f.File+f.Shmem != f.RSS {
		t.Errorf("%+v does not add up", f)
	}
	if !f.Split && f != (Figures{RSS: f.RSS}) {
		t.Errorf("%+v: fields without Split", f)
	}
	parent, err := ReadPID(os.Getppid())
	if err != nil {
		t.Fatal(err)
	}
	if parent.RSS <= 0 || parent == f {
		t.Errorf("the parent has %+v, this process %+v", parent, f)
	}
	if f, err := ReadPID(1<<31 - 1); err == nil {
		t.Errorf("a process that is not there has %+v", f)
	}
}

func TestDescriptors(t *testing.T) {
	count := func() int {
		t.Helper()
		n, err := Descriptors()
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	before := count()
	if before < 3 { // input, output, errors
		t.Errorf("%d descriptors", before)
	}
	var files []*os.File
	for range 5 {
		f, err := os.Create(filepath.Join(t.TempDir(), "x"))
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, f)
	}
	if n := count(); n != before+5 {
		t.Errorf("%d descriptors, 5 more than %d", n, before)
	}
	for _, f := range files {
		f.Close()
	}
	if n := count(); n != before {
		t.Errorf("%d descriptors after closing, %d before", n, before)
	}
}

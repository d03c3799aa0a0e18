package optest

import (
	"bytes"
	"encoding/json"
	"errors"
	"go/importer"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
)

const ebbPath = "github.com/ebb-ml/ebb"

// Complete fails for every exported operation of the package at path that has
// no row: functions that take or return tensors, methods of Tensor, and types
// with a Forward or Step method. exempt lists those that are no operations,
// each with the reason; an entry that is not needed fails as well.
func (tb *Table) Complete(t *testing.T, path string, exempt map[string]string) {
	rows := map[string]bool{}
	for _, c := range tb.cases {
		for op := range strings.FieldsSeq(c.Op) {
			rows[op] = true
		}
	}
	found := map[string]bool{}
	for _, op := range operations(t, path) {
		found[op] = true
		switch {
		case rows[op] && exempt[op] != "":
			t.Errorf("%s has a row and an exemption", op)
		case !rows[op] && exempt[op] == "":
			t.Errorf("%s has no row in the operation table", op)
		}
	}
	for op := range rows {
		if !found[op] {
			t.Errorf("%s has a row, but is no exported operation", op)
		}
	}
	for op := range exempt {
		if !found[op] {
			t.Errorf("%s is exempt, but is no exported operation", op)
		}
	}
	ids := map[string]bool{}
	for _, c := range tb.cases {
		if ids[c.id()] {
			t.Errorf("two rows are named %s", c.id())
		}
		ids[c.id()] = true
		if (c.Torch == "") == (c.NoTorch == "") {
			t.Errorf("%s: either Torch or NoTorch", c.id())
		}
		if (c.Call == nil) == (c.Module == nil) {
			t.Errorf("%s: either Call or Module", c.id())
		}
	}
}

// operations lists a package's exported operations.
func operations(t *testing.T, path string) []string {
	pkg := load(t, path)
	var ops []string
	for _, name := range pkg.Scope().Names() {
		obj := pkg.Scope().Lookup(name)
		if !obj.Exported() {
			continue
		}
		switch obj := obj.(type) {
		case *types.Func:
			if mentionsTensor(obj.Type(), 0) {
				ops = append(ops, name)
			}
		case *types.TypeName:
			if obj.IsAlias() || types.IsInterface(obj.Type()) {
				continue
			}
			methods := types.NewMethodSet(types.NewPointer(obj.Type()))
			if path == ebbPath && name == "Tensor" {
				for m := range methods.Methods() {
					if m.Obj().Exported() {
						ops = append(ops, "Tensor."+m.Obj().Name())
					}
				}
			} else if methods.Lookup(pkg, "Forward") != nil || methods.Lookup(pkg, "Step") != nil {
				ops = append(ops, name)
			}
		}
	}
	return ops
}

// mentionsTensor reports whether *Tensor occurs in a function's type.
func mentionsTensor(tp types.Type, depth int) bool {
	if depth > 5 {
		return false
	}
	switch tp := tp.(type) {
	case *types.Named:
		return tp.Obj().Name() == "Tensor" && tp.Obj().Pkg() != nil && tp.Obj().Pkg().Path() == ebbPath
	case *types.Pointer:
		return mentionsTensor(tp.Elem(), depth+1)
	case *types.Slice:
		return mentionsTensor(tp.Elem(), depth+1)
	case *types.Array:
		return mentionsTensor(tp.Elem(), depth+1)
	case *types.Map:
		return mentionsTensor(tp.Elem(), depth+1)
	case *types.Tuple:
		for v := range tp.Variables() {
			if mentionsTensor(v.Type(), depth+1) {
				return true
			}
		}
	case *types.Signature:
		return mentionsTensor(tp.Params(), depth+1) || mentionsTensor(tp.Results(), depth+1)
	}
	return false
}

// load reads a package's exported types from what the go command compiled.
func load(t *testing.T, path string) *types.Package {
	t.Helper()
	cmd := exec.Command("go", "list", "-export", "-deps", "-json=ImportPath,Export", path)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	files := map[string]string{}
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var p struct{ ImportPath, Export string }
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		files[p.ImportPath] = p.Export
	}
	imp := importer.ForCompiler(token.NewFileSet(), "gc", func(path string) (io.ReadCloser, error) { return os.Open(files[path]) })
	pkg, err := imp.Import(path)
	if err != nil {
		t.Fatal(err)
	}
	return pkg
}

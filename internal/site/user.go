package site

import (
	"runtime"
	"strings"
)

const module = "github.com/ebb-ml/ebb"

// root is where Ebb's source files lie, with a slash at the end, as the binary
// knows it (a path on the build machine, or the module's path and version).
var root = func() string {
	_, file, _, _ := runtime.Caller(0)
	root, _ := strings.CutSuffix(file, "internal/site/user.go")
	return root
}()

// users reports whether f is a line of the user's program.
func users(f runtime.Frame) bool {
	if strings.HasSuffix(f.File, "_test.go") {
		return true
	}
	pkg := packageOf(f.Function)
	if machinery(pkg) {
		return false
	}
	// The function's name does not settle it: a closure in a function of
	// Ebb's that was inlined into the user's is named after the user's.
	if dir, ok := strings.CutPrefix(f.File, root); ok && root != "" {
		return program(dir)
	}
	dir, ok := strings.CutPrefix(pkg, module)
	switch {
	case !ok:
		return true
	case dir == "":
		return false
	}
	// What follows a module's name is a folder, or it is another module.
	return dir[0] != '/' || program(dir[1:])
}

// program reports whether a folder or file of Ebb's belongs to its programs,
// which use Ebb as a user does.
func program(dir string) bool {
	first, _, _ := strings.Cut(dir, "/")
	return first == "examples" || first == "bench" || first == "cmd"
}

// packageOf returns the import path in a function's full name.
func packageOf(function string) string {
	// The type arguments of a generic function hold paths too.
	name, _, _ := strings.Cut(function, "[")
	start := strings.LastIndexByte(name, '/') + 1
	if end := strings.IndexByte(name[start:], '.'); end >= 0 {
		return name[:start+end]
	}
	return name
}

// machinery reports whether a package is one of the standard library's that
// call functions they were given, so that it can lie between a user's line and
// Ebb.
func machinery(pkg string) bool {
	first, _, _ := strings.Cut(pkg, "/")
	switch first {
	case "runtime", "internal", "reflect", "iter", "slices", "maps", "sort", "sync", "context", "testing", "time":
		return true
	}
	return false
}

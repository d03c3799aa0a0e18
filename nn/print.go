package nn

import (
	"fmt"
	"reflect"
	"strings"
)

// String returns the structure of model as PyTorch prints it: the type, what
// the method ExtraRepr says if there is one, and the modules in it by name.
// Slices and maps of modules are printed as ModuleList and ModuleDict.
func String(model any) string {
	s, _ := repr(holder(reflect.ValueOf(model)), map[any]bool{})
	return s
}

// repr returns the description of v and whether v is or holds a module. above
// are the pointers on the way to v, which may hold itself.
func repr(v reflect.Value, above map[any]bool) (string, bool) {
	if !v.IsValid() {
		return "None", false
	}
	t := v.Type()
	module := isModule(t)
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
		if above[v.Interface()] {
			return t.Name() + "(...)", module
		}
		above[v.Interface()] = true
		defer delete(above, v.Interface())
	}
	name := t.Name()
	switch {
	case module:
	case t.Kind() == reflect.Map:
		name = "ModuleDict"
	case t.Kind() == reflect.Slice || t.Kind() == reflect.Array:
		name = "ModuleList"
	}
	var lines []string
	extra := ""
	if e, ok := v.Interface().(interface{ ExtraRepr() string }); ok {
		extra = e.ExtraRepr()
	}
	if extra != "" {
		lines = append(lines, extra)
	}
	below := false
	children(v, func(name string, c reflect.Value) bool {
		if c.Type() == tensorType {
			return true
		}
		if s, ok := repr(c, above); ok {
			below = true
			lines = append(lines, fmt.Sprintf("(%s): %s", name, s))
		}
		return true
	})
	if !below {
		return name + "(" + extra + ")", module
	}
	return fmt.Sprintf("%s(\n%s\n)", name, indent(strings.Join(lines, "\n"))), true
}

func indent(s string) string { return "  " + strings.ReplaceAll(s, "\n", "\n  ") }

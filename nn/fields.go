package nn

import (
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/ebb-ml/ebb"
)

var tensorType = reflect.TypeFor[*ebb.Tensor]()

// typeInfo is what the walks over models need to know of a type.
type typeInfo struct {
	module bool // has a Forward method
	data   bool // can hold tensors that a call takes or returns
	fields []field
}

// field is a field of a struct that can hold tensors or modules.
type field struct {
	index  int
	name   string
	inline bool // what is in it is named as the struct's own
}

var types sync.Map // reflect.Type -> *typeInfo

func infoOf(t reflect.Type) *typeInfo {
	if i, ok := types.Load(t); ok {
		return i.(*typeInfo)
	}
	info := &typeInfo{module: hasForward(t), data: holdsData(t, map[reflect.Type]bool{})}
	if t.Kind() == reflect.Struct {
		for i := range t.NumField() {
			if f, ok := fieldOf(t.Field(i)); ok {
				f.index = i
				info.fields = append(info.fields, f)
			}
		}
	}
	i, _ := types.LoadOrStore(t, info)
	return i.(*typeInfo)
}

// fieldOf describes a struct's field, if it counts.
func fieldOf(f reflect.StructField) (field, bool) {
	tag, options, _ := strings.Cut(f.Tag.Get("ebb"), ",")
	embedded := f.Anonymous && (f.Type.Kind() == reflect.Struct || f.Type.Kind() == reflect.Pointer && f.Type != tensorType)
	// An embedded struct has exported fields whether its own name is or not.
	if !f.IsExported() && !embedded || tag == "-" || !canHold(f.Type, map[reflect.Type]bool{}) {
		return field{}, false
	}
	name := tag
	if name == "" {
		r, n := utf8.DecodeRuneInString(f.Name)
		name = string(unicode.ToLower(r)) + f.Name[n:]
	}
	return field{name: name, inline: options == "inline" || embedded && tag == ""}, true
}

// canHold reports whether a value of type t can hold tensors or modules. seen
// are the structs looked at.
func canHold(t reflect.Type, seen map[reflect.Type]bool) bool {
	if t == tensorType || hasForward(t) {
		return true
	}
	switch t.Kind() {
	case reflect.Interface: // what it holds decides
		return true
	case reflect.Slice, reflect.Array:
		return canHold(t.Elem(), seen)
	case reflect.Map:
		return t.Key().Kind() == reflect.String && canHold(t.Elem(), seen)
	case reflect.Pointer:
		return t.Elem().Kind() == reflect.Struct && canHold(t.Elem(), seen)
	case reflect.Struct:
		if seen[t] {
			return false
		}
		seen[t] = true
		for i := range t.NumField() {
			if f := t.Field(i); (f.IsExported() || f.Anonymous) && canHold(f.Type, seen) {
				return true
			}
		}
	}
	return false
}

// hasForward reports whether t, or a pointer to the struct t, is a module.
func hasForward(t reflect.Type) bool {
	_, ok := t.MethodByName("Forward")
	if !ok && t.Kind() == reflect.Struct {
		_, ok = reflect.PointerTo(t).MethodByName("Forward")
	}
	return ok
}

func isModule(t reflect.Type) bool { return infoOf(t).module }

// holder returns what v, a field's or an element's value, holds: a pointer to a
// tensor or struct, a slice, array or map, a struct without an address, or a
// module of another kind. Otherwise, and for nil, it is not valid.
func holder(v reflect.Value) reflect.Value {
	for v.Kind() == reflect.Interface {
		v = v.Elem()
	}
	switch v.Kind() {
	case reflect.Struct:
		if v.CanAddr() {
			return v.Addr()
		}
		return v
	case reflect.Array:
		return v
	case reflect.Slice, reflect.Map:
		if !v.IsNil() {
			return v
		}
	case reflect.Pointer:
		if !v.IsNil() && v.Elem().Kind() == reflect.Struct {
			return v
		}
	case reflect.Invalid:
	default:
		if isModule(v.Type()) {
			return v
		}
	}
	return reflect.Value{}
}

// children yields what lies directly in v, as holder returned it, with the
// names of fields, indices or keys. nil is left out.
func children(v reflect.Value, yield func(name string, c reflect.Value) bool) bool {
	each := func(name string, v reflect.Value) bool {
		c := holder(v)
		return !c.IsValid() || yield(name, c)
	}
	if v.Kind() == reflect.Pointer {
		v = v.Elem()
	}
	switch v.Kind() {
	case reflect.Struct:
		for _, f := range infoOf(v.Type()).fields {
			if c := v.Field(f.index); !f.inline {
				if !each(f.name, c) {
					return false
				}
			} else if c = holder(c); c.IsValid() && !children(c, yield) {
				return false
			}
		}
	case reflect.Slice, reflect.Array:
		for i := range v.Len() {
			if !each(strconv.Itoa(i), v.Index(i)) {
				return false
			}
		}
	case reflect.Map:
		if v.Type().Key().Kind() != reflect.String {
			return true
		}
		for _, k := range sortedKeys(v) {
			if !each(k.String(), v.MapIndex(k)) {
				return false
			}
		}
	}
	return true
}

// sortedKeys returns the keys of a map with string keys in order.
func sortedKeys(v reflect.Value) []reflect.Value {
	return slices.SortedFunc(slices.Values(v.MapKeys()), func(a, b reflect.Value) int { return strings.Compare(a.String(), b.String()) })
}

// join appends a name to a path; either may be empty.
func join(path, name string) string {
	if path == "" || name == "" {
		return path + name
	}
	return path + "." + name
}

// nameIn returns the path of module m in caller: among what caller holds
// itself first, then anywhere below.
func nameIn(caller, m any) (string, bool) {
	want := reflect.ValueOf(m)
	if want.Kind() != reflect.Pointer {
		return "", false // no identity to tell it by
	}
	is := func(v reflect.Value) bool {
		return v.Kind() == reflect.Pointer && v.Type() == want.Type() && v.Pointer() == want.Pointer()
	}
	var found string
	var look func(path string, v reflect.Value) bool
	look = func(path string, v reflect.Value) bool {
		return children(v, func(name string, c reflect.Value) bool {
			if is(c) {
				found = join(path, name)
				return false
			}
			switch c.Kind() {
			case reflect.Slice, reflect.Array, reflect.Map:
				return look(join(path, name), c)
			}
			return true
		})
	}
	root := holder(reflect.ValueOf(caller))
	if !look("", root) {
		return found, true
	}
	ok := false
	walk(caller, func(path string, v reflect.Value) bool {
		if path != "" && is(v) {
			found, ok = path, true
		}
		return !ok
	})
	return found, ok
}

package memory

import (
	"errors"
	"io"

	"github.com/ebb-ml/ebb"
	"github.com/ebb-ml/ebb/internal/wholefile"
)

// DumpOnOutOfMemory makes a runtime write down its memory when an operation finds
// none, while everything is still held: a snapshot in prefix.pickle and a profile
// in prefix.pb.gz. The error names them; if they cannot be written, it says why.
// A later shortage replaces the files.
//
//	rt := ebb.NewRuntime(ebb.Limit(8<<30), memory.DumpOnOutOfMemory("oom"))
func DumpOnOutOfMemory(prefix string) ebb.RuntimeOption {
	return ebb.OnOutOfMemory(func(rt *ebb.Runtime, e *ebb.Error) {
		var errs []error
		for _, f := range []struct {
			name    string
			content func(io.Writer) error
		}{
			{prefix + ".pickle", rt.WriteSnapshot},
			{prefix + ".pb.gz", func(w io.Writer) error { return WriteProfile(rt, w) }},
		} {
			err := wholefile.Write(f.name, f.content)
			if err != nil {
				errs = append(errs, err)
				continue
			}
			e.Memory.Files = append(e.Memory.Files, f.name)
		}
		if err := errors.Join(errs...); err != nil {
			e.Advice += "\n  what memory holds could not be written: " + err.Error()
		}
	})
}

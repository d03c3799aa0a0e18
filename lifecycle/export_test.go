package lifecycle

import "github.com/ebb-ml/ebb/internal/process"

// Decides reports whether RssAnon takes part in the proof on this system.
func Decides() bool {
	f, err := process.Read()
	return !race && err == nil && f.Split
}

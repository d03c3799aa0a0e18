package optest

import "testing"

// ReadValues reads the table's values, and computes those that are missing if
// -update-torch is given.
func (tb *Table) ReadValues(t *testing.T) map[string]bool {
	read := map[string]bool{}
	for _, family := range tb.families {
		for id := range tb.readGolden(t, family) {
			read[id] = true
		}
	}
	return read
}

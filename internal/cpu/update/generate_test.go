package update

import (
	"testing"

	"github.com/ebb-ml/ebb/internal/cpu/arraytest"
)

func TestGeneratedFilesAreCurrent(t *testing.T) {
	arraytest.CheckGenerated(t, "update_amd64.s", "stubs_amd64.go", "./update", "-pkg", "update")
	arraytest.CheckGenerated(t, "update_arm64.s", "stubs_arm64.go", "./neon", "-pkg", "update")
}

// Words of machine code are the instructions that their comments say.
func TestEncodings(t *testing.T) { arraytest.CheckEncodings(t, "update_arm64.s") }

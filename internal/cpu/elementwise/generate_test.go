package elementwise

import (
	"testing"

	"github.com/ebb-ml/ebb/internal/cpu/arraytest"
)

func TestGeneratedFilesAreCurrent(t *testing.T) {
	arraytest.CheckGenerated(t, "elementwise_amd64.s", "stubs_amd64.go", "./elementwise", "-pkg", "elementwise")
	arraytest.CheckGenerated(t, "elementwise_arm64.s", "stubs_arm64.go", "./neon", "-pkg", "elementwise")
}

// Words of machine code are the instructions that their comments say.
func TestEncodings(t *testing.T) { arraytest.CheckEncodings(t, "elementwise_arm64.s") }

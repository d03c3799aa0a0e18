package arraytest

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

var word = regexp.MustCompile(`(?m)^\s*WORD \$(0x[0-9a-f]+) // (.*)$`)

// CheckEncodings disassembles the words in an assembly file for arm64, if LLVM's
// llvm-mc is at hand, and compares each with its comment.
func CheckEncodings(t *testing.T, asm string) {
	t.Helper()
	program := ""
	for _, name := range []string{"llvm-mc", "llvm-mc-14"} {
		if path, err := exec.LookPath(name); err == nil {
			program = path
		}
	}
	if program == "" {
		t.Skip("no llvm-mc to disassemble with")
	}
	text, err := os.ReadFile(asm)
	if err != nil {
		t.Fatal(err)
	}
	var in bytes.Buffer
	words := word.FindAllSubmatch(text, -1)
	if len(words) == 0 {
		t.Fatalf("%s has no words of machine code", asm)
	}
	for _, w := range words {
		bits, err := strconv.ParseUint(string(w[1]), 0, 32)
		if err != nil {
			t.Fatal(err)
		}
		for range 4 {
			fmt.Fprintf(&in, "%#x ", bits&0xff)
			bits >>= 8
		}
		in.WriteByte('\n')
	}
	cmd := exec.Command(program, "--disassemble", "--triple=aarch64")
	cmd.Stdin = &in
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, line := range strings.Split(string(out), "\n") {
		if line = strings.Join(strings.Fields(line), " "); line != "" && line[0] != '.' {
			got = append(got, line)
		}
	}
	if len(got) != len(words) {
		t.Fatalf("%s: %d words are %d instructions", asm, len(words), len(got))
	}
	for i, w := range words {
		if string(w[2]) != got[i] {
			t.Errorf("%s: %s is %q, not %q", asm, w[1], got[i], w[2])
		}
	}
}

// Command ebb trains models that give their memory back.
//
//	ebb train mnist             a classifier of digits, as in the README
//	ebb train linear            linear regression
//	ebb mem report FILE         what holds memory, from a snapshot
//	ebb version --licences      what the program is made of
//	ebb completion bash         completion for a shell
//
// A training ends with status 0 only when the operating system has all its
// memory back. Status 1 is an error, 2 wrong usage, 3 memory that survived (each
// survivor is listed), 130 an interrupt and 143 a TERM signal.
package main

import (
	"errors"
	"io"
	"os"
)

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }

// run carries out a command line and returns the exit status.
func run(args []string, stdout, stderr io.Writer) int {
	root := newRoot()
	out := &standardOutput{Writer: stdout}
	root.SetArgs(args)
	root.SetOut(out)
	root.SetErr(stderr)
	err := root.Execute()
	if out.err != nil && !errors.Is(err, out.err) {
		err = &failure{statusError, errors.Join(err, fileError("write", "standard output", out.err))}
	}
	complain(stderr, err)
	return status(err)
}

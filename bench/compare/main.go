// Command compare runs the same work in Ebb and in PyTorch, alternately, and
// tells how long each took.
//
//	go run ./bench/compare [--json FILE] [--python PATH] [--openblas NAME] [--rows REGEXP] [--long]
//
// It first measures what the machine can do at most: multiply-adds and memory
// traffic, of one core and of all; and again in turns with each row, which then
// shows as a share of that limit. Each row of the table is one piece of work,
// done from the same seed on both sides; both results are printed and must agree,
// or the row is marked wrong. A figure is the median of samples that were taken in
// turns, with the quartiles; the ratio is the median of the ratios of neighbours,
// so that what else the machine does at the time weighs on both sides. PyTorch
// runs with one thread and with one for each core, and the fastest counts. An
// OpenBLAS that does not know the processor, and so does without its vectors, is
// tried as it is and told the processor by OPENBLAS_CORETYPE.
//
// PyTorch is looked for in each python3 of the path, then in /usr/bin/python3.
// Without it Ebb's figures and their share of the machine's limits remain.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"regexp"
)

func main() {
	if len(os.Args) > 2 && os.Args[1] == "program" { // a child: see wholeProcess
		if err := runProgram(os.Args[2], os.Args[3:], os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	switch err := compare(ctx, os.Args[1:], os.Stdout, os.Stderr); err {
	case nil:
	case flag.ErrHelp:
		os.Exit(2)
	default:
		fmt.Fprintln(os.Stderr, "compare:", err)
		os.Exit(1)
	}
}

// compare does what the arguments say: it prints the table to out, and what
// it is at to progress.
func compare(ctx context.Context, args []string, out, progress io.Writer) (err error) {
	flags := flag.NewFlagSet("compare", flag.ContinueOnError)
	flags.SetOutput(progress)
	file := flags.String("json", "", "`file` for the figures as JSON")
	path := flags.String("python", "", "`path` of a python3 that has PyTorch")
	core := flags.String("openblas", "", "`name` of the processor that PyTorch's OpenBLAS is told, beside being run as it is;\nwithout one, if OpenBLAS does not know the processor, a name that suits it; \"installed\" tells nothing")
	only := flags.String("rows", "", "`pattern` of the rows to run")
	atLength := flags.Bool("long", false, "longer samples, and work that takes minutes")
	if err := flags.Parse(args); err != nil {
		return flag.ErrHelp
	}
	pattern, err := regexp.Compile(*only)
	if err != nil {
		return fmt.Errorf("--rows: %w", err)
	}
	e := usual
	if *atLength {
		e = long
	}
	s, err := newSession(ctx, e, progress)
	if err != nil {
		return err
	}
	defer s.close()
	s.findPython(*path)
	s.findOpenBLAS(*core)

	var r report
	r.describe(s)
	for _, w := range rows() {
		if !pattern.MatchString(w.name) {
			continue
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		fmt.Fprintln(progress, w.name)
		r.Figures = append(r.Figures, w.figures(s)...)
	}
	r.finish()
	r.print(out)
	if *file != "" {
		err = r.write(*file)
	}
	return errors.Join(err, r.fault())
}

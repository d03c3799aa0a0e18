package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"
)

// program is what ebb train can run.
type program struct {
	name     string
	short    string   // in a line
	flags    []string // those that mean something for it
	defaults settings
	run      func(ctx context.Context, j *job) error
}

// programs are all there are.
var programs = []*program{linear, mnist}

func newTrain() *cobra.Command {
	train := &cobra.Command{
		Use:   "train PROGRAM",
		Short: "Train a model, free its memory, and prove it",
		Args: func(_ *cobra.Command, args []string) error {
			var names []string
			for _, p := range programs {
				names = append(names, p.name)
			}
			what := "train needs a program"
			if len(args) > 0 {
				what = fmt.Sprintf("there is no program %q to train", args[0])
			}
			return fmt.Errorf("%s: %s", what, strings.Join(names, ", "))
		},
		RunE: func(*cobra.Command, []string) error { return nil }, // Args has no way past it
	}
	for _, p := range programs {
		train.AddCommand(p.command())
	}
	return train
}

// command returns the program's subcommand.
func (p *program) command() *cobra.Command {
	s := p.defaults
	c := &cobra.Command{
		Use:   p.name,
		Short: p.short,
		Args:  cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if err := s.checkTargets(); err != nil {
				return err
			}
			if c.Flags().Changed("data") && s.data == "" {
				return errors.New("--data names no folder; without the flag the files are fetched") // it is not what an empty variable asks for
			}
			ctx, release := withSignals(context.Background())
			defer release()
			// Tensors lie off the Go heap, so little is left for the collector,
			// and collecting more often costs next to nothing. It keeps Go's
			// share of what the process holds at the end down by half a mebibyte.
			if os.Getenv("GOGC") == "" {
				defer debug.SetGCPercent(debug.SetGCPercent(20))
			}
			return newJob(p, s, c.OutOrStdout()).do(ctx)
		},
	}
	addFlags(c.Flags(), &s, p.flags)
	c.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return explainFlag(p.name, err) })
	return c
}

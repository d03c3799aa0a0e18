package main

import (
	"github.com/spf13/cobra"
)

// newRoot returns the command line. Commands return a [*failure] for what went
// wrong while they ran; every other error is one of usage.
func newRoot() *cobra.Command {
	root := &cobra.Command{
		Use:           "ebb",
		Short:         "Deep learning in which memory comes back",
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	root.AddCommand(newTrain(), newMemCommand(), newVersion())
	return root
}

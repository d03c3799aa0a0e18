package main

import (
	"fmt"
	"io"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

func newVersion() *cobra.Command {
	var withLicences bool
	c := &cobra.Command{
		Use:   "version",
		Short: "Print the version, and what the program is made of",
		Args:  cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			out := c.OutOrStdout()
			info, ok := debug.ReadBuildInfo()
			if !ok {
				info = &debug.BuildInfo{Main: debug.Module{Version: "unknown"}}
			}
			fmt.Fprintf(out, "ebb %s %s %s/%s\n", version(info), runtime.Version(), runtime.GOOS, runtime.GOARCH)
			if !withLicences {
				return nil
			}
			return fail(printLicences(out, info))
		},
	}
	c.Flags().BoolVar(&withLicences, "licences", false, "print the modules in the program with their versions and licences")
	return c
}

// version returns the module's version, or the commit it was built from.
func version(info *debug.BuildInfo) string {
	v := info.Main.Version
	if v != "" && v != "(devel)" {
		return v
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			return "devel " + s.Value[:min(len(s.Value), 12)]
		}
	}
	return "devel"
}

// printLicences lists the modules that are linked into the program, then the
// text of each licence.
func printLicences(w io.Writer, info *debug.BuildInfo) error {
	modules := append([]*debug.Module{{Path: standardLibrary, Version: runtime.Version()}}, info.Deps...)
	longest := 0
	for _, m := range modules {
		longest = max(longest, len(m.Path))
	}
	fmt.Fprintf(w, "\n%-*s  %s\n", longest, module, "Apache-2.0")
	var texts []string
	seen := map[string]bool{}
	for _, m := range modules {
		if m.Replace != nil {
			m = m.Replace
		}
		l, ok := licences[m.Path]
		if !ok {
			l.name = "see its own files"
		}
		fmt.Fprintf(w, "%-*s  %-12s  %s\n", longest, m.Path, l.name, m.Version)
		if l.file != "" && !seen[l.file] {
			seen[l.file] = true
			texts = append(texts, l.file)
		}
	}
	for _, file := range texts {
		text, err := licenceTexts.ReadFile("licences/" + file)
		if err != nil {
			return err
		}
		fmt.Fprintf(w, "\n---- %s ----\n\n%s", file, text)
	}
	return nil
}

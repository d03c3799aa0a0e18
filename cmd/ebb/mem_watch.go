package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
)

// processFigures are what the system says of another process, in bytes.
type processFigures struct {
	name                  string
	rss, anon, file, peak uint64
	threads               uint64
}

func newMemWatch() *cobra.Command {
	q := &memQuery{}
	interval := time.Second
	once := false
	c := &cobra.Command{
		Use:   "watch PID",
		Short: "Live figures of a running process",
		Args:  cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			q.out, q.errs = c.OutOrStdout(), c.ErrOrStderr()
			pid, err := strconv.Atoi(args[0])
			if err != nil || pid <= 0 {
				return fmt.Errorf("%q is no process id", args[0])
			}
			if interval < 10*time.Millisecond {
				return errors.New("--interval: 10ms or more")
			}
			ctx, release := withSignals(c.Context())
			defer release()
			return q.watch(ctx, pid, interval, once)
		},
	}
	c.Flags().DurationVar(&interval, "interval", interval, "time between two figures")
	c.Flags().BoolVar(&once, "once", false, "print one and end")
	return c
}

// watch prints a line at each interval until the process ends or a signal comes.
func (q *memQuery) watch(ctx context.Context, pid int, interval time.Duration, once bool) error {
	fmt.Fprintf(q.errs, "ebb: process %d is not asked for its own figures; these are the system's, which do not tell tensors from other memory\n", pid)
	if ctx == nil {
		ctx = context.Background()
	}
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	start := time.Now()
	for first := true; ; first = false {
		f, err := readProcess(pid)
		if err != nil {
			if !first && errors.Is(err, os.ErrNotExist) {
				fmt.Fprintf(q.errs, "ebb: process %d has ended\n", pid)
				return nil
			}
			return fail(err)
		}
		if first {
			fmt.Fprintf(q.out, "%s (%d)\n%10s  %12s  %12s  %12s  %12s  %7s\n", plain(f.name), pid, "time", "resident", "anonymous", "files", "most", "threads")
		}
		fmt.Fprintf(q.out, "%9.1fs  %12s  %12s  %12s  %12s  %7d\n", time.Since(start).Seconds(), bytesText(f.rss), bytesText(f.anon), bytesText(f.file), bytesText(f.peak), f.threads)
		if once {
			return nil
		}
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
	}
}

// readProcess reads /proc/PID/status.
func readProcess(pid int) (processFigures, error) {
	if runtime.GOOS != "linux" {
		return processFigures{}, errors.New("only Linux tells the figures of another process without its help")
	}
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		if errors.Is(err, os.ErrNotExist) {
			return processFigures{}, fmt.Errorf("process %d: %w", pid, os.ErrNotExist)
		}
		return processFigures{}, fmt.Errorf("process %d: %w", pid, err)
	}
	var f processFigures
	for line := range strings.Lines(string(text)) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), ":")
		value = strings.TrimSpace(value)
		n, _ := strconv.ParseUint(strings.TrimSuffix(value, " kB"), 10, 64)
		switch key {
		case "Name":
			f.name = value
		case "VmRSS":
			f.rss = n << 10
		case "RssAnon":
			f.anon = n << 10
		case "RssFile":
			f.file = n << 10
		case "VmHWM":
			f.peak = n << 10
		case "Threads":
			f.threads = n
		}
	}
	return f, nil
}

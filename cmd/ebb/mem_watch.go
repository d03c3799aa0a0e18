package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"os"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/ebb-ml/ebb/internal/process"
	"github.com/ebb-ml/ebb/memory"
	"github.com/spf13/cobra"
)

// leastInterval bounds --interval.
const leastInterval = 10 * time.Millisecond

func newMemWatch() *cobra.Command {
	w := &watcher{interval: time.Second}
	c := &cobra.Command{
		Use:   "watch PID or URL",
		Short: "Live figures of a running process",
		Long: `Show live figures of a running process, until it ends or a signal comes.

A program of Ebb's tells them by PID if it was started with EBB_MEMORY=listen or
calls memory.Listen, and by URL where it serves memory.Handler
(http://localhost:8080/debug/memory/). Of any other process Linux tells what is
resident, which does not tell tensors from other memory.

On a terminal the figures are drawn anew each time; elsewhere each is a line.`,
		Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			w.out, w.errs = c.OutOrStdout(), c.ErrOrStderr()
			if w.interval < leastInterval {
				return fmt.Errorf("--interval: %v or more", leastInterval)
			}
			read, err := w.source(args[0])
			if err != nil {
				return err
			}
			ctx, release := withSignals(context.Background())
			defer release()
			return w.watch(ctx, read)
		},
	}
	c.Flags().DurationVar(&w.interval, "interval", w.interval, "time between two figures")
	c.Flags().BoolVar(&w.once, "once", false, "print one and end")
	c.Flags().BoolVar(&w.json, "json", false, "print a line of JSON each time")
	return c
}

// watcher shows figures again and again.
type watcher struct {
	interval   time.Duration
	once, json bool
	out, errs  io.Writer
	drawn      int // lines that are on the terminal and will be drawn over
}

// reading is what a process tells, and how it was asked.
type reading struct {
	memory.Status
	Source string `json:"source"`           // "process", or "system" where the process does not tell
	Reason string `json:"reason,omitempty"` // why it does not
	most   int64  // resident so far, of the system
	files  int64
}

// source returns what reads the figures of a PID or URL.
func (w *watcher) source(target string) (read func(context.Context) (*reading, error), err error) {
	if pid, err := strconv.Atoi(target); err == nil && pid > 0 {
		return (&processSource{pid: pid}).read, nil
	}
	u, err := url.Parse(target)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return nil, fmt.Errorf("%q is neither a process id nor a URL such as http://localhost:8080/debug/memory/", target)
	}
	u = u.JoinPath("status.json")
	return func(ctx context.Context) (*reading, error) { return readStatus(ctx, http.DefaultClient, u.String()) }, nil
}

// maxStatus bounds what is read of an answer.
const maxStatus = 1 << 20

// readStatus asks a handler for its figures.
func readStatus(ctx context.Context, c *http.Client, url string) (*reading, error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	answer, err := c.Do(request)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s: %s", url, answer.Status)
	}
	r := &reading{Source: "process"}
	if err := json.NewDecoder(io.LimitReader(answer.Body, maxStatus)).Decode(&r.Status); err != nil {
		return nil, fmt.Errorf("%s tells no figures of memory: %w", url, err)
	}
	if r.PID == 0 {
		return nil, fmt.Errorf("%s tells no figures of memory", url)
	}
	return r, nil
}

// processSource reads the figures of a process: its own, or the system's.
type processSource struct {
	pid    int
	client *http.Client // nil: it was not asked yet
	reason string       // why it is not asked
}

func (s *processSource) read(ctx context.Context) (*reading, error) {
	if s.client == nil && s.reason == "" {
		s.connect()
	}
	if s.reason == "" {
		r, err := readStatus(ctx, s.client, "http://process/status.json")
		if err == nil || ctx.Err() != nil {
			return r, err
		}
		s.reason = "its socket gives no answer: " + err.Error()
	}
	return s.readSystem()
}

// connect finds the socket of the process.
func (s *processSource) connect() {
	path, err := memory.Socket(s.pid)
	if err == nil {
		_, err = os.Lstat(path)
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		s.reason = fmt.Sprintf("it has no socket %s: it was started without EBB_MEMORY=listen and does not call memory.Listen, or it is another user's or none of Ebb's", path)
		return
	case err != nil:
		s.reason = err.Error()
		return
	}
	s.client = &http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", path)
	}}}
}

// errEnded is a process without figures. One that has ended and that its parent
// has not asked about, or a thread of the kernel's, is there and has none.
var errEnded = errors.New("there is no such process, or it has ended")

// readSystem reads the system's figures.
func (s *processSource) readSystem() (*reading, error) {
	if runtime.GOOS != "linux" {
		return nil, fmt.Errorf("process %d does not tell its figures (%s), and only Linux tells those of another process", s.pid, s.reason)
	}
	f, err := process.ReadPID(s.pid)
	var format *process.FormatError
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ESRCH), errors.As(err, &format) && format.Text == "":
		return nil, fmt.Errorf("process %d: %w", s.pid, errEnded)
	case err != nil:
		return nil, err
	}
	r := &reading{Source: "system", Reason: s.reason, most: f.Peak, files: f.File}
	r.Time, r.PID, r.RSS, r.Anon = time.Now(), s.pid, f.RSS, f.Anon
	if name, err := os.ReadFile(fmt.Sprintf("/proc/%d/comm", s.pid)); err == nil {
		r.Program = strings.TrimSpace(string(name))
	}
	return r, nil
}

// watch shows a reading at each interval until the process ends or a signal comes.
func (w *watcher) watch(ctx context.Context, read func(context.Context) (*reading, error)) error {
	_, draws := terminal(w.out)
	ticker := time.NewTicker(w.interval)
	defer ticker.Stop()
	start, before := time.Now(), ""
	for first := true; ; first = false {
		r, err := read(ctx)
		switch {
		case ctx.Err() != nil:
			return nil
		case !first && errors.Is(err, errEnded):
			fmt.Fprintln(w.errs, "ebb: the process has ended")
			return nil
		case err != nil:
			return fail(err)
		}
		if r.Source != before && r.Reason != "" && !w.json {
			fmt.Fprintf(w.errs, "ebb: these are the system's figures, which do not tell tensors from other memory; process %d tells no more: %s\n", r.PID, plain(r.Reason))
			w.drawn = 0
		}
		switch {
		case w.json:
			err = w.line(r)
		case draws:
			err = w.draw(r)
		default:
			err = w.row(r, time.Since(start), r.Source != before)
		}
		if err != nil || w.once {
			return fail(err)
		}
		before = r.Source
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
	}
}

// line prints a reading as a line of JSON.
func (w *watcher) line(r *reading) error {
	text, err := json.Marshal(r)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(w.out, "%s\n", text)
	return err
}

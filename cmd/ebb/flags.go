package main

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/pflag"
)

// settings are what the flags of a training say.
type settings struct {
	epochs     int
	steps      int // 0: as many as the epochs have
	batchSize  int
	lr         float64
	momentum   float64
	seed       uint64
	threads    int // 0: as many as there are processors
	workers    int
	limit      int64 // bytes; 0: none
	data       string
	metrics    string
	report     string
	html       string
	snapshot   string
	cpuprofile string
	trace      string
	quiet      bool
}

// flag puts one flag of the settings into a set. The value that is there is the
// default.
type flag struct {
	name string
	add  func(f *pflag.FlagSet, name string, s *settings)
}

// flags are all that a training may have. A program takes those that mean
// something for it.
var flags = []flag{
	{"epochs", func(f *pflag.FlagSet, name string, s *settings) {
		f.Var(&count{&s.epochs, 0}, name, "`passes` over the data")
	}},
	{"steps", func(f *pflag.FlagSet, name string, s *settings) {
		f.Var(&count{&s.steps, 1}, name, "end after this many `steps` in all")
	}},
	{"batch-size", func(f *pflag.FlagSet, name string, s *settings) {
		f.Var(&count{&s.batchSize, 1}, name, "`samples` in a batch")
	}},
	{"lr", func(f *pflag.FlagSet, name string, s *settings) {
		f.Var(&rate{&s.lr}, name, "learning `rate`")
	}},
	{"momentum", func(f *pflag.FlagSet, name string, s *settings) {
		f.Var(&rate{&s.momentum}, name, "`share` of the last step that the next keeps")
	}},
	{"seed", func(f *pflag.FlagSet, name string, s *settings) {
		f.Var(&seed{&s.seed}, name, "`seed` of the random numbers, as torch.manual_seed takes it")
	}},
	{"threads", func(f *pflag.FlagSet, name string, s *settings) {
		f.Var(&count{&s.threads, 1}, name, "`threads` that compute; the numbers do not depend on it (default: one for each processor)")
	}},
	{"workers", func(f *pflag.FlagSet, name string, s *settings) {
		f.Var(&count{&s.workers, 0}, name, "`goroutines` that prepare batches ahead")
	}},
	{"limit", func(f *pflag.FlagSet, name string, s *settings) {
		f.Var(&size{&s.limit}, name, "most `bytes` of memory for tensors: 64MiB, say")
	}},
	{"data", func(f *pflag.FlagSet, name string, s *settings) {
		f.StringVar(&s.data, name, s.data, "`folder` that has the data set's files (default: they are fetched and kept in the user's cache)")
	}},
	{"metrics", func(f *pflag.FlagSet, name string, s *settings) {
		f.StringVar(&s.metrics, name, s.metrics, "`file` for the loss of each step and the accuracy of each epoch, a line of JSON each")
	}},
	{"report", func(f *pflag.FlagSet, name string, s *settings) {
		f.StringVar(&s.report, name, s.report, "`file` for what memory did: Markdown with a diagram if its name ends in .md, else JSON")
	}},
	{"html", func(f *pflag.FlagSet, name string, s *settings) {
		f.StringVar(&s.html, name, s.html, "`file` for a page with pictures of memory over time and the loss")
	}},
	{"cpuprofile", func(f *pflag.FlagSet, name string, s *settings) {
		f.StringVar(&s.cpuprofile, name, s.cpuprofile, "`file` for a CPU profile, for go tool pprof")
	}},
	{"trace", func(f *pflag.FlagSet, name string, s *settings) {
		f.StringVar(&s.trace, name, s.trace, "`file` for an execution trace, for go tool trace")
	}},
	{"snapshot", func(f *pflag.FlagSet, name string, s *settings) {
		f.StringVar(&s.snapshot, name, s.snapshot, "`file` for the history of every allocation, for ebb mem and PyTorch's viewer: name it *.pickle")
	}},
	{"quiet", func(f *pflag.FlagSet, name string, s *settings) {
		f.BoolVar(&s.quiet, name, s.quiet, "print nothing but errors")
	}},
}

// addFlags puts the flags of the given names into f.
func addFlags(f *pflag.FlagSet, s *settings, names []string) {
	f.SortFlags = false
	for _, fl := range flags {
		if slices.Contains(names, fl.name) {
			fl.add(f, fl.name, s)
		}
	}
}

// explainFlag says of a flag that a program does not take whether another does.
func explainFlag(program string, err error) error {
	var unknown *pflag.NotExistError
	if errors.As(err, &unknown) {
		for _, fl := range flags {
			if fl.name == unknown.GetSpecifiedName() {
				return fmt.Errorf("--%s means nothing for %s", fl.name, program)
			}
		}
	}
	return err
}

// count is the value of a flag that counts.
type count struct {
	n     *int
	least int
}

func (c *count) Type() string { return "count" }
func (c *count) String() string {
	if c.n == nil || *c.n == 0 {
		return "" // the zero value of a flag shows no default
	}
	return strconv.Itoa(*c.n)
}
func (c *count) Set(text string) error {
	n, err := strconv.Atoi(text)
	if err != nil || n < c.least {
		return fmt.Errorf("a whole number from %d", c.least)
	}
	*c.n = n
	return nil
}

// rate is the value of a flag that is a number of 0 or more.
type rate struct{ x *float64 }

func (r *rate) Type() string { return "rate" }
func (r *rate) String() string {
	if r.x == nil || *r.x == 0 {
		return ""
	}
	return strconv.FormatFloat(*r.x, 'g', -1, 64)
}
func (r *rate) Set(text string) error {
	x, err := strconv.ParseFloat(text, 64)
	if err != nil || !(x >= 0) || math.IsInf(x, 0) {
		return errors.New("a number from 0")
	}
	*r.x = x
	return nil
}

// seed is the value of --seed. Like torch.manual_seed it takes whole numbers from
// -2^63 to 2^64-1, and a negative one as 2^64 more.
type seed struct{ n *uint64 }

func (s *seed) Type() string { return "seed" }
func (s *seed) String() string {
	if s.n == nil {
		return ""
	}
	return strconv.FormatUint(*s.n, 10)
}
func (s *seed) Set(text string) error {
	if n, err := strconv.ParseUint(text, 0, 64); err == nil {
		*s.n = n
		return nil
	}
	n, err := strconv.ParseInt(text, 0, 64)
	if err != nil {
		return errors.New("a whole number from -2^63 to 2^64-1")
	}
	*s.n = uint64(n)
	return nil
}

// size is the value of --limit: bytes, or KiB, MiB, GiB.
type size struct{ n *int64 }

func (s *size) Type() string { return "bytes" }
func (s *size) String() string {
	if s.n == nil || *s.n == 0 {
		return ""
	}
	return strconv.FormatInt(*s.n, 10)
}
func (s *size) Set(text string) error {
	number, shift := text, 0
	for i, unit := range []string{"KiB", "MiB", "GiB"} {
		if rest, ok := strings.CutSuffix(text, unit); ok {
			number, shift = rest, 10*(i+1)
		}
	}
	n, err := strconv.ParseUint(number, 10, 63)
	if err != nil || n == 0 || n > math.MaxInt64>>shift {
		return errors.New("bytes, such as 67108864, 65536KiB, 64MiB or 1GiB")
	}
	*s.n = int64(n) << shift
	return nil
}

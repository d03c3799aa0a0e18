package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

// stopped is the cause for which a signal cancels a context.
type stopped struct{ signal syscall.Signal }

func (s *stopped) Error() string { return fmt.Sprintf("stopped by signal %d", s.signal) }

// status is what a shell shows for a program that the signal ended.
func (s *stopped) status() int { return 128 + int(s.signal) }

// withSignals returns a context that an interrupt or TERM cancels, so that the
// step ends and memory is freed. A second signal ends the process at once, after
// what is half-written was removed. Call release when the work is done.
func withSignals(ctx context.Context) (_ context.Context, release func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	signals, done := make(chan os.Signal, 2), make(chan struct{})
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		for first := true; ; first = false {
			select {
			case s := <-signals:
				stop := &stopped{s.(syscall.Signal)}
				if !first {
					removeTemporary()
					os.Exit(stop.status())
				}
				cancel(stop)
			case <-done:
				return
			}
		}
	}()
	return ctx, func() {
		signal.Stop(signals)
		close(done)
	}
}

//go:build race

package lifecycle

// Under the race detector tensor memory lies on the Go heap, and the detector's
// own memory grows and never shrinks: RssAnon proves nothing.
const race = true

package datasets

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"time"
)

// How patient a download is.
var (
	attempts  = 3                // with a mirror
	stallTime = 30 * time.Second // without a byte
	pause     = 500 * time.Millisecond
)

// fromMirror downloads the file from a web address. What has arrived lies in
// the cache until all has; if the download is interrupted it stays there, and
// the next one goes on where this one stopped.
func fromMirror(ctx context.Context, url string, f *file, path string, o *options) (err error) {
	p := &partial{path: path + ".part", url: url, file: f, report: o.report}
	defer func() {
		if ctx.Err() == nil || p.size() == 0 {
			p.remove()
		}
	}()
	client := &http.Client{Transport: transport()}
	defer client.CloseIdleConnections()
	for try := 1; ; try++ {
		err = p.download(ctx, client)
		if err == nil {
			if err = p.place(ctx, path); err == nil {
				return nil
			}
			var w *writeError
			if errors.As(err, &w) || ctx.Err() != nil {
				return err
			}
			// What another mirror or an older server began may not fit.
			resumed := p.resumed
			p.remove()
			if !resumed {
				return fmt.Errorf("%s: %w", url, err)
			}
		}
		var w *writeError
		var final *finalError
		if errors.As(err, &w) || ctx.Err() != nil {
			return err
		}
		if try == attempts || errors.As(err, &final) {
			return fmt.Errorf("%s: %w", url, err)
		}
		select {
		case <-time.After(pause * time.Duration(try)):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// transport returns one that takes files as they are and does not wait for ever.
func transport() *http.Transport {
	return &http.Transport{
		Proxy:                 http.ProxyFromEnvironment,
		DialContext:           (&net.Dialer{Timeout: stallTime}).DialContext,
		TLSHandshakeTimeout:   stallTime,
		ResponseHeaderTimeout: stallTime,
		ForceAttemptHTTP2:     true,
		DisableCompression:    true,
	}
}

// finalError is an answer that will not change.
type finalError struct{ error }

func (e *finalError) Unwrap() error { return e.error }

// partial is a file on its way: what has arrived, and beside it what the server
// called that version.
type partial struct {
	path, url string
	*file
	report  func(Progress)
	resumed bool // the download went on where another stopped
}

type validator struct{ URL, Version string }

func (p *partial) size() int64 {
	info, err := os.Stat(p.path)
	if err != nil {
		return 0
	}
	return info.Size()
}

func (p *partial) remove() {
	_ = os.Remove(p.path)
	_ = os.Remove(p.path + ".json")
}

// version returns what this address's server called what has arrived, or "".
func (p *partial) version() string {
	var v validator
	b, err := os.ReadFile(p.path + ".json")
	if err != nil || json.Unmarshal(b, &v) != nil || v.URL != p.url {
		return ""
	}
	return v.Version
}

// download adds to the file what it lacks.
func (p *partial) download(ctx context.Context, client *http.Client) error {
	have := p.size()
	if have > p.gzBytes {
		p.remove()
		have = 0
	}
	if p.resumed = have > 0; have == p.gzBytes {
		return nil
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, p.url, nil)
	if err != nil {
		return &finalError{err}
	}
	req.Header.Set("Accept-Encoding", "identity")
	if have > 0 {
		req.Header.Set("Range", fmt.Sprintf("bytes=%d-", have))
		if v := p.version(); v != "" {
			req.Header.Set("If-Range", v)
		}
	}
	resp, err := client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	flags := os.O_WRONLY | os.O_CREATE | os.O_TRUNC
	switch {
	case resp.StatusCode == http.StatusPartialContent && have > 0 && strings.HasPrefix(resp.Header.Get("Content-Range"), fmt.Sprintf("bytes %d-", have)):
		flags = os.O_WRONLY | os.O_APPEND
	case resp.StatusCode == http.StatusOK:
		have, p.resumed = 0, false
	case have > 0 && (resp.StatusCode == http.StatusPartialContent || resp.StatusCode == http.StatusRequestedRangeNotSatisfiable):
		p.remove()
		return fmt.Errorf("the server answers %s to a request to go on at byte %d", resp.Status, have)
	case resp.StatusCode >= 500 || resp.StatusCode == http.StatusTooManyRequests:
		return fmt.Errorf("the server answers %s", resp.Status)
	default:
		return &finalError{fmt.Errorf("the server answers %s", resp.Status)}
	}
	if n := resp.ContentLength; n >= 0 && have+n != p.gzBytes {
		return &finalError{fmt.Errorf("the server has %d bytes, expected %d", have+n, p.gzBytes)}
	}
	out, err := os.OpenFile(p.path, flags, 0o644)
	if err != nil {
		return &writeError{err}
	}
	err = p.receive(out, resp, have, cancel)
	if e := out.Close(); err == nil && e != nil {
		err = &writeError{e}
	}
	if cause := context.Cause(ctx); cause != nil && err != nil {
		err = cause
	}
	return err
}

// errStalled is a server that sends nothing any more.
var errStalled = errors.New("the server sends nothing any more")

// receive writes the body to out. It gives up on a server that stalls.
func (p *partial) receive(out *os.File, resp *http.Response, have int64, cancel context.CancelCauseFunc) error {
	version := resp.Header.Get("ETag")
	if version == "" || strings.HasPrefix(version, "W/") {
		version = resp.Header.Get("Last-Modified")
	}
	if b, err := json.Marshal(validator{p.url, version}); version != "" && err == nil {
		if err := os.WriteFile(p.path+".json", b, 0o644); err != nil {
			return &writeError{err}
		}
	}
	stall := time.AfterFunc(stallTime, func() { cancel(errStalled) })
	defer stall.Stop()
	var last time.Time
	buf := make([]byte, 1<<16)
	for {
		n, err := resp.Body.Read(buf)
		stall.Reset(stallTime)
		if have+int64(n) > p.gzBytes {
			return &finalError{fmt.Errorf("the server sends more than the %d bytes expected", p.gzBytes)}
		}
		if _, err := out.Write(buf[:n]); err != nil {
			return &writeError{err}
		}
		have += int64(n)
		if now := time.Now(); err != nil || now.Sub(last) > 100*time.Millisecond {
			last = now
			p.report(Progress{File: p.name, Source: p.url, Done: have, Total: p.gzBytes})
		}
		switch {
		case err == io.EOF && have == p.gzBytes:
			return nil
		case err == io.EOF:
			return fmt.Errorf("the server sent %d of %d bytes", have, p.gzBytes)
		case err != nil:
			return err
		}
	}
}

// place puts the complete file at path.
func (p *partial) place(ctx context.Context, path string) error {
	in, err := os.Open(p.path)
	if err != nil {
		return &writeError{err}
	}
	defer in.Close()
	if err := place(ctx, in, p.file, path); err != nil {
		return err
	}
	p.remove()
	return nil
}

package main

import (
	"os/exec"
	"strings"
	"testing"
)

// Every module that is linked in on one of the systems has its licence here.
func TestLicences(t *testing.T) {
	used := map[string]bool{standardLibrary: true}
	for _, system := range []string{"linux", "darwin", "windows"} {
		c := exec.Command("go", "list", "-deps", "-f", "{{with .Module}}{{.Path}}{{end}}", ".")
		c.Env = append(c.Environ(), "GOOS="+system, "GOARCH=arm64", "CGO_ENABLED=0")
		out, err := c.Output()
		if err != nil {
			t.Skipf("go list: %v", err)
		}
		for _, path := range strings.Fields(string(out)) {
			if path != module {
				used[path] = true
			}
		}
	}
	for path := range used {
		if l, ok := licences[path]; !ok || l.name == "" {
			t.Errorf("no licence for %s", path)
		} else if _, err := licenceTexts.ReadFile("licences/" + l.file); err != nil {
			t.Error(err)
		}
	}
	for path := range licences {
		if !used[path] {
			t.Errorf("%s is linked in nowhere", path)
		}
	}
}

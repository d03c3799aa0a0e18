package main

import "embed"

// licenceTexts are the licences of what is linked into the program on one of the
// systems or another.
//
//go:embed licences
var licenceTexts embed.FS

const (
	module          = "github.com/ebb-ml/ebb"
	standardLibrary = "Go standard library"
)

// licence is a licence's SPDX name and the file of its text.
type licence struct{ name, file string }

// licences are those of every module that may be linked in. A test compares them
// with what go list tells for each system.
var licences = map[string]licence{
	standardLibrary:                        {"BSD-3-Clause", "go.txt"},
	"github.com/ebitengine/purego":         {"Apache-2.0", "apache-2.0.txt"},
	"github.com/go-ole/go-ole":             {"MIT", "go-ole.txt"},
	"github.com/inconshreveable/mousetrap": {"Apache-2.0", "apache-2.0.txt"},
	"github.com/mitchellh/colorstring":     {"MIT", "colorstring.txt"},
	"github.com/rivo/uniseg":               {"MIT", "uniseg.txt"},
	"github.com/schollz/progressbar/v3":    {"MIT", "progressbar.txt"},
	"github.com/shirou/gopsutil/v4":        {"BSD-3-Clause", "gopsutil.txt"},
	"github.com/spf13/cobra":               {"Apache-2.0", "apache-2.0.txt"},
	"github.com/spf13/pflag":               {"BSD-3-Clause", "pflag.txt"},
	"github.com/tklauser/go-sysconf":       {"BSD-3-Clause", "go-sysconf.txt"},
	"github.com/yusufpapurcu/wmi":          {"MIT", "wmi.txt"},
	"golang.org/x/sys":                     {"BSD-3-Clause", "go.txt"},
	"golang.org/x/term":                    {"BSD-3-Clause", "go.txt"},
}

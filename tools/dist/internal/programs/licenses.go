package programs

import (
	"bytes"
	"context"
	"debug/buildinfo"
	"fmt"
	"strings"

	"parley.internal/tools/dist/internal/licenses"
	"parley.internal/tools/dist/internal/release"
)

// own begins the paths of the modules of the repository, which its license covers.
const own = "parley.internal/"

// sources are the packages of the programs, seen from the directory of the hub.
var sources = []string{".", "./cmd/parley-hook"}

// licenses returns the licenses of the modules in the programs of a platform. A module that the linker names and this does
// not find is an error.
func (b Builder) licenses(ctx context.Context, p release.Platform, programs ...[]byte) ([]byte, error) {
	format := `{{if not .Standard}}{{with .Module}}{{.Path}}{{"\t"}}{{.Version}}{{"\t"}}{{.Dir}}{{end}}{{"\t"}}{{.Dir}}{{end}}`
	list, err := run(ctx, b.hub(), platform(p), append([]string{"list", "-deps", "-f", format}, sources...))
	if err != nil {
		return nil, err
	}
	modules, err := linked(string(list))
	if err != nil {
		return nil, err
	}
	known := map[string]bool{}
	for _, m := range modules {
		known[m.Path+" "+m.Version] = true
	}
	for _, program := range programs {
		info, err := buildinfo.Read(bytes.NewReader(program))
		if err != nil {
			return nil, err
		}
		for _, d := range info.Deps {
			if !strings.HasPrefix(d.Path, own) && !known[d.Path+" "+d.Version] {
				return nil, fmt.Errorf("the linker names %s %s, and go list does not: its license is unknown", d.Path, d.Version)
			}
		}
	}
	tools, err := run(ctx, b.hub(), nil, []string{"env", "GOVERSION", "GOROOT"})
	if err != nil {
		return nil, err
	}
	version, root, _ := strings.Cut(strings.TrimSpace(string(tools)), "\n")
	return licenses.Text(append(modules, licenses.Module{Path: "Go, its runtime and standard library", Version: version, Dir: root}))
}

// linked returns the modules in lines of a package each: path, version and directory of its module, and its directory.
func linked(list string) ([]licenses.Module, error) {
	var out []licenses.Module
	at := map[string]int{}
	for line := range strings.Lines(list) {
		f := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		if len(f) == 1 && f[0] == "" || strings.HasPrefix(f[0], own) {
			continue
		}
		if len(f) != 4 || f[2] == "" {
			return nil, fmt.Errorf("go list names no module and directory in %q: its license is unknown", line)
		}
		i, found := at[f[0]]
		if !found {
			i, at[f[0]] = len(out), len(out)
			out = append(out, licenses.Module{Path: f[0], Version: f[1], Dir: f[2]})
		}
		out[i].Packages = append(out[i].Packages, f[3])
	}
	return out, nil
}

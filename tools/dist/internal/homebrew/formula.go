package homebrew

import (
	"bytes"
	"fmt"
	"text/template"

	"parley.internal/tools/dist/internal/release"
)

var formula = template.Must(template.New("").Parse(`class Parley < Formula
  desc "{{.Summary}}"
  homepage "{{.Release.URL}}"
  version "{{.Release.Number}}"
  license "{{.License}}"
{{range .Systems}}
  on_{{.Name}} do
    on_arm do
      url "{{.ARM.URL}}"
      sha256 "{{.ARM.Hash}}"
    end
    on_intel do
      url "{{.Intel.URL}}"
      sha256 "{{.Intel.Hash}}"
    end
  end
{{end}}
  def install
    bin.install "parley", "parley-hook"
    prefix.install "SECURITY.md", "THIRD_PARTY_LICENSES", "docs", "infra"
    man1.install Dir["man/man1/*.1"]
    bash_completion.install "completions/parley.bash" => "parley"
    zsh_completion.install "completions/_parley"
    fish_completion.install "completions/parley.fish"
  end

  test do
    assert_equal "{{.Release.Version}}", shell_output("#{bin}/parley version").strip
  end
end
`))

type archive struct{ URL, Hash string }

type system struct {
	Name       string
	ARM, Intel archive
}

// Formula returns the formula for archives with the SHA-256 hashes of sums, by their names.
func Formula(r release.Release, sums map[string]string) ([]byte, error) {
	find := func(os, arch string) (archive, error) {
		name := r.Base(release.Platform{OS: os, Arch: arch}) + ".tar.gz"
		sum := sums[name]
		if sum == "" {
			return archive{}, fmt.Errorf("the formula needs %s: build all platforms", name)
		}
		return archive{r.Address(name), sum}, nil
	}
	data := struct {
		Release          release.Release
		Summary, License string
		Systems          []system
	}{r, release.Summary, release.License, nil}
	for _, s := range []struct{ name, os string }{{"macos", "darwin"}, {"linux", "linux"}} {
		arm, err := find(s.os, "arm64")
		if err != nil {
			return nil, err
		}
		intel, err := find(s.os, "amd64")
		if err != nil {
			return nil, err
		}
		data.Systems = append(data.Systems, system{s.name, arm, intel})
	}
	var out bytes.Buffer
	err := formula.Execute(&out, data)
	return out.Bytes(), err
}

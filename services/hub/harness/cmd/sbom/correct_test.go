package main

import (
	"bytes"
	"strings"
	"testing"
)

// foreign is a bill of a binary for Windows that was made on Linux.
const foreign = `{"bomFormat":"CycloneDX","metadata":{
	"component":{"name":"parley.internal/services/hub","version":"v1.2.3",
		"purl":"pkg:golang/parley.internal/services/hub@v1.2.3?type=module&goos=linux&goarch=amd64"},
	"properties":[{"name":"cdx:gomod:build:env:GOARCH","value":"arm64"},{"name":"cdx:gomod:build:env:GOOS","value":"windows"}]},
	"components":[
		{"name":"example.org/a","version":"v1.0.0","bom-ref":"pkg:golang/example.org/a@v1.0.0?type=module",
			"purl":"pkg:golang/example.org/a@v1.0.0?type=module&goos=linux&goarch=amd64"},
		{"name":"../../shared","version":"(devel)","bom-ref":"pkg:golang/../../shared@(devel)?type=module",
			"purl":"pkg:golang/../../shared@(devel)?type=module&goos=linux&goarch=amd64"}],
	"dependencies":[{"ref":"pkg:golang/x@v1.2.3","dependsOn":["pkg:golang/../../shared@(devel)?type=module"]},
		{"ref":"pkg:golang/../../shared@(devel)?type=module"}]}`

func TestAPackageIsForThePlatformOfTheBinary(t *testing.T) {
	t.Parallel()
	got, err := reproducible([]byte(foreign))
	if err != nil {
		t.Fatal(err)
	}
	if n := bytes.Count(got, []byte(`?type=module\u0026goos=windows\u0026goarch=arm64"`)); n != 3 ||
		bytes.Contains(got, []byte("goos=linux")) {
		t.Errorf("%d packages are for windows/arm64:\n%s", n, got)
	}
}

func TestAModuleOfTheRepositoryHasItsPathAndTheVersionOfTheBinary(t *testing.T) {
	t.Parallel()
	got, err := reproducible([]byte(foreign))
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(got, []byte("..")) || bytes.Contains(got, []byte("devel")) {
		t.Errorf("it names a directory, or no version:\n%s", got)
	}
	for want, n := range map[string]int{`"name": "parley.internal/shared",`: 1, `pkg:golang/parley.internal/shared@v1.2.3?type=module`: 4,
		`pkg:golang/example.org/a@v1.0.0?type=module`: 2} {
		if found := bytes.Count(got, []byte(want)); found != n {
			t.Errorf("it has %s %d times, not %d:\n%s", want, found, n, got)
		}
	}
}

func TestABillWithoutAVersionOrAPlatformIsRefused(t *testing.T) {
	t.Parallel()
	for _, part := range []string{`"version":"v1.2.3",`, "GOOS", "GOARCH"} {
		_, err := reproducible([]byte(strings.Replace(foreign, part, "", 1)))
		if err == nil || !strings.Contains(err.Error(), "cyclonedx-gomod bin and -version") {
			t.Errorf("without %s: %v", part, err)
		}
	}
}

package archive

import (
	"archive/zip"
	"bytes"
	"cmp"
	"context"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"parley.internal/shared/app"
	"parley.internal/shared/supervise"
)

const repository = "../../.."

// made is the archive of this repository, made once.
var made = sync.OnceValues(func() ([]byte, error) {
	var out bytes.Buffer
	err := Write(context.Background(), &out, repository)
	return out.Bytes(), err
})

func archive(t *testing.T) (text []byte, z *zip.Reader) {
	t.Helper()
	text, err := made()
	if err == nil {
		z, err = zip.NewReader(bytes.NewReader(text), int64(len(text)))
	}
	if err != nil {
		t.Fatal(err)
	}
	return text, z
}

func TestTheSameSourcesProduceTheSameBytesInAnyDirectory(t *testing.T) {
	t.Parallel()
	want, _ := archive(t)
	elsewhere := t.TempDir()
	for _, module := range []string{"functions", "shared"} {
		if err := os.CopyFS(filepath.Join(elsewhere, module), os.DirFS(filepath.Join(repository, module))); err != nil {
			t.Fatal(err)
		}
	}
	var got bytes.Buffer
	if err := Write(t.Context(), &got, elsewhere); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got.Bytes(), want) {
		t.Errorf("%d bytes here, %d other ones elsewhere", len(want), got.Len())
	}
}

func TestAnArchiveHoldsOnlyDeployedFiles(t *testing.T) {
	t.Parallel()
	_, z := archive(t)
	here, err := filepath.Abs(repository)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, f := range z.File {
		names = append(names, f.Name)
		if f.Mode() != 0o644 || len(f.Extra) != 0 || f.Comment != "" || !f.Modified.UTC().Equal(f.Modified) ||
			f.Modified.Year() != 1980 || f.Modified.YearDay() != 1 || f.Modified.Hour() != 0 {
			t.Errorf("%s has the mode %v, the time %v and %d extra bytes", f.Name, f.Mode(), f.Modified, len(f.Extra))
		}
		if strings.HasSuffix(f.Name, "_test.go") || strings.Contains(f.Name, "/testdata/") {
			t.Errorf("%s is for tests", f.Name)
		}
		r, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		if bytes.Contains(text, []byte(here)) || bytes.Contains(text, []byte("parley-archive-")) {
			t.Errorf("%s tells where it was made", f.Name)
		}
	}
	if !slices.IsSorted(names) || len(slices.Compact(slices.Clone(names))) != len(names) {
		t.Error("the names are not sorted, or one comes twice")
	}
	for _, want := range []string{"go.mod", "go.sum", "doc.go", "functions.go", "cmd/local/main.go",
		"internal/entry/entry.go", "vendor/modules.txt",
		"vendor/parley.internal/shared/app/react.go", "vendor/parley.internal/shared/push/fcm/fcm.go",
		"vendor/github.com/GoogleCloudPlatform/functions-framework-go/funcframework/framework.go"} {
		if !slices.Contains(names, want) {
			t.Errorf("%s is missing", want)
		}
	}
	for _, name := range names {
		for _, development := range []string{"internal/archive/", "internal/shim/", "internal/stack/", "cmd/emulator/",
			"cmd/package/",
			"vendor/parley.internal/shared/supervise/", "vendor/parley.internal/shared/store/emulator/",
			"vendor/parley.internal/shared/store/sqlite/", "vendor/parley.internal/shared/push/fcm/fcmtest/",
			"vendor/modernc.org/"} {
			if strings.HasPrefix(name, development) {
				t.Errorf("%s is for development", name)
			}
		}
	}
}

// unpacked unpacks the archive into a new directory.
func unpacked(t *testing.T) string {
	t.Helper()
	_, z := archive(t)
	dir := t.TempDir()
	if err := os.CopyFS(dir, z); err != nil {
		t.Fatal(err)
	}
	return dir
}

// program is the main package that the buildpack adds: a server of the function that FUNCTION_TARGET names.
const program = `package main

import (
	"log"
	"os"

	"github.com/GoogleCloudPlatform/functions-framework-go/funcframework"
	_ "parley.internal/functions"
)

func main() {
	log.Fatal(funcframework.StartHostPort("127.0.0.1", os.Getenv("PORT")))
}
`

// build builds a package of the unpacked archive, without any other source of packages.
func build(t *testing.T, dir, pkg string) string {
	t.Helper()
	modules := t.TempDir()
	bin := filepath.Join(t.TempDir(), "program")
	// Without their paths the packages are compiled once for all tests and builds.
	cmd := exec.CommandContext(t.Context(), "go", "build", "-trimpath", "-o", bin, pkg)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOWORK=off", "GOFLAGS=-mod=vendor", "GOPROXY=off", "GOSUMDB=off",
		"GOMODCACHE="+modules, "GOTOOLCHAIN=local", "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", pkg, err, out)
	}
	if used, err := os.ReadDir(modules); err != nil || len(used) != 0 {
		t.Errorf("%s wanted modules: %v, %v", pkg, used, err)
	}
	return bin
}

// target runs the program as one function, without a store, and posts to it.
func target(t *testing.T, bin, function string, ready int, header http.Header) (answer, log string) {
	t.Helper()
	p, err := supervise.Server{Path: "/", Status: ready,
		Env: []string{"FUNCTION_TARGET=" + function, "PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir(),
			"GOOGLE_CLOUD_PROJECT=demo-parley",
			"FIRESTORE_EMULATOR_HOST=127.0.0.1:1", "PARLEY_SWEEP_SECONDS=1"},
		Args: func(addr string) []string {
			_, port, _ := strings.Cut(addr, ":")
			return []string{"env", "PORT=" + port, bin}
		}}.Start(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer p.Stop()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, p.URL(), strings.NewReader("\xff"))
	if err != nil {
		t.Fatal(err)
	}
	req.Header = header
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	p.Stop() // its output is complete then
	return cmp.Or(strings.TrimSpace(string(body)), res.Status), p.Output()
}

func TestEveryEntryPointIsBuiltFromTheArchiveAlone(t *testing.T) {
	t.Parallel()
	dir := unpacked(t)
	main := filepath.Join(dir, "functions.local", "app", "main.go")
	if err := os.MkdirAll(filepath.Dir(main), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(main, []byte(program), 0o600); err != nil {
		t.Fatal(err)
	}
	build(t, dir, "./cmd/local")
	bin := build(t, dir, "./functions.local/app")
	known := app.New(nil, app.Ports{})
	for _, r := range known.Reactions() {
		t.Run(r.Name, func(t *testing.T) {
			t.Parallel()
			answer, log := target(t, bin, r.Name, http.StatusBadRequest,
				http.Header{"Content-Type": {"application/protobuf"}, "Ce-Specversion": {"1.0"},
					"Ce-Id": {"e"}, "Ce-Source": {"s"},
					"Ce-Type": {"google.cloud.firestore.document.v1." + string(r.Kind)}})
			if answer != "200 OK" || !strings.Contains(log,
				`"message":"event dropped","reaction":"`+r.Name+`","event":"e"`) {
				t.Errorf("an event is answered %s, the log is\n%s", answer, log)
			}
		})
	}
	for _, s := range known.Sweeps() {
		t.Run(s.Function, func(t *testing.T) {
			t.Parallel()
			if answer, log := target(t, bin, s.Function, http.StatusMethodNotAllowed,
				http.Header{}); !strings.Contains(answer, `"data":{"sweep":"`+s.Name+`"`) {
				t.Errorf("it answers %s, the log is\n%s", answer, log)
			}
		})
	}
	t.Run("none of that name", func(t *testing.T) {
		t.Parallel()
		cmd := exec.CommandContext(t.Context(), bin)
		cmd.Env = []string{"FUNCTION_TARGET=OnNothing", "PORT=0"}
		if out, err := cmd.CombinedOutput(); err == nil || !strings.Contains(string(out), "OnNothing") {
			t.Errorf("it ends with %v\n%s", err, out)
		}
	})
}

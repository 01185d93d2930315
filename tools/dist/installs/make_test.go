package installs

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"parley.internal/tools/dist/internal/artifacts"
	"parley.internal/tools/dist/internal/programs"
	"parley.internal/tools/dist/internal/release"
)

const (
	repository = "../../.."
	version    = "v9.9.9-installs"
	number     = "9.9.9-installs"
	flags      = "-s -w -X parley.internal/services/hub/internal/cli.Version=" + version
)

// here is the platform of this machine.
var here = release.Platform{OS: runtime.GOOS, Arch: runtime.GOARCH}

var scratch string

func TestMain(m *testing.M) {
	code := 1
	dir, err := os.MkdirTemp("", "parley-installs-")
	if err == nil {
		scratch = dir
		err = os.Setenv("GOPROXY", "off") // the build must not need a network
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
	} else {
		code = m.Run()
	}
	_ = os.RemoveAll(dir)
	os.Exit(code)
}

// made makes the artifacts of this platform in a directory of a name, and returns it.
func made(name string) (string, error) {
	root, err := filepath.Abs(repository)
	if err != nil {
		return "", err
	}
	work, out := filepath.Join(scratch, name+"-work"), filepath.Join(scratch, name)
	if err := os.Mkdir(work, 0o755); err != nil {
		return "", err
	}
	r := release.Release{Version: version, Commit: "37f0608", Time: time.Unix(1_700_000_000, 0), URL: "https://example.org/releases"}
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Minute)
	defer cancel()
	b := programs.Builder{Root: root, Flags: flags, Work: work}
	return out, artifacts.Make(ctx, b, r, []release.Platform{here}, out, func(string) {})
}

var once = sync.OnceValues(func() (string, error) { return made("one") })

// artifact returns the path of the artifact of a name.
func artifact(t *testing.T, name string) string {
	t.Helper()
	dir, err := once()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, name)
	if _, err := os.Stat(path); err != nil {
		list, _ := os.ReadDir(dir)
		t.Fatalf("%v among %v", err, list)
	}
	return path
}

// base is the start of the names of archives.
var base = "parley_" + number + "_" + runtime.GOOS + "_" + runtime.GOARCH

// need skips a test whose program is missing, or fails it where nothing may be skipped.
func need(t *testing.T, program string) {
	t.Helper()
	if _, err := exec.LookPath(program); err == nil {
		return
	}
	if os.Getenv("REQUIRE_EMULATOR") != "" {
		t.Fatalf("%s is missing, and REQUIRE_EMULATOR is set", program)
	}
	t.Skipf("%s is missing: install it to test this artifact", program)
}

// onLinux skips a test of an artifact that exists for Linux alone. Where nothing may be skipped, the test fails.
func onLinux(t *testing.T) {
	t.Helper()
	if runtime.GOOS != "linux" {
		if os.Getenv("REQUIRE_EMULATOR") != "" {
			t.Fatal("the artifact is for Linux, and REQUIRE_EMULATOR is set")
		}
		t.Skip("the artifact is for Linux")
	}
}

// done runs a command and fails the test where it does.
func done(t *testing.T, cmd *exec.Cmd) string {
	t.Helper()
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", cmd, err, out)
	}
	return string(out)
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func TestTwoBuildsOfAPlatformGiveTheSameBytes(t *testing.T) {
	sums := read(t, artifact(t, "checksums.txt"))
	two, err := made("two")
	if err != nil {
		t.Fatal(err)
	}
	if again := read(t, filepath.Join(two, "checksums.txt")); !bytes.Equal(sums, again) {
		t.Errorf("%s\nand\n%s", sums, again)
	}
}

func TestTheChecksumsAreThoseOfTheFiles(t *testing.T) {
	need(t, "sha256sum")
	file := artifact(t, "checksums.txt")
	cmd := exec.CommandContext(t.Context(), "sha256sum", "--check", "--strict", filepath.Base(file))
	cmd.Dir = filepath.Dir(file)
	if said := done(t, cmd); strings.Count(said, ": OK\n") != bytes.Count(read(t, file), []byte("\n")) {
		t.Error(said)
	}
}

func TestTheBillOfMaterialsNamesTheModulesAndNoPathOfThisMachine(t *testing.T) {
	text := string(read(t, artifact(t, base+".cdx.json")))
	for _, want := range []string{`"bomFormat": "CycloneDX"`, "modernc.org/sqlite", "golang.org/x/crypto/x509roots/fallback", version} {
		if !strings.Contains(text, want) {
			t.Errorf("it lacks %s", want)
		}
	}
	own := "pkg:golang/parley.internal/shared@" + version + `?type=module\u0026goos=` + here.OS + `\u0026goarch=` + here.Arch
	if !strings.Contains(text, own) || strings.Contains(text, "(devel)") {
		t.Errorf("it lacks %s, or a module has no version", own)
	}
	if strings.Contains(text, scratch) {
		t.Error("it holds a path of this machine")
	}
}

package main

import (
	"bufio"
	"context"
	"debug/elf"
	"io/fs"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"parley.internal/shared/store/emulator"
)

// The tests build the binary of the image without Docker, from the files that the ignore file admits and by the
// instructions of the Dockerfile.

const repository = "../.."

const stamp = "v9.9.9-image"

// instruction is an instruction of a Dockerfile, with its continuation lines joined.
type instruction struct{ name, args string }

func dockerfile(t *testing.T) []instruction {
	t.Helper()
	text, err := os.ReadFile("Dockerfile")
	if err != nil {
		t.Fatal(err)
	}
	var out []instruction
	for line := range strings.Lines(strings.ReplaceAll(string(text), "\\\n", " ")) {
		if line = strings.TrimSpace(line); line != "" && line[0] != '#' {
			name, args, _ := strings.Cut(line, " ")
			out = append(out, instruction{name, args})
		}
	}
	return out
}

// stages returns the instructions of both stages.
func stages(t *testing.T) (build, final []instruction) {
	t.Helper()
	from := func(in instruction) bool { return in.name == "FROM" }
	all := dockerfile(t)
	all = all[max(slices.IndexFunc(all, from), 0):] // without the arguments of both
	i := slices.IndexFunc(all[1:], from) + 1
	if all[0].name != "FROM" || i < 1 {
		t.Fatal("the Dockerfile must have two stages")
	}
	return all[:i], all[i:]
}

func TestBothImagesAreNamedByADigestWithoutADefault(t *testing.T) {
	t.Parallel()
	build, final := stages(t)
	for base, name := range map[string]string{build[0].args: "GO_DIGEST", final[0].args: "BASE_DIGEST"} {
		if !strings.Contains(base+" ", "@${"+name+"} ") {
			t.Errorf("%s is not named by %s", base, name)
		}
		if !slices.Contains(dockerfile(t), instruction{"ARG", name}) {
			t.Errorf("%s is no argument, or has a default", name)
		}
	}
}

// ignored is a line of an ignore file: a pattern of excluded files, or after a ! of files that are included again.
type ignored struct {
	path *regexp.Regexp
	back bool
}

func ignoreFile(t *testing.T) []ignored {
	t.Helper()
	text, err := os.ReadFile("Dockerfile.dockerignore")
	if err != nil {
		t.Fatal(err)
	}
	var out []ignored
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		pattern, back := strings.CutPrefix(line, "!")
		r := strings.NewReplacer("**/", "(.*/)?", "**", ".*", "*", "[^/]*", ".", `\.`).Replace(pattern)
		// A pattern of a directory matches the files in it.
		out = append(out, ignored{regexp.MustCompile("^" + r + "(/.*)?$"), back})
	}
	return out
}

// sent reports whether a file reaches the build. The last matching line counts.
func sent(rules []ignored, path string) bool {
	through := true
	for _, r := range rules {
		if r.path.MatchString(path) {
			through = r.back
		}
	}
	return through
}

// sending returns the files of the repository that reach the build.
func sending(t *testing.T) []string {
	t.Helper()
	rules := ignoreFile(t)
	var out []string
	err := filepath.WalkDir(repository, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && slices.Contains([]string{".git", ".cache", "node_modules"}, d.Name()):
			return filepath.SkipDir
		case d.IsDir():
			return nil
		}
		name, err := filepath.Rel(repository, path)
		if name = filepath.ToSlash(name); sent(rules, name) {
			out = append(out, name)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestOnlyTheSourcesOfTheServerReachTheImage(t *testing.T) {
	t.Parallel()
	rules, names := ignoreFile(t), sending(t)
	for _, want := range []string{"shared/go.mod", "shared/app/app.go", "services/hub/go.sum", "services/hub/main.go",
		"services/hub/internal/page/assets/index.html"} {
		if !slices.Contains(names, want) {
			t.Errorf("%s does not reach the build", want)
		}
	}
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") || !strings.HasPrefix(name, "shared/") &&
			!strings.HasPrefix(name, "services/hub/") {
			t.Errorf("%s reaches the build", name)
		}
	}
	for _, not := range []string{".git/config", ".parley/keys.env", "infra/terraform.tfstate", "infra/terraform.tfvars",
		"bin/parley", "services/hub/harness/e2e/e2e_test.go",
		"services/hub/harness/e2e/node_modules/a.go", "shared/keys.env", "services/hub/.env",
		"shared/app/testdata/a.go"} {
		if sent(rules, not) {
			t.Errorf("%s would reach the build", not)
		}
	}
}

// image returns the directory for the file system of the first stage.
var image = sync.OnceValues(func() (string, error) { return os.MkdirTemp("", "parley-image-") })

func TestMain(m *testing.M) {
	code := m.Run()
	if dir, err := image(); err == nil {
		_ = os.RemoveAll(dir)
	}
	os.Exit(code)
}

var once sync.Once

// binary returns the path of the server that the first stage builds, once for all tests.
func binary(t *testing.T) string {
	t.Helper()
	root, err := image()
	if err != nil {
		t.Fatal(err)
	}
	once.Do(func() { buildStage(t, root) })
	return filepath.Join(root, "out", "parley")
}

// buildStage runs the instructions of the first stage with root in place of /.
func buildStage(t *testing.T, root string) {
	t.Helper()
	files := sending(t)
	env := append(os.Environ(), "GOFLAGS=", "TARGETOS="+runtime.GOOS, "TARGETARCH="+runtime.GOARCH, "VERSION="+stamp)
	dir := root
	build, _ := stages(t)
	for _, in := range build {
		switch words := strings.Fields(in.args); in.name {
		case "FROM", "ARG":
		case "ENV":
			env = append(env, words...)
		case "WORKDIR":
			dir = filepath.Join(root, in.args)
		case "COPY":
			if len(words) != 2 || copied(t, files, words[0], filepath.Join(root, words[1])) == 0 {
				t.Fatalf("COPY %s copies nothing", in.args)
			}
		case "RUN":
			line := regexp.MustCompile(`--mount=\S+ `).ReplaceAllString(in.args, "")
			cmd := exec.CommandContext(t.Context(), "sh", "-c", strings.ReplaceAll(line, " /out/", " "+root+"/out/"))
			cmd.Dir, cmd.Env = dir, env
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Fatalf("RUN %s: %v\n%s", line, err, out)
			}
		default:
			t.Fatalf("this test does not know %s", in.name)
		}
	}
}

// copied copies the files below a directory of the context, and returns their number.
func copied(t *testing.T, files []string, from, to string) (n int) {
	t.Helper()
	for _, name := range files {
		below, ok := strings.CutPrefix(name, from+"/")
		if !ok {
			continue
		}
		text, err := os.ReadFile(filepath.Join(repository, name))
		if err == nil {
			err = os.MkdirAll(filepath.Dir(filepath.Join(to, below)), 0o755)
		}
		if err == nil {
			err = os.WriteFile(filepath.Join(to, below), text, 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
		n++
	}
	return n
}

func TestTheImageIsBuiltFromItsContextWithItsVersion(t *testing.T) {
	t.Parallel()
	out, err := exec.CommandContext(t.Context(), binary(t), "version").Output()
	if err != nil || strings.TrimSpace(string(out)) != stamp {
		t.Errorf("its version is %q, %v", out, err)
	}
}

func TestTheImagesBinaryNeedsNoLibraryAndContainsNoBuildPath(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		emulator.Skip(t, "the image is for Linux")
	}
	path := binary(t)
	f, err := elf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for _, p := range f.Progs {
		if p.Type == elf.PT_INTERP || p.Type == elf.PT_DYNAMIC {
			t.Errorf("it needs a loader: %v", p.Type)
		}
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if root, _ := image(); strings.Contains(string(text), root) {
		t.Error("it contains the path of its build")
	}
}

func TestTheImageRunsTheServerWithoutRoot(t *testing.T) {
	t.Parallel()
	_, final := stages(t)
	has := func(name, args string) bool { return slices.Contains(final, instruction{name, args}) }
	if !strings.Contains(final[0].args, "distroless/static") || !strings.Contains(final[0].args, ":nonroot@") {
		t.Errorf("its base is %s", final[0].args)
	}
	if !has("COPY", "--from=build /out/parley /parley") || !has("USER", "65532:65532") ||
		!has("ENTRYPOINT", `["/parley"]`) || !has("CMD", `["serve"]`) || !has("ENV", "PORT=8080") {
		t.Errorf("the last stage is %v", final)
	}
	for _, in := range final {
		if in.name == "RUN" || in.name == "HEALTHCHECK" {
			t.Errorf("%s needs a shell, which the base does not have", in.name)
		}
	}
}

// says matches the first line of a server.
var says = regexp.MustCompile(`serves MCP at (http://\S+)/mcp`)

// The environment is that of Cloud Run and Terraform, with a missing emulator in place of Firestore: the health check
// must pass without the store.
func TestTheImagesServerIsHealthyAndWritesNoFile(t *testing.T) {
	t.Parallel()
	path, home := binary(t), t.TempDir()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, path, "serve")
	cmd.Dir = home
	cmd.Env = []string{"HOME=" + home, "TMPDIR=" + home, "PORT=0", "K_SERVICE=parley", "PARLEY_STORE=firestore",
		"GOOGLE_CLOUD_PROJECT=demo-parley",
		"PARLEY_PUBLIC_URL=https://parley.example.org", "FIRESTORE_EMULATOR_HOST=127.0.0.1:1"}
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	line, _ := bufio.NewReader(out).ReadString('\n') // ends with the server at the latest
	m := says.FindStringSubmatch(line)
	if m == nil {
		t.Fatalf("it says %q, and ends with %v", line, cmd.Wait())
	}
	res, err := http.Get(m[1] + "/v1/health")
	if err != nil {
		t.Fatal(err)
	}
	_ = res.Body.Close()
	if res.StatusCode != http.StatusOK {
		t.Errorf("health is %s", res.Status)
	}
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("it ends with %v", err)
	}
	if left, err := os.ReadDir(home); err != nil || len(left) != 0 {
		t.Errorf("it wrote %v, %v", left, err)
	}
}

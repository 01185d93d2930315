package main

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"parley.internal/services/hub/internal/executabletest"
	"parley.internal/shared/store/emulator"
)

// stub replaces each program that the scripts infra/deploy and infra/lock call. It records the call in the file CALLS
// and prints the answer that the scripts expect. A call that contains FAIL fails.
var stub = `#!/bin/sh
call="$(basename "$0") $*"
echo "$call" >>"$CALLS"
case "$call" in *"${FAIL:-nothing fails}"*) exit 1 ;; esac
case "$call" in
"gcloud auth application-default print-access-token") echo token ;;
"terraform -chdir=infra output -raw image_repository") echo r-docker.pkg.dev/my-project/parley-images ;;
"terraform -chdir=infra output -raw vapid_secret") echo parley-vapid-key ;;
"gcloud secrets versions list "*) echo "${VAPID:-}" ;;
"gcloud secrets versions add "*) read -r key || true; [ "$key" = private-key ] && echo 1 ;;
"go run -C shared "*vapid) printf private-key ;;
"terraform -chdir=infra output -raw mcp_url") echo https://parley.example.org/mcp ;;
"docker image inspect "*) echo elsewhere/parley@sha256:1; echo r-docker.pkg.dev/my-project/parley-images/parley@sha256:2 ;;
"docker context inspect "*) echo unix:///docker.sock ;;
"docker --config "*" login "*) read -r secret && [ "$secret" = token ] ;;
"git describe "*) echo v1.2.3 ;;
"go run "*" digest golang:"*) echo "${DIGEST:-` + goDigest + `}" ;;
"go run "*" digest "*) echo ` + baseDigest + ` ;;
esac
`

var goDigest, baseDigest = "sha256:" + strings.Repeat("a", 64), "sha256:" + strings.Repeat("b", 64)

// locks are the lock files of a deployment, by their paths.
func locks() map[string]string {
	return map[string]string{
		"infra/images.lock":         "GO_DIGEST=" + goDigest + "\nBASE_DIGEST=" + baseDigest + "\n",
		"infra/.terraform.lock.hcl": "provider {}\n",
	}
}

// script runs a script in a directory with the files and with stubs of the programs. It returns the directory, the
// script's output and the calls of programs.
func script(t *testing.T, name string, files map[string]string, programs, env []string, args ...string) (root, said string,
	calls []string, err error) {
	t.Helper()
	if runtime.GOOS == "windows" {
		emulator.Skip(t, "the script needs a shell")
	}
	root = t.TempDir()
	write := func(name, text string) {
		name = filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		executabletest.Write(t, name, []byte(text))
	}
	for _, file := range []string{name, ".ci/version"} {
		text, err := os.ReadFile(filepath.Join(repository, filepath.FromSlash(file)))
		if err != nil {
			t.Fatal(err)
		}
		write(file, string(text))
	}
	for file, text := range files {
		write(file, text)
	}
	for _, p := range programs {
		write("stubs/"+p, stub)
	}
	for _, p := range []string{"bash", "sh", "basename", "dirname", "cat", "grep", "sed", "mktemp", "rm", "mkdir", "mv",
		"find", "sort", "head", "tail"} {
		path, err := exec.LookPath(p)
		if err == nil {
			err = os.Symlink(path, filepath.Join(root, "stubs", p))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	log := filepath.Join(root, "calls")
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, filepath.Join(root, "stubs", "bash"),
		append([]string{filepath.Join(root, filepath.FromSlash(name))}, args...)...)
	cmd.Env = append([]string{"PATH=" + filepath.Join(root, "stubs"), "CALLS=" + log, "TMPDIR=" + root, "HOME=" + root},
		env...)
	out, err := cmd.CombinedOutput()
	made, _ := os.ReadFile(log) // there is no file without a call
	if left, _ := filepath.Glob(filepath.Join(root, "tmp.*")); len(left) != 0 {
		t.Errorf("a temporary directory is left: %v", left)
	}
	said = strings.ReplaceAll(string(out), root, "ROOT")
	return root, said, strings.Split(strings.TrimSpace(strings.ReplaceAll(string(made), root, "ROOT")), "\n"), err
}

// deploy runs infra/deploy with both lock files, and returns its output and the calls of programs.
func deploy(t *testing.T, programs []string, fail string, args ...string) (said string, calls []string, err error) {
	t.Helper()
	files := locks()
	files["functions/go.mod"] = ""
	var env []string
	if fail != "" {
		env = append(env, "FAIL="+fail)
	}
	_, said, calls, err = script(t, "infra/deploy", files, programs, env, args...)
	return said, calls, err
}

var tools = []string{"terraform", "gcloud", "docker", "go", "git"}

func TestADeploymentRunsItsStepsInOrder(t *testing.T) {
	t.Parallel()
	said, calls, err := deploy(t, tools, "", "my-project", "europe-west1", "-auto-approve")
	if err != nil || !strings.Contains(said, "mcp_url:  https://parley.example.org/mcp") {
		t.Fatalf("%v\n%s", err, said)
	}
	where := `-var project_id=my-project -var region=europe-west1`
	var at int
	for _, want := range []string{
		`gcloud services enable .*cloudresourcemanager\.googleapis\.com --project my-project --access-token-file \S+`,
		`terraform -chdir=infra init -input=false -lockfile=readonly`,
		`terraform -chdir=infra workspace select -or-create=true my-project`,
		`terraform -chdir=infra apply -input=false -auto-approve -target=google_artifact_registry_repository\.this ` +
			where + ` -auto-approve`,
		`terraform -chdir=infra apply -input=false -auto-approve -target=google_secret_manager_secret\.vapid_key ` +
			where + ` -auto-approve`,
		`gcloud secrets versions list parley-vapid-key --project my-project .*--filter state:enabled .*`,
		`go run -C shared \./push/webpush/cmd/vapid`,
		`gcloud secrets versions add parley-vapid-key --data-file - --project my-project .*`,
		`docker build --platform linux/amd64 -f services/hub/Dockerfile --build-arg GO_DIGEST=` + goDigest +
			` --build-arg BASE_DIGEST=` + baseDigest + ` --build-arg VERSION=v1\.2\.3 ` +
			`-t r-docker\.pkg\.dev/my-project/parley-images/parley:v1\.2\.3 \.`,
		`docker --config \S+ login -u oauth2accesstoken --password-stdin https://r-docker\.pkg\.dev`,
		`docker --config \S+ push r-docker\.pkg\.dev/my-project/parley-images/parley:v1\.2\.3`,
		`go run \./cmd/package -o \.\./bin/functions\.zip`,
		`terraform -chdir=infra apply -input=false ` + where + ` -var vapid_key_version=1` +
			` -var image=r-docker\.pkg\.dev/my-project/parley-images/parley@sha256:2` +
			` -var functions_zip=ROOT/bin/functions\.zip -auto-approve`,
	} {
		i := slices.IndexFunc(calls[at:], regexp.MustCompile("^"+want+"$").MatchString)
		if i < 0 {
			t.Fatalf("after %d calls none is %s:\n%s", at, want, strings.Join(calls, "\n"))
		}
		at += i + 1
	}
	for _, c := range calls {
		if strings.Contains(c, " token") && !strings.Contains(c, "print-access-token") {
			t.Errorf("the token is an argument: %s", c)
		}
		if strings.Contains(c, "private-key") {
			t.Errorf("the VAPID key is an argument: %s", c)
		}
	}
}

func TestADeploymentKeepsTheVAPIDKeyThatIsThere(t *testing.T) {
	t.Parallel()
	files := locks()
	files["functions/go.mod"] = ""
	_, said, calls, err := script(t, "infra/deploy", files, tools, []string{"VAPID=4"}, "my-project", "europe-west1")
	all := strings.Join(calls, "\n")
	if err != nil || !strings.Contains(all, "-var vapid_key_version=4 -var image=") ||
		strings.Contains(all, "versions add") || strings.Contains(all, "cmd/vapid") {
		t.Errorf("%v\n%s\n%s", err, said, all)
	}
}

func TestADeploymentWithoutItsRequirementsIsRefused(t *testing.T) {
	t.Parallel()
	here := []string{"my-project", "europe-west1"}
	for _, c := range []struct {
		name     string
		programs []string
		fail     string
		args     []string
		want     string
	}{
		{"no tools", []string{"git"}, "", here, "not on the PATH: terraform 1.11 or newer, gcloud, docker, go 1.26"},
		{"no docker", []string{"terraform", "gcloud", "go", "git"}, "", here, "not on the PATH: docker"},
		{"no daemon", tools, "docker version", here, "its daemon does not answer"},
		{"no credentials", tools, "print-access-token", here, "gcloud auth application-default login"},
		{"no such project", tools, "services enable", here, "it must exist, have billing"},
		{"no arguments", tools, "", nil, "usage: infra/deploy PROJECT REGION"},
		{"a project's number", tools, "", []string{"123456", "europe-west1"}, "PROJECT must be a project's id"},
		{"a zone", tools, "", []string{"my-project", "europe-west1-b"}, "REGION must be a region"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			said, calls, err := deploy(t, c.programs, c.fail, c.args...)
			if err == nil || !strings.Contains(said, c.want) {
				t.Errorf("%v\n%s", err, said)
			}
			for _, call := range calls {
				if strings.HasPrefix(call, "terraform") {
					t.Errorf("it continued with %s", call)
				}
			}
		})
	}
}

func TestADeploymentWithoutItsLockFilesIsRefused(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, file, text, want string }{
		{"no images", "infra/images.lock", "", "infra/images.lock is missing: run make lock"},
		{"no providers", "infra/.terraform.lock.hcl", "", "infra/.terraform.lock.hcl is missing: run make lock"},
		{"one image", "infra/images.lock", "GO_DIGEST=" + goDigest + "\n", "no line BASE_DIGEST=sha256:"},
		{"a tag", "infra/images.lock", "GO_DIGEST=latest\nBASE_DIGEST=" + baseDigest + "\n", "no line GO_DIGEST=sha256:"},
		{"an argument after it", "infra/images.lock", "GO_DIGEST=" + goDigest + " --push\n", "no line GO_DIGEST=sha256:"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			files := locks()
			files[c.file] = c.text
			_, said, calls, err := script(t, "infra/deploy", files, tools, nil, "my-project", "europe-west1")
			if err == nil || !strings.Contains(said, c.want) || calls[0] != "" {
				t.Errorf("%v\n%s\n%v", err, said, calls)
			}
		})
	}
}

func TestADeploymentStopsAtAFailedStep(t *testing.T) {
	t.Parallel()
	for _, fail := range []string{"docker build", " push ", "cmd/package", "docker image inspect"} {
		t.Run(fail, func(t *testing.T) {
			t.Parallel()
			said, calls, err := deploy(t, tools, fail, "my-project", "europe-west1")
			if err == nil || strings.Contains(said, "mcp_url") ||
				slices.ContainsFunc(calls, func(c string) bool { return strings.Contains(c, "-var image=") }) {
				t.Errorf("%v\n%s\n%s", err, said, strings.Join(calls, "\n"))
			}
		})
	}
}

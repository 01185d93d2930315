package emulator

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// launcher is one way to start an emulator.
type launcher struct {
	name     string
	patience time.Duration
	// bestEffort marks a launcher whose failure counts as having no emulator, because it may need a network.
	bestEffort bool
	// temporary requests a temporary working directory.
	temporary bool
	// args returns the command line for the directory, empty unless temporary, and a port.
	args func(dir, port string) []string
}

const project = "demo-parley"

// gcloud returns the launcher of gcloud's emulator, if it is installed.
func gcloud(ctx context.Context, o Options) (l launcher, found bool) {
	java, err := exec.LookPath("java")
	if err != nil {
		return l, false
	}
	jar := gcloudJar(ctx)
	if jar == "" {
		return l, false
	}
	return launcher{name: "gcloud's emulator", patience: time.Minute, args: func(_, port string) []string {
		args := []string{java, "-Duser.language=en", "-Xmx512m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1",
			"-cp", jar, "com.google.cloud.datastore.emulator.firestore.CloudFirestore",
			"--host", "127.0.0.1", "--port", port, "--project_id", project}
		if o.Functions != "" {
			args = append(args, "--functions_emulator", o.Functions)
		}
		if o.Rules != "" {
			args = append(args, "--rules", o.Rules)
		}
		return args
	}}, true
}

// find returns the launchers of this machine, the best first.
func find(ctx context.Context) []launcher {
	var found []launcher
	if l, ok := gcloud(ctx, Options{}); ok {
		found = append(found, l)
	}
	_, err := exec.LookPath("java")
	npx, noNPX := exec.LookPath("npx")
	if err == nil && noNPX == nil {
		found = append(found, launcher{name: "the Firebase CLI", patience: 3 * time.Minute, bestEffort: true, temporary: true,
			args: func(dir, port string) []string { return firebase(npx, dir, port) }})
	}
	return found
}

const jarPath = "platform/cloud-firestore-emulator/cloud-firestore-emulator.jar"

// gcloudJar returns the path of gcloud's emulator, empty if it is not installed. Asking gcloud takes a second, so the
// directory of its executable is tried first.
func gcloudJar(ctx context.Context) string {
	gcloud, err := exec.LookPath("gcloud")
	if err != nil {
		return ""
	}
	if real, err := filepath.EvalSymlinks(gcloud); err == nil {
		if jar := jarUnder(filepath.Dir(filepath.Dir(real))); jar != "" {
			return jar
		}
	}
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	out, err := exec.CommandContext(ctx, gcloud, "info", "--format=value(installation.sdk_root)").Output()
	if err != nil {
		return ""
	}
	return jarUnder(strings.TrimSpace(string(out)))
}

func jarUnder(root string) string {
	jar := filepath.Join(root, filepath.FromSlash(jarPath))
	if _, err := os.Stat(jar); root == "" || err != nil {
		return ""
	}
	return jar
}

// firebase returns the command line of the Firebase CLI, which keeps its settings and logs in its working directory.
// The version is pinned because 15 and later need a newer Java.
func firebase(npx, dir, port string) []string {
	settings := fmt.Sprintf(`{"emulators":{"singleProjectMode":false,"ui":{"enabled":false},"hub":{"port":0},`+
		`"logging":{"port":0},"firestore":{"host":"127.0.0.1","port":%s}}}`, port)
	const script = `cd "$1" && printf %s "$4" >firebase.json &&
exec "$2" --yes firebase-tools@14.27.0 emulators:start --only firestore --project "$3"`
	return []string{"sh", "-c", script, "firebase", dir, npx, project, settings}
}

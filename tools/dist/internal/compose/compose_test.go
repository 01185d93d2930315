package compose

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/compose-spec/compose-go/v2/dotenv"
	"github.com/compose-spec/compose-go/v2/loader"
	"github.com/compose-spec/compose-go/v2/types"
)

const dir = "../../../../deploy/compose"

// example returns the settings of the example.
func example(t *testing.T) map[string]string {
	t.Helper()
	env, err := dotenv.Read(filepath.Join(dir, "example.env"))
	if err != nil {
		t.Fatal(err)
	}
	return env
}

// load loads the file as Docker Compose does, with the settings of env.
func load(t *testing.T, env map[string]string) (*types.Project, error) {
	t.Helper()
	return loader.LoadWithContext(t.Context(), types.ConfigDetails{WorkingDir: dir, Environment: env,
		ConfigFiles: []types.ConfigFile{{Filename: filepath.Join(dir, "compose.yaml")}}})
}

func TestTheFileIsOneOfTheComposeSpecification(t *testing.T) {
	t.Parallel()
	p, err := load(t, example(t))
	if err != nil {
		t.Fatal(err)
	}
	if err := p.CheckContainerNameUnicity(); err != nil {
		t.Error(err)
	}
	if names := p.ServiceNames(); !slices.Equal(names, []string{"caddy", "parley"}) {
		t.Errorf("its services are %v", names)
	}
	for _, missing := range []string{"PARLEY_DOMAIN", "PARLEY_IMAGE"} {
		env := example(t)
		delete(env, missing)
		if _, err := load(t, env); err == nil || !strings.Contains(err.Error(), missing) || !strings.Contains(err.Error(), "set it in .env") {
			t.Errorf("without %s: %v", missing, err)
		}
	}
}

func TestBothContainersHaveNoMoreRightsThanTheyNeed(t *testing.T) {
	t.Parallel()
	p, err := load(t, example(t))
	if err != nil {
		t.Fatal(err)
	}
	for name, s := range p.Services {
		if !s.ReadOnly || !slices.Equal(s.CapDrop, []string{"ALL"}) || !slices.Contains(s.SecurityOpt, "no-new-privileges:true") ||
			s.Privileged || s.Restart != "unless-stopped" || s.MemLimit == 0 || s.PidsLimit == 0 || s.HealthCheck == nil {
			t.Errorf("%s: %+v", name, s)
		}
		for _, v := range s.Volumes {
			if strings.Contains(v.Source, "docker.sock") || v.Type == types.VolumeTypeBind && !v.ReadOnly {
				t.Errorf("%s may write to %s", name, v.Source)
			}
		}
	}
	server, caddy := p.Services["parley"], p.Services["caddy"]
	if server.User != "65532:65532" || len(server.CapAdd) != 0 || len(server.Ports) != 0 {
		t.Errorf("the server is of %s, adds %v, publishes %v", server.User, server.CapAdd, server.Ports)
	}
	if !slices.Equal(caddy.CapAdd, []string{"NET_BIND_SERVICE"}) || !regexp.MustCompile(`^caddy:\d+\.\d+\.\d+-alpine$`).MatchString(caddy.Image) {
		t.Errorf("Caddy is %s, and adds %v", caddy.Image, caddy.CapAdd)
	}
}

func TestTheServerKeepsItsDataAndTrustsCaddyAlone(t *testing.T) {
	t.Parallel()
	env := example(t)
	env["PARLEY_DOMAIN"] = "parley.example.com"
	p, err := load(t, env)
	if err != nil {
		t.Fatal(err)
	}
	server := p.Services["parley"]
	for _, want := range []string{"serve", "--public-url=https://parley.example.com", "--trust-proxy=1", "--hide-keys",
		"--data=/home/nonroot/.parley", "--addr=:8080"} {
		if !slices.Contains(server.Command, want) {
			t.Errorf("the command lacks %s: %q", want, server.Command)
		}
	}
	// A new volume takes its owner from this directory of the image, so that the server may write there.
	if len(server.Volumes) != 1 || server.Volumes[0].Type != types.VolumeTypeVolume || server.Volumes[0].Target != "/home/nonroot" {
		t.Errorf("its volumes are %+v", server.Volumes)
	}
	if want := []string{"CMD", "/parley", "doctor", "--data", "/home/nonroot/.parley"}; !slices.Equal(server.HealthCheck.Test, want) {
		t.Errorf("its health is told by %q", server.HealthCheck.Test)
	}
	text, err := os.ReadFile(filepath.Join(dir, "Caddyfile"))
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(text), "{$PARLEY_UPSTREAM:parley:8080}") || p.Services["caddy"].Environment["PARLEY_DOMAIN"] == nil {
		t.Errorf("Caddy does not reach the server, or knows no domain:\n%s", text)
	}
}

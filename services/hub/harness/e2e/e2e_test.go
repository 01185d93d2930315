// Package e2e_test tests the hub's program with the official TypeScript SDKs.
package e2e_test

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"parley.internal/services/hub/harness/hubtest"
	"parley.internal/shared/store/emulator"
)

// needSDKs skips the test where Node is not to be used, and fails it where the SDKs are missing.
func needSDKs(t *testing.T) {
	t.Helper()
	if os.Getenv("PARLEY_NO_NODE") == "1" {
		emulator.Skip(t, "PARLEY_NO_NODE=1")
	}
	for _, sdk := range []string{"sdk", "client"} {
		if _, err := os.Stat(filepath.Join("node_modules", "@modelcontextprotocol", sdk)); err != nil {
			t.Fatalf("the SDKs must be installed (run make proof): %v", err)
		}
	}
}

func TestTheTypeScriptSDKsWorkInBothEras(t *testing.T) {
	needSDKs(t)
	env := append(os.Environ(), startHub(t)...)
	for era, version := range map[string]string{"legacy": "2025-11-25", "modern": "2026-07-28"} {
		t.Run(era, func(t *testing.T) {
			out := runAgents(t, env, era)
			var report struct {
				Era             string `json:"era"`
				ProtocolVersion string `json:"protocolVersion"`
				OK              bool   `json:"ok"`
				Steps           int    `json:"steps"`
			}
			if err := json.Unmarshal(out, &report); err != nil {
				t.Fatalf("the report is not a line of JSON: %v\n%s", err, out)
			}
			if !report.OK || report.Era != era || report.ProtocolVersion != version || report.Steps == 0 {
				t.Errorf("got %s, want ok in the %s era, %s", out, era, version)
			}
		})
	}
}

func runAgents(t *testing.T, env []string, era string) []byte {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "node", "two_agents.mjs", era)
	var stderr bytes.Buffer
	cmd.Env, cmd.Stderr = env, &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("two_agents.mjs %s: %v\n%s", era, err, stderr.String())
	}
	return out
}

// startHub builds and starts the hub and returns the environment variables that the agents need.
func startHub(t *testing.T) []string {
	t.Helper()
	hub := hubtest.Start(t, nil)
	keys, err := os.ReadFile(filepath.Join(hub.Data, "keys.env"))
	if err != nil {
		t.Fatal(err)
	}
	// The file may contain another URL; of two values the last one counts.
	return append(strings.Fields(strings.ReplaceAll(string(keys), "export ", "")), "PARLEY_URL="+hub.URL()+"/mcp")
}

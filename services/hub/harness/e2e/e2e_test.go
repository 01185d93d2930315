// Package e2e_test tests the hub's program with the official TypeScript SDKs.
package e2e_test

import (
	"bytes"
	"context"
	"encoding/json"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"parley.internal/services/hub/harness/program"
)

// needSDKs skips the test where Node is not to be used, and fails it where the SDKs are missing.
func needSDKs(t *testing.T) {
	t.Helper()
	if os.Getenv("PARLEY_NO_NODE") == "1" && os.Getenv("REQUIRE_EMULATOR") != "1" {
		t.Skip("PARLEY_NO_NODE=1")
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
	dir := t.TempDir()
	binary := filepath.Join(dir, "parley")
	if err := program.Build(t.Context(), binary); err != nil {
		t.Fatal(err)
	}
	addr, data := freeAddr(t), t.TempDir()
	var log bytes.Buffer
	hub := exec.Command(binary, "serve", "--addr", addr, "--data", data)
	hub.Stdout, hub.Stderr, hub.Env = &log, &log, append(os.Environ(), "PARLEY_KEYRING=off")
	if err := hub.Start(); err != nil {
		t.Fatal(err)
	}
	exited := make(chan struct{})
	go func() { _ = hub.Wait(); close(exited) }()
	t.Cleanup(func() {
		_ = hub.Process.Signal(syscall.SIGTERM)
		select {
		case <-exited:
		case <-time.After(15 * time.Second):
			t.Error("the server did not exit within 15 s of SIGTERM")
			_ = hub.Process.Kill()
			<-exited
		}
		if t.Failed() {
			t.Logf("the server's log:\n%s", log.String())
		}
	})
	waitHealthy(t, addr, exited)
	keys, err := os.ReadFile(filepath.Join(data, "keys.env"))
	if err != nil {
		t.Fatal(err)
	}
	// The file may contain another URL; of two values the last one counts.
	return append(strings.Fields(strings.ReplaceAll(string(keys), "export ", "")), "PARLEY_URL=http://"+addr+"/mcp")
}

func waitHealthy(t *testing.T, addr string, exited <-chan struct{}) {
	t.Helper()
	for end := time.Now().Add(30 * time.Second); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		select {
		case <-exited:
			t.Fatal("the server exited before it was ready")
		default:
		}
		response, err := http.Get("http://" + addr + "/v1/health")
		if err != nil {
			continue
		}
		_ = response.Body.Close()
		if response.StatusCode == http.StatusOK {
			return
		}
	}
	t.Fatal("the server was not ready within 30 s")
}

// freeAddr returns a free address of 127.0.0.1. Another process may take it before it is used.
func freeAddr(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	return listener.Addr().String()
}

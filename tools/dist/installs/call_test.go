package installs

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

var (
	serves = regexp.MustCompile(`Parley (\S+) serves MCP at (http://\S+)/mcp`)
	alpha  = regexp.MustCompile(`key of program alpha: +(\S+)`)
)

// command returns a command with an empty environment but for a home and the given variables.
func command(t *testing.T, home string, env []string, name string, args ...string) *exec.Cmd {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	t.Cleanup(cancel)
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir, cmd.Env = home, append([]string{"HOME=" + home}, env...)
	return cmd
}

// firstCall starts a server of an empty data directory, lists the tools, creates a task, and ends it.
func firstCall(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	var trouble bytes.Buffer
	cmd.Stderr = &trouble
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = 20 * time.Second
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	url, key, err := announced(out)
	if err == nil {
		err = calls(url, key)
	}
	if err != nil {
		t.Error(err)
	}
	_ = cmd.Process.Signal(syscall.SIGTERM) // it may have ended, which Wait tells
	_, _ = io.Copy(io.Discard, out)
	if err := cmd.Wait(); err != nil || t.Failed() {
		t.Errorf("%s ended with %v\n%s", cmd, err, trouble.String())
	}
}

// announced reads the URL of a server and the key of an agent from its output.
func announced(out io.Reader) (url, key string, err error) {
	var said strings.Builder
	for lines := bufio.NewScanner(out); lines.Scan(); {
		line := lines.Text()
		said.WriteString(line + "\n")
		if m := serves.FindStringSubmatch(line); m != nil {
			if m[1] != version {
				return "", "", fmt.Errorf("it says that its version is %s", m[1])
			}
			url = m[2]
		}
		if m := alpha.FindStringSubmatch(line); m != nil {
			return url, m[1], nil
		}
	}
	return "", "", fmt.Errorf("it ended, and printed %q", said.String())
}

// calls lists the tools, creates a task, and asks for the health of the server.
func calls(url, key string) error {
	var list struct{ Tools []struct{ Name string } }
	if err := rpc(url, key, "tools/list", map[string]any{}, &list); err != nil {
		return err
	}
	if !slices.ContainsFunc(list.Tools, func(t struct{ Name string }) bool { return t.Name == "create_task" }) {
		return fmt.Errorf("create_task is not among its %d tools", len(list.Tools))
	}
	var made struct {
		IsError           bool
		StructuredContent struct {
			TaskID string `json:"taskId"`
		}
		Content json.RawMessage
	}
	err := rpc(url, key, "tools/call", map[string]any{"name": "create_task",
		"arguments": map[string]any{"title": "The first task", "target": "beta"}}, &made)
	if err == nil && (made.IsError || made.StructuredContent.TaskID == "") {
		err = fmt.Errorf("create_task: %s", made.Content)
	}
	if err != nil {
		return err
	}
	res, err := http.Get(url + "/v1/health")
	if err != nil {
		return err
	}
	text, err := io.ReadAll(res.Body)
	_ = res.Body.Close()
	if err == nil && !strings.Contains(string(text), `"version":"`+version+`"`) {
		err = fmt.Errorf("its health is %s", text)
	}
	return err
}

// rpc makes one call of MCP.
func rpc(url, key, method string, params, out any) error {
	body, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
	if err != nil {
		return err
	}
	req, err := http.NewRequest(http.MethodPost, url+"/mcp", bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Authorization", "Bearer "+key)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	text, err := io.ReadAll(res.Body)
	_ = res.Body.Close()
	var reply struct {
		Result json.RawMessage
		Error  json.RawMessage
	}
	if err == nil {
		err = json.Unmarshal(text, &reply)
	}
	if err == nil && reply.Result == nil {
		err = errors.New("it has no result")
	}
	if err == nil {
		err = json.Unmarshal(reply.Result, out)
	}
	if err != nil {
		return fmt.Errorf("%s: %s: %w: %.500s", method, res.Status, err, text)
	}
	return nil
}

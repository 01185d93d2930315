package typescript

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
)

// Agent is a Node process that calls one endpoint with one key. It is safe for concurrent use.
type Agent struct {
	cmd   *exec.Cmd
	in    io.WriteCloser
	wrong strings.Builder // what the process wrote about its failure
	ended chan struct{}   // closed when the process prints no more; err is set before
	err   error

	mu      sync.Mutex
	serial  int64
	pending map[int64]chan Answer
}

// Start starts an agent with the SDK of an era. It runs until Close or the end of this process.
func (s *SDKs) Start(era, url, key string) (*Agent, error) {
	a := &Agent{cmd: exec.Command(s.node, filepath.Join(s.dir, "caller.mjs"), era), ended: make(chan struct{}),
		pending: map[int64]chan Answer{}}
	a.cmd.Stderr = &a.wrong
	var err error
	if a.in, err = a.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := a.cmd.StdoutPipe()
	if err != nil {
		return nil, errors.Join(err, a.in.Close())
	}
	if err := a.cmd.Start(); err != nil {
		return nil, errors.Join(err, a.in.Close())
	}
	go a.read(out)
	if err := a.write(map[string]string{"url": url, "key": key}); err != nil {
		return nil, errors.Join(err, a.Close())
	}
	return a, nil
}

// read gives each line of the process to the call that it is the answer of.
func (a *Agent) read(out io.Reader) {
	defer close(a.ended)
	for lines := json.NewDecoder(bufio.NewReader(out)); ; {
		var line struct {
			ID int64
			Answer
		}
		if err := lines.Decode(&line); err != nil {
			a.err = fmt.Errorf("the Node process has ended: %w", err)
			return
		}
		a.mu.Lock()
		answered := a.pending[line.ID]
		delete(a.pending, line.ID)
		a.mu.Unlock()
		if answered != nil {
			answered <- line.Answer
		}
	}
}

func (a *Agent) write(message any) error {
	text, err := json.Marshal(message)
	if err != nil {
		return err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	_, err = a.in.Write(append(text, '\n'))
	return err
}

// Call makes a call. If ctx ends before there is an answer, the SDK cancels the call, which then has been given up. An
// error means that the process has failed.
func (a *Agent) Call(ctx context.Context, c Call) (Answer, error) {
	answered := make(chan Answer, 1)
	a.mu.Lock()
	a.serial++
	id := a.serial
	a.pending[id] = answered
	a.mu.Unlock()
	if err := a.write(map[string]any{"id": id, "tool": c.Tool, "arguments": c.Arguments, "requestId": c.RequestID,
		"timeout": c.Timeout}); err != nil {
		return Answer{}, err
	}
	select {
	case out := <-answered:
		return out, nil
	case <-a.ended:
		return Answer{}, a.err
	case <-ctx.Done():
	}
	if err := a.write(map[string]any{"id": id, "cancel": true}); err != nil {
		return Answer{}, err
	}
	select {
	case out := <-answered:
		return out, nil
	case <-a.ended:
		return Answer{}, a.err
	}
}

// Close ends the process, and returns its output if it failed.
func (a *Agent) Close() error {
	_ = a.in.Close() // the process may have ended
	<-a.ended
	if err := a.cmd.Wait(); err != nil {
		return fmt.Errorf("the Node process failed: %w\n%s", err, a.wrong.String())
	}
	return nil
}

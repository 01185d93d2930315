// Command emulator runs all of Parley on this machine as it runs in the cloud, until it is interrupted:
//
//	emulator [--addr 127.0.0.1:3001]
//
// Without --addr the hub listens there, or at a free port if another server, such as that of make run, has that one.
// The Firestore emulator reports the hub's writes to the functions, sweeps run at the intervals of Cloud Scheduler, and
// each push is printed instead of sent. Run it in the directory functions. It keeps no data: each start begins with an
// empty store and new keys. If FIREBASE_AUTH_EMULATOR_HOST names a Firebase Auth emulator, the command makes an account
// there, the only one that the hub admits, and prints how to sign in on the page.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"os/signal"
	"sync"
	"syscall"

	"parley.internal/functions/internal/stack"
	"parley.internal/shared/push/fcm/fcmtest"
)

func main() {
	addr := flag.String("addr", "", "the hub's `host:port`; the default is "+preferred+", or a free port where that is taken")
	verbose := flag.Bool("verbose", false, "print the logs of the hub and of the functions")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, *addr, *verbose); err != nil && ctx.Err() == nil {
		fmt.Fprintln(os.Stderr, "emulator:", err)
		os.Exit(1)
	}
}

// preferred is the address of the hub where nobody has it.
const preferred = "127.0.0.1:3001"

// choose returns the preferred address, or nothing, which stands for a free port, if it is taken.
func choose(out io.Writer) string {
	l, err := net.Listen("tcp", preferred)
	if err != nil {
		fmt.Fprintf(out, "%s is taken, so the hub gets a free port\n", preferred)
		return ""
	}
	_ = l.Close()
	return preferred
}

// output serializes the writes of the programs and of this one.
type output struct {
	mu sync.Mutex
	to io.Writer
}

// Write implements io.Writer. It may be called concurrently.
func (o *output) Write(b []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.to.Write(b)
}

func run(ctx context.Context, addr string, verbose bool) error {
	out := &output{to: os.Stdout}
	if addr == "" {
		addr = choose(out)
	}
	log := slog.New(slog.NewTextHandler(out, nil))
	o := stack.Options{HubAddr: addr, AuthEmulator: os.Getenv(stack.AuthVariable), Log: log, OnPush: func(m fcmtest.Message) {
		log.Info("push", "to", m.Token, "title", m.Title, "body", m.Body, "data", m.Data)
	}}
	if verbose {
		o.Output = out
	}
	fmt.Fprintln(out, "building the hub and the functions, starting the Firestore emulator …")
	s, err := stack.Start(ctx, o)
	if err != nil {
		return err
	}
	defer s.Stop()
	link, err := s.Run(ctx, "link", "--url", s.Hub)
	if err != nil {
		return err
	}
	welcome(out, s, link)
	if s.Email != "" {
		fmt.Fprintf(out, "sign-in on the page  %s, password %s\n\n", s.Email, s.Password)
	}
	var sweeps sync.WaitGroup
	defer sweeps.Wait()
	ctx, end := context.WithCancel(ctx)
	defer end()
	sweeps.Go(func() { s.Schedule(ctx, log) })
	return s.Wait(ctx)
}

func welcome(out io.Writer, s *stack.Stack, link string) {
	fmt.Fprintf(out, `
MCP                 %[1]s/mcp
REST                %[1]s/v1
page                %[1]s/q
page, signed in     %[2]s
                    (good once, for 10 minutes)
functions           %[3]s/OnTaskCreate …
Firestore emulator  %[4]s (project %[5]s)
stand-in for FCM    %[6]s/v1

human's key         %[7]s
agent's key         %[8]s (program alpha)

Pushes are printed here. Register a device and ask a question:

  curl -H "Authorization: Bearer %[7]s" -H "Content-Type: application/json" \
    -d '{"token":"my-phone","platform":"android"}' %[1]s/v1/devices
  curl -H "Authorization: Bearer %[8]s" -H "Content-Type: application/json" \
    -d '{"question":"Deploy now?","options":["yes","no"]}' %[1]s/v1/questions

Ctrl-C stops everything.
`, s.Hub, link, s.Functions, s.Emulator, stack.Project, s.FCM, s.HumanKey, s.AgentKey)
}

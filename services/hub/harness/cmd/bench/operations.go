package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"

	"golang.org/x/sync/errgroup"

	"parley.internal/shared/dispatch"
)

// operation is a measured call, which is the same over both transports.
type operation struct {
	name string
	tool string
	// grows marks an operation that writes to the store.
	grows bool
	// beta marks a call with the key of program beta, whose inbox is empty at first.
	beta bool
	// scarce makes slices a quarter as long, for calls with an expensive preparation.
	scarce bool
	// long makes slices three times as long, so that each has its share of slow commits: the store writes a checkpoint
	// about every thousand calls.
	long bool
	// args returns the arguments of the i-th call over MCP, and its body over REST if the method has one.
	args func(t *target, i int) string
	// route returns the method and path of the i-th call over REST.
	route func(t *target, i int) (method, path string)
	// prepare prepares a slice of n calls; it is not timed. It may be nil.
	prepare func(ctx context.Context, t *target, n int) error
}

const (
	createArgs = `{"title":"Mend the test","target":"beta",` +
		`"instructions":"Look at the failing test, find the cause and mend it.","priority":"normal"}`
	sendArgs = `{"message":"The build is green again on the main branch.",` +
		`"source":"alpha","target":"alpha","message_type":"STATUS"}`
	mailArgs = `{"message":"The build is green again on the main branch.",` +
		`"source":"alpha","target":"beta","message_type":"STATUS"}`
	claimArgs = `{"title":"Mend the test","target":"alpha",` +
		`"instructions":"Look at the failing test, find the cause and mend it.","priority":"low"}`
	// tasksPage and messagesPage are the default limits of get_tasks and get_messages.
	tasksPage, messagesPage = 10, 20
	// consumed is the number of messages that one consuming call takes.
	consumed = 5
)

func fixed(s string) func(*target, int) string { return func(*target, int) string { return s } }

func route(method, path string) func(*target, int) (string, string) {
	return func(*target, int) (string, string) { return method, path }
}

const (
	opCreate = "create_task"
	opTasks  = "get_tasks"
	opMail   = "get_messages"
	opEmpty  = "get_messages, empty"
)

var operations = []operation{
	{name: opTasks, tool: "get_tasks",
		args: fixed(`{"target":"alpha"}`), route: route(http.MethodGet, "/v1/tasks?target=alpha")},
	{name: opMail, tool: "get_messages",
		args: fixed(`{"markAsRead":false}`), route: route(http.MethodGet, "/v1/messages?markAsRead=false")},
	{name: opEmpty, tool: "get_messages", beta: true, args: fixed(`{}`), route: route(http.MethodGet, "/v1/messages")},
	{name: opCreate, tool: "create_task", grows: true, long: true,
		args: fixed(createArgs), route: route(http.MethodPost, "/v1/tasks")},
	{name: "claim_task", tool: "claim_task", grows: true, prepare: prepareClaims,
		args: func(t *target, i int) string { return `{"taskId":"` + t.claimable[i] + `"}` },
		route: func(t *target, i int) (string, string) {
			return http.MethodPost, "/v1/tasks/" + t.claimable[i] + "/claim"
		}},
	{name: "send_message", tool: "send_message", grows: true,
		args: fixed(sendArgs), route: route(http.MethodPost, "/v1/messages")},
	{name: "get_messages, consuming", tool: "get_messages", grows: true, beta: true, scarce: true, prepare: prepareMail,
		args:  fixed(fmt.Sprintf(`{"limit":%d}`, consumed)),
		route: route(http.MethodGet, fmt.Sprintf("/v1/messages?limit=%d", consumed))},
}

// baseline is the operation that the others are compared with: a tool that does nothing, on the same endpoint behind the
// same key, and a handler that returns the body.
var baseline = operation{name: "(baseline)", tool: "bench_noop",
	args: fixed(createArgs), route: route(http.MethodPost, "/bench/echo")}

// selectOperations returns the operations of the named tools, or all operations if there are no names. An unknown name
// is an error.
func selectOperations(names []string) ([]operation, error) {
	for _, n := range names {
		if !slices.ContainsFunc(operations, func(o operation) bool { return o.tool == n }) {
			return nil, fmt.Errorf("there is no operation %q to measure", n)
		}
	}
	return slices.DeleteFunc(slices.Clone(operations), func(o operation) bool {
		return len(names) > 0 && !slices.Contains(names, o.tool)
	}), nil
}

func filter(ops []operation, grows bool) []operation {
	return slices.DeleteFunc(slices.Clone(ops), func(o operation) bool { return o.grows != grows })
}

// prepareClaims creates a task for each call.
func prepareClaims(ctx context.Context, t *target, n int) error {
	t.claimable = make([]string, n)
	return prepare(ctx, n, func(ctx context.Context, i int) error {
		var out dispatch.CreateOutput
		err := t.setup.Do(ctx, "create_task", json.RawMessage(claimArgs), &out)
		t.claimable[i] = out.TaskID
		return err
	})
}

// prepareMail sends the messages that the calls consume.
func prepareMail(ctx context.Context, t *target, n int) error {
	return prepare(ctx, n*consumed, func(ctx context.Context, _ int) error {
		return t.setup.Do(ctx, "send_message", json.RawMessage(mailArgs), nil)
	})
}

// prepare makes n calls, 16 of them at a time, and returns the first error. The calls are not timed.
func prepare(ctx context.Context, n int, call func(ctx context.Context, i int) error) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(16)
	for i := range n {
		group.Go(func() error { return call(ctx, i) })
	}
	return group.Wait()
}

// checkPages checks that a reading call returns a page of the same length at every size of the store.
func (t *target) checkPages(ctx context.Context) error {
	for _, want := range []struct {
		op, list string
		n        int
	}{{opTasks, "tasks", tasksPage}, {opMail, "messages", messagesPage}, {opEmpty, "messages", 0}} {
		i := slices.IndexFunc(operations, func(o operation) bool { return o.name == want.op })
		s := &slice{target: t, op: &operations[i], transport: rest, clients: 1, calls: 1, keep: true}
		if err := s.run(ctx); err != nil {
			return err
		}
		var reply struct {
			Data map[string]json.RawMessage `json:"data"`
		}
		var page []json.RawMessage
		if err := json.Unmarshal(s.bodies[0], &reply); err != nil {
			return err
		}
		if err := json.Unmarshal(reply.Data[want.list], &page); err != nil {
			return err
		}
		if len(page) != want.n {
			return fmt.Errorf("%s at %d documents must return %d items, not %d", want.op, t.documents, want.n, len(page))
		}
	}
	return nil
}

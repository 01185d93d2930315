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

// operation is what is measured: the same call in both transports.
type operation struct {
	name string
	tool string
	// grows says that calls change the store.
	grows bool
	// beta calls with the key of program beta, whose inbox begins empty.
	beta bool
	// scarce makes slices a quarter as long, where a call needs much set up.
	scarce bool
	// long makes slices three times as long, so that each has its share of the
	// store's slow commits: a checkpoint comes every thousand calls or so.
	long bool
	// args are the tool's arguments of the i-th call, and the body over REST where
	// the method has one.
	args func(t *target, i int) string
	// route is the method and path over REST.
	route func(t *target, i int) (method, path string)
	// prepare sets up a slice of n calls, outside of the timing.
	prepare func(ctx context.Context, t *target, n int) error
}

const (
	createArgs = `{"title":"Mend the test","target":"beta","instructions":"Look at the failing test, find the cause and mend it.","priority":"normal"}`
	sendArgs   = `{"message":"The build is green again on the main branch.","source":"alpha","target":"alpha","message_type":"STATUS"}`
	mailArgs   = `{"message":"The build is green again on the main branch.","source":"alpha","target":"beta","message_type":"STATUS"}`
	claimArgs  = `{"title":"Mend the test","target":"alpha","instructions":"Look at the failing test, find the cause and mend it.","priority":"low"}`
	// The pages that are read whole, as the operations' defaults have them.
	tasksPage, messagesPage = 10, 20
	// consumed is how many messages one consuming call takes.
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
	{name: opTasks, tool: "get_tasks", args: fixed(`{"target":"alpha"}`), route: route(http.MethodGet, "/v1/tasks?target=alpha")},
	{name: opMail, tool: "get_messages", args: fixed(`{"markAsRead":false}`), route: route(http.MethodGet, "/v1/messages?markAsRead=false")},
	{name: opEmpty, tool: "get_messages", beta: true, args: fixed(`{}`), route: route(http.MethodGet, "/v1/messages")},
	{name: opCreate, tool: "create_task", grows: true, long: true, args: fixed(createArgs), route: route(http.MethodPost, "/v1/tasks")},
	{name: "claim_task", tool: "claim_task", grows: true, prepare: prepareClaims,
		args: func(t *target, i int) string { return `{"taskId":"` + t.claimable[i] + `"}` },
		route: func(t *target, i int) (string, string) {
			return http.MethodPost, "/v1/tasks/" + t.claimable[i] + "/claim"
		}},
	{name: "send_message", tool: "send_message", grows: true, args: fixed(sendArgs), route: route(http.MethodPost, "/v1/messages")},
	{name: "get_messages, consuming", tool: "get_messages", grows: true, beta: true, scarce: true, prepare: prepareMail,
		args:  fixed(fmt.Sprintf(`{"limit":%d}`, consumed)),
		route: route(http.MethodGet, fmt.Sprintf("/v1/messages?limit=%d", consumed))},
}

// nothing is what an operation's cost is compared with: a tool that does nothing,
// on the same endpoint behind the same key, and a handler that sends the body back.
var nothing = operation{name: "(nothing)", tool: "bench_noop", args: fixed(createArgs), route: route(http.MethodPost, "/bench/echo")}

// chosen are the operations that a name was given of, all for none.
func chosen(names []string) ([]operation, error) {
	for _, n := range names {
		if !slices.ContainsFunc(operations, func(o operation) bool { return o.tool == n }) {
			return nil, fmt.Errorf("there is no measure of %q", n)
		}
	}
	return slices.DeleteFunc(slices.Clone(operations), func(o operation) bool {
		return len(names) > 0 && !slices.Contains(names, o.tool)
	}), nil
}

func filter(ops []operation, grows bool) []operation {
	return slices.DeleteFunc(slices.Clone(ops), func(o operation) bool { return o.grows != grows })
}

// prepareClaims makes a fresh task for every call.
func prepareClaims(ctx context.Context, t *target, n int) error {
	t.claimable = make([]string, n)
	return prepare(ctx, n, func(ctx context.Context, i int) error {
		var out dispatch.CreateOutput
		err := t.setup.Do(ctx, "create_task", json.RawMessage(claimArgs), &out)
		t.claimable[i] = out.TaskID
		return err
	})
}

// prepareMail sends what every call will take.
func prepareMail(ctx context.Context, t *target, n int) error {
	return prepare(ctx, n*consumed, func(ctx context.Context, _ int) error {
		return t.setup.Do(ctx, "send_message", json.RawMessage(mailArgs), nil)
	})
}

// prepare makes n calls, some at once, which nothing measures. The first that fails ends it.
func prepare(ctx context.Context, n int, call func(ctx context.Context, i int) error) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(16)
	for i := range n {
		group.Go(func() error { return call(ctx, i) })
	}
	return group.Wait()
}

// checkPages makes sure that what is compared between sizes is the same page.
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
			return fmt.Errorf("%s at %d documents answers %d, not %d", want.op, t.documents, len(page), want.n)
		}
	}
	return nil
}
